//! Errors of predictions, in all and by groups.

use super::predict::Predicted;
use std::collections::BTreeMap;

/// Errors of one latency over some conditions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Errors {
    /// Conditions.
    pub rows: usize,
    /// Median of |predicted / measured − 1|.
    pub median_ape: f64,
    /// Mean of it.
    pub mape: f64,
    /// Share of conditions within 10 %.
    pub within_10: f64,
    /// Share within 20 %.
    pub within_20: f64,
    /// Median of predicted / measured − 1: above 0, predictions are slow.
    pub bias: f64,
}

impl Errors {
    /// Of measured and predicted pairs.
    #[must_use]
    pub fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut signed: Vec<f64> = pairs
            .filter(|(measured, predicted)| *measured > 0.0 && predicted.is_finite())
            .map(|(measured, predicted)| predicted / measured - 1.0)
            .collect();
        if signed.is_empty() {
            return Self::default();
        }
        signed.sort_by(f64::total_cmp);
        let bias = middle(&signed);
        let mut absolute: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
        absolute.sort_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "counts of rows")]
        let share = |count: usize| count as f64 / absolute.len() as f64;
        let within = |limit: f64| share(absolute.iter().filter(|error| **error <= limit).count());
        Self {
            rows: absolute.len(),
            median_ape: middle(&absolute),
            mape: absolute.iter().sum::<f64>() * share(1),
            within_10: within(0.1),
            within_20: within(0.2),
            bias,
        }
    }
}

/// The median of sorted values.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted {
        [] => 0.0,
        _ if sorted.len().is_multiple_of(2) => f64::midpoint(sorted[half - 1], sorted[half]),
        _ => sorted[half],
    }
}

/// Errors of both latencies.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// Time per output token.
    pub tpot: Errors,
    /// Time to first token.
    pub ttft: Errors,
}

impl Scores {
    /// Of some conditions.
    #[must_use]
    pub fn of<'a>(predicted: impl Iterator<Item = &'a Predicted> + Clone) -> Self {
        Self {
            tpot: Errors::of(
                predicted
                    .clone()
                    .map(|own| (own.measured.tpot, own.prediction.tpot)),
            ),
            ttft: Errors::of(predicted.map(|own| (own.measured.ttft, own.prediction.ttft))),
        }
    }
}

/// Conditions that have something in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What.
    pub name: String,
    /// Their errors.
    pub scores: Scores,
}

/// Errors by a name of each condition, in order of the names.
#[must_use]
pub fn grouped(predicted: &[Predicted], name: impl Fn(&Predicted) -> String) -> Vec<Group> {
    let mut groups: BTreeMap<String, Vec<&Predicted>> = BTreeMap::new();
    for own in predicted {
        groups.entry(name(own)).or_default().push(own);
    }
    groups
        .into_iter()
        .map(|(name, own)| Group {
            name,
            scores: Scores::of(own.iter().copied()),
        })
        .collect()
}
