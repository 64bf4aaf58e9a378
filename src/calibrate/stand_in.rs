//! How far off a surface is where it stands in for one that is not there: every table is asked of
//! the surfaces of other versions, of other engines, and of the GPU's nearest relative, as if its own
//! had never been measured.

use super::fit::errors_of;
use super::tables::Table;
use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{
    Calibrations, Errors, Family, Hardware, Match, StandIn, Surface, Wanted, relatives,
};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Every so-many-th row is asked.
const STRIDE: usize = 5;

/// What standing in costs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StandIns {
    /// By the GPU whose surfaces stand in.
    pub by_gpu: BTreeMap<GpuId, Vec<StandIn>>,
    /// A GPU left out: errors of its relatives' surfaces on its tables.
    pub left_out: Vec<(GpuId, GpuId, Family, Errors)>,
}

/// Logarithms of measured and predicted times.
type Logs = (Vec<f64>, Vec<f64>);

/// Asks the tables of surfaces that are not their own.
#[must_use]
pub fn stand_ins(tables: &[Table], surfaces: &[Surface], catalog: &Catalog) -> StandIns {
    let all = Calibrations::of(surfaces.to_vec());
    let asked: Vec<Vec<(GpuId, Match, Logs)>> = tables
        .par_iter()
        .map(|table| ask(table, &all, catalog))
        .collect();
    let mut by_stand_in: BTreeMap<(GpuId, Family, Match), Logs> = BTreeMap::new();
    let mut by_left_out: BTreeMap<(GpuId, GpuId, Family), Logs> = BTreeMap::new();
    for (table, answers) in tables.iter().zip(asked) {
        for (gpu, near, (measured, predicted)) in answers {
            let add = |sum: &mut Logs| {
                sum.0.extend(&measured);
                sum.1.extend(&predicted);
            };
            add(by_stand_in
                .entry((gpu.clone(), table.id.family, near))
                .or_default());
            if near == Match::Relative {
                add(by_left_out
                    .entry((table.id.gpu.clone(), gpu, table.id.family))
                    .or_default());
            }
        }
    }
    let mut out = StandIns::default();
    for ((gpu, family, near), (measured, predicted)) in by_stand_in {
        let own = StandIn::of(family, near, &errors_of(&measured, &predicted));
        out.by_gpu.entry(gpu).or_default().push(own);
    }
    for ((gpu, kin, family), (measured, predicted)) in by_left_out {
        out.left_out
            .push((gpu, kin, family, errors_of(&measured, &predicted)));
    }
    out
}

fn ask(table: &Table, all: &Calibrations, catalog: &Catalog) -> Vec<(GpuId, Match, Logs)> {
    let id = &table.id;
    let Some(gpu) = catalog.gpu(&id.gpu) else {
        return Vec::new();
    };
    let wanted = Wanted {
        gpu: &id.gpu,
        family: id.family,
        precision: &id.precision,
        engine: &id.engine,
        version: &id.version,
        kernel: &id.kernel,
        tags: &[],
    };
    let version = all.on(&id.gpu, &wanted, |own| {
        own.id.engine == id.engine && own.id.version != id.version
    });
    let engine = all.on(&id.gpu, &wanted, |own| own.id.engine != id.engine);
    // Another engine's kernels on another GPU tell nothing of either.
    let same = |own: &Surface| own.id.engine == id.engine;
    let relative = relatives(gpu, id.family, catalog)
        .into_iter()
        .find_map(|kin| all.on(&kin.gpu, &wanted, same));
    let hardware = Hardware::of(gpu);
    [version, engine, relative]
        .into_iter()
        .flatten()
        .map(|(surface, near)| {
            let logs = table
                .rows
                .iter()
                .step_by(STRIDE)
                .map(|row| {
                    let own = surface.estimate(&hardware, &row.shape);
                    (
                        libm::log(row.seconds),
                        libm::log(own.parts.seconds.max(1e-12)),
                    )
                })
                .unzip();
            (surface.id.gpu.clone(), near, logs)
        })
        .collect()
}
