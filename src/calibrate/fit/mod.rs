//! Fits one table: physics by robust least squares, then the forest on what is left; and the same
//! without each fold of shape keys, to know the error on shapes never seen.

mod boost;
mod errors;
mod least_squares;
mod sweeps;

pub(super) use errors::by_size;
pub use errors::{SizeErrors, errors_of};

use super::tables::{Row, Table};
use crate::cost::calibrated::{
    Attributes, Errors, Features, Forest, Hardware, Residuals, Shape, Surface,
};
use boost::{Boosting, boost};
use least_squares::{best_start, fit_physics};

/// Folds of shape keys.
const FOLDS: u64 = 4;
/// Times slow sweeps are looked for.
const ROUNDS: usize = 4;

/// A table's fit and how good it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The fit on all rows.
    pub surface: Surface,
    /// Error of the physics alone, on held-out keys.
    pub physics: Errors,
    /// Error by size on held-out keys.
    pub by_size: Vec<SizeErrors>,
    /// Numbers in the fit: parameters, and answers and thresholds of the forest.
    pub numbers: usize,
    /// Every row's measured and held-out predicted seconds, in order.
    pub predicted: Vec<(f64, f64)>,
    /// Which rows no fit was made on: an untuned kernel ran.
    pub slow: Vec<bool>,
    /// Error on held-out keys of the other rows.
    pub sound: Errors,
}

/// Largest median error on held-out keys with which a fit is worth more than the roofline.
const WORST_SHIPPED: f64 = 0.35;

impl Fitted {
    /// Whether it is good enough to be written: a table no physics fits is broken, or of a kernel
    /// no family here describes.
    #[must_use]
    pub fn ships(&self) -> bool {
        self.surface.held_out.median <= WORST_SHIPPED
    }
}

/// A row ready for fitting.
pub(super) struct Sample {
    pub(super) shape: Shape,
    /// Natural logarithm of measured seconds.
    pub(super) log: f64,
    pub(super) features: Features,
}

/// Parameters and forest.
struct Model {
    parameters: Vec<f64>,
    forest: Forest,
}

impl Model {
    fn fit(samples: &[&Sample], hardware: &Hardware, start: u64, trees: Boosting) -> Self {
        let parameters = fit_physics(samples, hardware, start);
        let left: Vec<f64> = samples
            .iter()
            .map(|own| own.log - log_physics(&own.shape, hardware, &parameters))
            .collect();
        let features: Vec<&Features> = samples.iter().map(|own| &own.features).collect();
        let forest = boost(&features, &left, trees);
        Self { parameters, forest }
    }

    fn log(&self, sample: &Sample, hardware: &Hardware) -> (f64, f64) {
        let physics = log_physics(&sample.shape, hardware, &self.parameters);
        (physics, physics + self.forest.sum(sample.features.values()))
    }
}

pub(super) fn log_physics(shape: &Shape, hardware: &Hardware, parameters: &[f64]) -> f64 {
    libm::log(shape.physics(hardware, parameters).seconds.max(1e-12))
}

fn samples_of(table: &Table, hardware: &Hardware) -> Vec<Sample> {
    table
        .rows
        .iter()
        .map(|Row { shape, seconds }| Sample {
            shape: *shape,
            log: libm::log(*seconds),
            features: shape.features(hardware),
        })
        .collect()
}

/// Fits a table measured on `hardware` to all of its rows and keeps what is left of them; how far
/// it is off on shapes it has not seen is not asked, so its band is that of its own rows.
#[must_use]
pub fn fit_once(table: &Table, hardware: &Hardware) -> Surface {
    let samples = samples_of(table, hardware);
    let all: Vec<&Sample> = samples.iter().collect();
    let family = table.id.family;
    let start = best_start(&all, hardware);
    let model = Model::fit(&all, hardware, start, Boosting::for_rows(all.len(), family));
    let mut residuals = Residuals::new(family.sizes());
    let (mut measured, mut predicted) = (Vec::new(), Vec::new());
    for sample in &samples {
        let (_, log) = model.log(sample, hardware);
        residuals.push(sample.features.values(), sample.log - log);
        measured.push(sample.log);
        predicted.push(log);
    }
    Surface {
        id: table.id.clone(),
        attributes: table.attributes.clone(),
        parameters: model.parameters,
        forest: model.forest,
        range: range(&samples, family.sizes()),
        held_out: errors_of(&measured, &predicted),
        residuals: Some(residuals),
    }
}

/// Fits a table measured on `hardware`.
#[must_use]
pub fn fit_table(table: &Table, hardware: &Hardware) -> Fitted {
    let samples = samples_of(table, hardware);
    let all: Vec<&Sample> = samples.iter().collect();
    // Only which start to descend from is taken from all rows; folds find their own parameters.
    let start = best_start(&all, hardware);
    let mut slow = vec![false; samples.len()];
    let (mut physics, mut whole) = hold_out(&samples, &slow, hardware, start);
    if sweeps::may_be_untuned(&table.id) {
        for _ in 0..ROUNDS {
            let now = sweeps::slow(&samples, &whole);
            if now == slow {
                break;
            }
            slow = now;
            (physics, whole) = hold_out(&samples, &slow, hardware, start);
        }
    }
    let sound: Vec<&Sample> = samples
        .iter()
        .zip(&slow)
        .filter_map(|(own, slow)| (!slow).then_some(own))
        .collect();
    let trees = Boosting::for_rows(sound.len(), table.id.family);
    let model = Model::fit(&sound, hardware, start, trees);
    let measured: Vec<f64> = samples.iter().map(|own| own.log).collect();
    let sizes: Vec<f64> = samples.iter().map(|own| own.shape.size()).collect();
    let host = samples
        .first()
        .map_or(0.0, |own| own.shape.host(&model.parameters));
    let range = range(&samples, table.id.family.sizes());
    let of_sound = |values: &[f64]| -> Vec<f64> {
        let own = values.iter().zip(&slow);
        own.filter_map(|(value, slow)| (!slow).then_some(*value))
            .collect()
    };
    Fitted {
        sound: errors_of(&of_sound(&measured), &of_sound(&whole)),
        physics: errors_of(&measured, &physics),
        by_size: errors::by_size(&sizes, &measured, &whole),
        numbers: model.parameters.len() + model.forest.nodes(),
        predicted: measured
            .iter()
            .zip(&whole)
            .map(|(m, p)| (libm::exp(*m), libm::exp(*p)))
            .collect(),
        surface: Surface {
            id: table.id.clone(),
            attributes: Attributes {
                host,
                ..table.attributes.clone()
            },
            parameters: model.parameters,
            forest: model.forest,
            range,
            held_out: errors_of(&measured, &whole),
            residuals: None,
        },
        slow,
    }
}

/// Physics' and whole predictions of every row by a fit that had not seen its shape, nor any slow row.
fn hold_out(
    samples: &[Sample],
    slow: &[bool],
    hardware: &Hardware,
    start: u64,
) -> (Vec<f64>, Vec<f64>) {
    let mut physics = vec![0.0; samples.len()];
    let mut whole = vec![0.0; samples.len()];
    let sound = samples
        .iter()
        .zip(slow)
        .filter_map(|(own, slow)| (!slow).then_some(own));
    for fold in 0..FOLDS {
        let held = |own: &Sample| fold_of(own.shape.key()) == fold;
        if !samples.iter().any(held) {
            continue;
        }
        let rest: Vec<&Sample> = sound.clone().filter(|own| !held(own)).collect();
        // A table of one shape key cannot be held out from itself: then all of it decides.
        let own = if rest.is_empty() {
            samples.iter().collect()
        } else {
            rest
        };
        let Some(family) = own.first().map(|own| own.shape.family()) else {
            continue;
        };
        let part = Model::fit(&own, hardware, start, Boosting::for_rows(own.len(), family));
        for (index, sample) in samples.iter().enumerate().filter(|(_, own)| held(own)) {
            (physics[index], whole[index]) = part.log(sample, hardware);
        }
    }
    (physics, whole)
}

/// Which fold a key is in. Mixed once more, as keys differ in few bits.
fn fold_of(key: u64) -> u64 {
    (key ^ (key >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32 & (FOLDS - 1)
}

fn range(samples: &[Sample], sizes: usize) -> Vec<(f64, f64)> {
    (0..sizes)
        .map(|size| {
            samples
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), own| {
                    let value = own.features.values().get(size).copied().unwrap_or(0.0);
                    (low.min(value), high.max(value))
                })
        })
        .map(|(low, high)| if low <= high { (low, high) } else { (0.0, 0.0) })
        .collect()
}
