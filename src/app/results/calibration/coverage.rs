//! What is covered: for every operator, GPU and engine, its own tables, what stands in for them, or
//! nothing.

use super::Shown;
use crate::app::results::cost::own_gpus;
use crate::catalog::{Catalog, Gpu, GpuId};
use crate::cost::calibrated::{
    Calibrations, Errors, Family, Match, Surface, Wanted, relatives, table_name,
};
use crate::plan::EngineKind;
use std::sync::Arc;

/// A place in the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) family: Family,
    pub(super) gpu: GpuId,
    pub(super) engine: String,
}

/// What prices a place's operator.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cover {
    /// Nothing: the roofline.
    None,
    /// Tables of its own.
    Own {
        /// How many.
        tables: usize,
        /// Their rows.
        rows: usize,
        /// Median error of its tables, by rows.
        median: f64,
        /// The same of p95.
        p95: f64,
        /// Versions and precisions, for people.
        versions: Vec<String>,
        precisions: Vec<String>,
    },
    /// Tables of another engine or GPU.
    StandIn {
        near: Match,
        /// Whose.
        gpu: GpuId,
        engine: String,
        /// What standing in so was measured to cost.
        errors: Option<Errors>,
    },
}

impl Cover {
    /// The error it is coloured by.
    pub(super) fn median(&self) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Own { median, .. } => Some(*median),
            Self::StandIn { errors, .. } => errors.map(|errors| errors.median),
        }
    }
}

/// A column of the map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) gpu: GpuId,
    pub(super) gpu_name: String,
    pub(super) engine: String,
}

/// The map.
#[derive(Debug)]
pub(super) struct Coverage {
    calibrations: Arc<Calibrations>,
    drawn: Vec<GpuId>,
    all: bool,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<(Family, Vec<Cover>)>,
    /// GPUs with tables, and tables in all.
    pub(super) gpus: usize,
    pub(super) tables: usize,
}

/// Engines that serve: anything that another engine measured may stand in for theirs.
const SERVING: [EngineKind; 3] = [
    EngineKind::Vllm,
    EngineKind::Sglang,
    EngineKind::TensorRtLlm,
];

impl Coverage {
    /// The map as it is now: `known`, if nothing it depends on has changed.
    pub(super) fn current(known: Option<Arc<Self>>, shown: &Shown<'_>, all: bool) -> Arc<Self> {
        let calibrations = &shown.calibrating.calibrations;
        let catalog = shown.inspected.catalog;
        let mut drawn: Vec<GpuId> = Vec::new();
        for design in &shown.project().designs {
            for gpu in own_gpus(design, catalog) {
                if !drawn.contains(&gpu) {
                    drawn.push(gpu);
                }
            }
        }
        known
            .filter(|own| {
                Arc::ptr_eq(&own.calibrations, calibrations) && own.drawn == drawn && own.all == all
            })
            .unwrap_or_else(|| Arc::new(Self::of(Arc::clone(calibrations), catalog, drawn, all)))
    }

    fn of(
        calibrations: Arc<Calibrations>,
        catalog: &Catalog,
        drawn: Vec<GpuId>,
        all: bool,
    ) -> Self {
        let surfaces = calibrations.surfaces();
        let has_own = |gpu: &GpuId| surfaces.iter().any(|own| own.id.gpu == *gpu);
        let maker = |gpu: &Gpu| {
            let own = |id: &GpuId| catalog.gpu(id).is_some_and(|own| own.vendor == gpu.vendor);
            surfaces.iter().any(|surface| own(&surface.id.gpu))
        };
        let mut gpus: Vec<&Gpu> = catalog
            .gpus()
            .filter(|gpu| has_own(&gpu.id) || drawn.contains(&gpu.id) || (all && maker(gpu)))
            .collect();
        gpus.sort_by(|a, b| {
            // What the designs use first, then what was measured, then what stands in for the rest.
            let place = |gpu: &Gpu| (!drawn.contains(&gpu.id), !has_own(&gpu.id));
            let by_place = place(a).cmp(&place(b));
            by_place.then_with(|| a.name.cmp(&b.name))
        });
        let columns: Vec<Column> = gpus
            .iter()
            .flat_map(|gpu| {
                // Its own engines; where designs run, or nothing is its own, those that serve too.
                let own = |surface: &&Arc<Surface>| {
                    let serves = drawn.contains(&gpu.id) || !has_own(&gpu.id);
                    surface.id.gpu == gpu.id || (serves && serving(&surface.id.engine))
                };
                let mut engines: Vec<&str> = surfaces
                    .iter()
                    .filter(own)
                    .map(|surface| surface.id.engine.as_str())
                    .collect();
                engines.sort_by_key(|engine| (place(engine), *engine));
                engines.dedup();
                engines
                    .into_iter()
                    .map(|engine| Column {
                        gpu: gpu.id.clone(),
                        gpu_name: short_gpu(&gpu.name).to_owned(),
                        engine: engine.to_owned(),
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        let mut rows: Vec<(Family, Vec<Cover>)> = Family::ALL
            .iter()
            .map(|family| {
                let covers = columns
                    .iter()
                    .map(|column| cover(&calibrations, catalog, *family, column))
                    .collect();
                (*family, covers)
            })
            .collect();
        // What is not covered at all comes last.
        rows.sort_by_key(|(_, covers)| covers.iter().all(|own| *own == Cover::None));
        Self {
            columns,
            rows,
            gpus: gpus.iter().filter(|gpu| has_own(&gpu.id)).count(),
            tables: surfaces.len(),
            calibrations,
            drawn,
            all,
        }
    }

    /// A place's cover.
    pub(super) fn at(&self, cell: &Cell) -> Option<(&Column, &Cover)> {
        let column = self
            .columns
            .iter()
            .position(|own| own.gpu == cell.gpu && own.engine == cell.engine)?;
        let (_, covers) = self
            .rows
            .iter()
            .find(|(family, _)| *family == cell.family)?;
        Some((&self.columns[column], covers.get(column)?))
    }
}

/// A GPU's name without its maker and remarks.
fn short_gpu(name: &str) -> &str {
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    name.split(" (").next().unwrap_or(name)
}

fn serving(engine: &str) -> bool {
    SERVING.iter().any(|kind| table_name(*kind) == engine)
}

/// Serving engines first.
fn place(engine: &str) -> usize {
    let at = SERVING.iter().position(|kind| table_name(*kind) == engine);
    at.unwrap_or(SERVING.len())
}

fn cover(calibrations: &Calibrations, catalog: &Catalog, family: Family, column: &Column) -> Cover {
    let own: Vec<&Surface> = calibrations
        .surfaces()
        .iter()
        .map(|own| &**own)
        .filter(|own| {
            own.id.gpu == column.gpu && own.id.family == family && own.id.engine == column.engine
        })
        .collect();
    if own.is_empty() {
        return if serving(&column.engine) {
            stand_in(calibrations, catalog, family, column)
        } else {
            Cover::None
        };
    }
    let words = |pick: fn(&Surface) -> &str| {
        let mut words: Vec<String> = own.iter().map(|own| pick(own).to_owned()).collect();
        words.sort();
        words.dedup();
        words
    };
    Cover::Own {
        tables: own.len(),
        rows: own.iter().map(|own| own.held_out.rows).sum(),
        median: by_rows(&own, |errors| errors.median),
        p95: by_rows(&own, |errors| errors.p95),
        versions: words(|own| &own.id.version),
        precisions: words(|own| &own.id.precision),
    }
}

/// The median of tables' numbers, each table as often as it has rows.
fn by_rows(own: &[&Surface], pick: fn(&Errors) -> f64) -> f64 {
    let mut sorted: Vec<(f64, usize)> = own
        .iter()
        .map(|own| (pick(&own.held_out), own.held_out.rows.max(1)))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = sorted.iter().map(|(_, rows)| rows).sum::<usize>() / 2;
    let mut seen = 0;
    for (value, rows) in &sorted {
        seen += rows;
        if seen > half {
            return *value;
        }
    }
    0.0
}

fn stand_in(
    calibrations: &Calibrations,
    catalog: &Catalog,
    family: Family,
    column: &Column,
) -> Cover {
    standing_in(calibrations, catalog, family, &column.gpu, &column.engine)
        .into_iter()
        .max_by_key(|(surface, _)| surface.held_out.rows)
        .map_or(Cover::None, |(surface, near)| Cover::StandIn {
            near,
            gpu: surface.id.gpu.clone(),
            engine: surface.id.engine.clone(),
            errors: calibrations
                .stand_in(&surface.id.gpu, family, near)
                .copied(),
        })
}

/// The tables that stand in, one for each precision.
pub(super) fn standing_in<'a>(
    calibrations: &'a Calibrations,
    catalog: &Catalog,
    family: Family,
    gpu: &GpuId,
    engine: &str,
) -> Vec<(&'a Arc<Surface>, Match)> {
    let Some(kin) = catalog.gpu(gpu).map(|own| relatives(own, family, catalog)) else {
        return Vec::new();
    };
    calibrations
        .kinds()
        .into_iter()
        .filter(|(own, _)| *own == family)
        .filter_map(|(_, precision)| {
            let wanted = Wanted {
                gpu,
                family,
                precision,
                engine,
                version: "",
                kernel: "",
                tags: &[],
            };
            calibrations.find(&wanted, &kin)
        })
        .collect()
}

/// An engine's name over a narrow column, and its whole name.
pub(super) fn engine_words(engine: &str) -> (String, String) {
    let (short, long) = match engine {
        "vllm" => ("vLLM", "vLLM"),
        "sglang" => ("SGL", "SGLang"),
        "trtllm" => ("TRT", "TensorRT-LLM"),
        "nccl" => ("NCCL", "NCCL"),
        "deepep" => ("DEP", "DeepEP"),
        // Operators of a profile: called one by one by the framework, or their kernels alone.
        "profile" => ("eager", "a profile, eager"),
        "profile, kernels" => ("kern.", "a profile, kernels alone"),
        other => (other, other),
    };
    let short = short.chars().take(5).collect();
    (short, long.to_owned())
}
