//! Sweeps that ran another kernel than the engine would: an autotuner that found no tuning.
//!
//! TensorRT-LLM's kernels are autotuned per shape. The collector keeps the tunings in files and
//! loads one by the beginning of its name, for the GPU it runs on; where that file was another
//! shape's, or another GPU's, the default tactic ran, 1.3 to 7 times slower, through a whole sweep
//! over the batch (`collector/trtllm/collect_moe.py`). Serving tunes when it starts. Which sweeps
//! were hit is chance, so no fit can know them: seen from a fit of the rest they stand apart.

use super::Sample;
use crate::cost::calibrated::{Family, TableId};

/// Least gap between the two kinds of sweep, as a log ratio.
const GAP: f64 = 0.2;
/// And in standard deviations inside a kind.
const APART: f64 = 3.0;
/// Largest share of sweeps that may be the slow ones.
const MOST: f64 = 0.45;
/// Fewest rows of a sweep that is judged.
const FEWEST: usize = 4;

/// Tables in which there may be any.
pub(super) fn may_be_untuned(id: &TableId) -> bool {
    id.family == Family::Moe && id.engine == "trtllm"
}

/// Which rows are of a slow sweep, given predictions by a fit that had not seen their shape.
pub(super) fn slow(samples: &[Sample], predicted: &[f64]) -> Vec<bool> {
    let mut slow = vec![false; samples.len()];
    let sweeps = sweeps(samples);
    let middles: Vec<Option<f64>> = sweeps
        .iter()
        .map(|(from, to)| {
            let mut off: Vec<f64> = samples[*from..*to]
                .iter()
                .zip(&predicted[*from..*to])
                .map(|(own, predicted)| own.log - predicted)
                .collect();
            off.sort_by(f64::total_cmp);
            (off.len() >= FEWEST).then(|| off[off.len() / 2])
        })
        .collect();
    let mut sorted: Vec<f64> = middles.iter().copied().flatten().collect();
    sorted.sort_by(f64::total_cmp);
    let Some(limit) = split(&sorted) else {
        return slow;
    };
    for ((from, to), middle) in sweeps.iter().zip(&middles) {
        if middle.is_some_and(|middle| middle > limit) {
            slow[*from..*to].fill(true);
        }
    }
    slow
}

/// Stretches of rows of one shape with a growing batch.
fn sweeps(samples: &[Sample]) -> Vec<(usize, usize)> {
    let mut sweeps = Vec::new();
    let mut from = 0;
    for index in 1..=samples.len() {
        let goes_on = samples.get(index).is_some_and(|own| {
            let before = &samples[index - 1].shape;
            own.shape.key() == before.key() && own.shape.size() > before.size()
        });
        if !goes_on {
            sweeps.push((from, index));
            from = index;
        }
    }
    sweeps
}

/// Between two kinds, if there are two: the split that leaves least spread inside.
#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn split(sorted: &[f64]) -> Option<f64> {
    let count = sorted.len();
    let sum: f64 = sorted.iter().sum();
    let squares: f64 = sorted.iter().map(|own| own * own).sum();
    let (mut low, mut low_squares) = (0.0, 0.0);
    let mut best: Option<(f64, f64, f64)> = None;
    for (index, value) in sorted.iter().enumerate().take(count.saturating_sub(1)) {
        low += value;
        low_squares += value * value;
        let (below, above) = ((index + 1) as f64, (count - index - 1) as f64);
        if above > MOST * count as f64 {
            continue;
        }
        let (mean_low, mean_high) = (low / below, (sum - low) / above);
        let spread =
            low_squares - low * mean_low + (squares - low_squares) - (sum - low) * mean_high;
        if best.is_none_or(|(least, _, _)| spread < least) {
            best = Some((spread, mean_low, mean_high));
        }
    }
    let (spread, mean_low, mean_high) = best?;
    let (gap, deviation) = (
        mean_high - mean_low,
        libm::sqrt(spread.max(0.0) / count as f64),
    );
    (gap > GAP && gap > APART * deviation).then_some(0.5 * (mean_low + mean_high))
}
