//! Levenberg–Marquardt on the logarithm of times, in the logarithm of bounded parameters, with
//! weights that let outliers go (`1 / √(r² + δ²)`, so that the sum of absolute errors counts).

use super::{Sample, log_physics};
use crate::cost::calibrated::{Hardware, Parameter};

/// Below this log ratio errors count squared.
const DELTA: f64 = 0.05;
/// Steps of the final descent.
const STEPS: usize = 25;
/// Steps of each start's trial, and the rows it looks at.
const TRIAL: (usize, usize) = (8, 250);
/// Starts tried.
const STARTS: u64 = 4;
/// Rows a fit looks at: a few parameters need no more.
const ROWS: usize = 1000;

/// The start from which this family's parameters fit these rows best.
pub(super) fn best_start(samples: &[&Sample], hardware: &Hardware) -> u64 {
    let some = thinned(samples, TRIAL.1);
    let mut best = (f64::INFINITY, 0);
    for start in 0..STARTS {
        let (loss, _) = descend(&some, hardware, start, TRIAL.0);
        if loss < best.0 {
            best = (loss, start);
        }
    }
    best.1
}

/// The parameters that fit best, from one start.
pub(super) fn fit_physics(samples: &[&Sample], hardware: &Hardware, start: u64) -> Vec<f64> {
    let some = thinned(samples, ROWS);
    let (_, mut at) = descend(&some, hardware, start, STEPS);
    restore_unused(&some, hardware, &mut at);
    at.iter().map(|log| libm::exp(*log)).collect()
}

/// A parameter that no row depends on (the NIC's, where all rows are of one node) keeps the family's
/// start instead of where a random start left it.
fn restore_unused(samples: &[&Sample], hardware: &Hardware, at: &mut [f64]) {
    let Some(first) = samples.first() else {
        return;
    };
    let (mut here, mut there) = (Vec::new(), Vec::new());
    residuals(samples, hardware, at, &mut here);
    for (index, own) in first.shape.family().parameters().iter().enumerate() {
        let fitted = std::mem::replace(&mut at[index], libm::log(own.start));
        residuals(samples, hardware, at, &mut there);
        if here.iter().zip(&there).any(|(a, b)| (a - b).abs() > 1e-6) {
            at[index] = fitted;
        }
    }
}

/// Every so-many-th row, about `most`. Rows come in nested loops: the stride is odd, so that it
/// shares few factors with their lengths.
fn thinned<'a>(samples: &[&'a Sample], most: usize) -> Vec<&'a Sample> {
    let step = samples.len().div_ceil(most).max(1);
    samples.iter().step_by(step | 1).copied().collect()
}

/// Logarithms of a start: the family's, or moved by up to a factor of two.
fn start_at(family: &[Parameter], start: u64) -> Vec<f64> {
    let mut state = start.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    family
        .iter()
        .map(|own| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let unit = f64::from(u32::try_from(state >> 33).unwrap_or(0)) / f64::from(1_u32 << 31);
            let move_by = if start == 0 { 0.0 } else { 1.4 * (unit - 0.5) };
            (libm::log(own.start) + move_by).clamp(libm::log(own.low), libm::log(own.high))
        })
        .collect()
}

fn residuals(samples: &[&Sample], hardware: &Hardware, at: &[f64], out: &mut Vec<f64>) {
    let parameters: Vec<f64> = at.iter().map(|log| libm::exp(*log)).collect();
    out.clear();
    out.extend(
        samples
            .iter()
            .map(|own| own.log - log_physics(&own.shape, hardware, &parameters)),
    );
}

fn loss(residuals: &[f64]) -> f64 {
    residuals
        .iter()
        .map(|r| libm::sqrt(r * r + DELTA * DELTA))
        .sum()
}

fn descend(samples: &[&Sample], hardware: &Hardware, start: u64, steps: usize) -> (f64, Vec<f64>) {
    let Some(first) = samples.first() else {
        return (f64::INFINITY, Vec::new());
    };
    let family = first.shape.family().parameters();
    let mut at = start_at(family, start);
    let count = at.len();
    let (mut now, mut moved) = (Vec::new(), Vec::new());
    residuals(samples, hardware, &at, &mut now);
    let mut least = loss(&now);
    let mut damping = 1e-2;
    let mut jacobian = vec![vec![0.0; now.len()]; count];
    for _ in 0..steps {
        for (index, column) in jacobian.iter_mut().enumerate() {
            const STEP: f64 = 1e-4;
            // Away from a bound.
            let sign = if at[index] + STEP > libm::log(family[index].high) {
                -STEP
            } else {
                STEP
            };
            let mut near = at.clone();
            near[index] += sign;
            residuals(samples, hardware, &near, &mut moved);
            for ((slot, a), b) in column.iter_mut().zip(&moved).zip(&now) {
                *slot = (a - b) / sign;
            }
        }
        let weights: Vec<f64> = now
            .iter()
            .map(|r| 1.0 / libm::sqrt(r * r + DELTA * DELTA))
            .collect();
        let mut normal = vec![vec![0.0; count]; count];
        let mut slope = vec![0.0; count];
        for i in 0..count {
            for j in 0..=i {
                let sum: f64 = jacobian[i]
                    .iter()
                    .zip(&jacobian[j])
                    .zip(&weights)
                    .map(|((a, b), w)| a * b * w)
                    .sum();
                normal[i][j] = sum;
                normal[j][i] = sum;
            }
            slope[i] = jacobian[i]
                .iter()
                .zip(&now)
                .zip(&weights)
                .map(|((a, r), w)| -a * r * w)
                .sum();
        }
        let before = least;
        for _ in 0..6 {
            let Some(step) = solve(&normal, &slope, damping) else {
                damping *= 4.0;
                continue;
            };
            let trial: Vec<f64> = at
                .iter()
                .zip(&step)
                .zip(family)
                .map(|((x, d), own)| {
                    (x + d.clamp(-1.0, 1.0)).clamp(libm::log(own.low), libm::log(own.high))
                })
                .collect();
            residuals(samples, hardware, &trial, &mut moved);
            let tried = loss(&moved);
            if tried < least {
                (at, least) = (trial, tried);
                std::mem::swap(&mut now, &mut moved);
                damping = (damping * 0.3).max(1e-6);
                break;
            }
            damping *= 4.0;
        }
        if before - least < 1e-4 * before {
            break;
        }
    }
    (least, at)
}

/// Solves `(A + damping · (diag A + ε)) x = b` by Cholesky.
fn solve(a: &[Vec<f64>], b: &[f64], damping: f64) -> Option<Vec<f64>> {
    let n = b.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i][j];
            if i == j {
                sum += damping * (a[i][i] + 1e-6);
            }
            sum = l[i]
                .iter()
                .zip(&l[j])
                .take(j)
                .fold(sum, |sum, (a, b)| sum - a * b);
            if i == j {
                if sum.is_nan() || sum <= 0.0 {
                    return None;
                }
                l[i][i] = libm::sqrt(sum);
            } else {
                l[i][j] = sum / l[j][j];
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i][k] * x[k]).sum();
        x[i] = (b[i] - sum) / l[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
    Some(x)
}
