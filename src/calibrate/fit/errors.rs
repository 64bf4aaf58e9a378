//! Errors of predictions, from logarithms.

use crate::cost::calibrated::Errors;

/// Errors of the rows of one size class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeErrors {
    /// Sizes from this.
    pub from: f64,
    /// Up to this, not included.
    pub to: f64,
    /// Their errors.
    pub errors: Errors,
}

/// Errors from natural logarithms of measured and predicted times.
#[must_use]
pub fn errors_of(measured: &[f64], predicted: &[f64]) -> Errors {
    let ratios: Vec<f64> = measured.iter().zip(predicted).map(|(m, p)| m - p).collect();
    let mut logs = ratios.clone();
    logs.sort_by(f64::total_cmp);
    let mut absolute: Vec<f64> = ratios
        .iter()
        .map(|ratio| (libm::exp(-ratio) - 1.0).abs())
        .collect();
    absolute.sort_by(f64::total_cmp);
    Errors {
        rows: ratios.len(),
        median: quantile(&absolute, 0.5),
        p90: quantile(&absolute, 0.9),
        p95: quantile(&absolute, 0.95),
        bias: libm::exp(-quantile(&logs, 0.5)) - 1.0,
        low: quantile(&logs, 0.1),
        high: quantile(&logs, 0.9),
    }
}

/// By size, in classes of a factor of eight.
pub(in crate::calibrate) fn by_size(
    sizes: &[f64],
    measured: &[f64],
    predicted: &[f64],
) -> Vec<SizeErrors> {
    let mut classes = Vec::new();
    let mut from = 0.0;
    let mut to = 8.0;
    while to < 1e15 {
        let pick = |values: &[f64]| -> Vec<f64> {
            let inside = sizes.iter().zip(values);
            inside
                .filter(|(size, _)| (from..to).contains(*size))
                .map(|(_, value)| *value)
                .collect()
        };
        let own = pick(measured);
        if !own.is_empty() {
            classes.push(SizeErrors {
                from,
                to,
                errors: errors_of(&own, &pick(predicted)),
            });
        }
        (from, to) = (to, to * 8.0);
    }
    classes
}

/// A quantile of sorted values, the nearest rank.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = (last as f64 * share + 0.5) as usize;
    sorted.get(index).copied().unwrap_or(0.0)
}
