//! Robust linear fits: least absolute errors with bounds on every parameter, by least squares whose
//! rows are weighted anew (IRLS), each solved by descent along one parameter after the other.

/// One row: how much a change of each parameter changes what is predicted, and what is left of the
/// measurement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line<const N: usize> {
    pub(super) slopes: [f64; N],
    pub(super) left: f64,
    pub(super) weight: f64,
}

/// Errors below this are taken as squares: without it rows met exactly would weigh without end.
const ROUND: f64 = 0.05;
/// Rows farther off are taken as this far: they say that something else is wrong.
const FAR: f64 = 1.0;
const ROUNDS: usize = 30;
const SWEEPS: usize = 200;

/// The change of each parameter, between bounds, that leaves the least absolute error; `scale`: what a
/// plausible change of each is, against which a small penalty keeps those that nothing says anything of.
pub(super) fn solve<const N: usize>(
    lines: &[Line<N>],
    bounds: [(f64, f64); N],
    scale: [f64; N],
) -> [f64; N] {
    let mut x = [0.0; N];
    for _ in 0..ROUNDS {
        let mut a = [[0.0; N]; N];
        let mut b = [0.0; N];
        for line in lines {
            let left = line.left.clamp(-FAR, FAR);
            let fitted: f64 = line.slopes.iter().zip(&x).map(|(s, x)| s * x).sum();
            let weight = line.weight / (left - fitted).abs().max(ROUND);
            for i in 0..N {
                b[i] += weight * line.slopes[i] * left;
                for (j, slope) in line.slopes.iter().enumerate() {
                    a[i][j] += weight * line.slopes[i] * slope;
                }
            }
        }
        for i in 0..N {
            a[i][i] += PENALTY / (scale[i] * scale[i]);
        }
        for _ in 0..SWEEPS {
            let before = x;
            for i in 0..N {
                let others: f64 = (0..N).filter(|j| *j != i).map(|j| a[i][j] * x[j]).sum();
                x[i] = ((b[i] - others) / a[i][i]).clamp(bounds[i].0, bounds[i].1);
            }
            let moved = (0..N).any(|i| (x[i] - before[i]).abs() > 1e-5 * scale[i]);
            if !moved {
                break;
            }
        }
    }
    x
}

/// Weight of the penalty.
const PENALTY: f64 = 5e-4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_whatever_a_few_rows_say() {
        let mut lines: Vec<Line<2>> = (0..40)
            .map(|i| {
                let t = f64::from(i) / 40.0;
                Line {
                    slopes: [1.0, t],
                    left: 0.1 + 0.3 * t,
                    weight: 1.0,
                }
            })
            .collect();
        for line in lines.iter_mut().step_by(10) {
            line.left += 50.0;
        }
        let free = [(-1.0, 1.0); 2];
        let x = solve(&lines, free, [1.0; 2]);
        assert!(
            (x[0] - 0.1).abs() < 0.02 && (x[1] - 0.3).abs() < 0.04,
            "{x:?}"
        );
        // Bounds hold, and what no row says anything of stays.
        let x = solve(&lines, [(-1.0, 0.05), (0.0, 0.0)], [1.0; 2]);
        assert!((x[0] - 0.05).abs() < 1e-12 && x[1] == 0.0, "{x:?}");
        let silent = [Line {
            slopes: [0.0, 1.0],
            left: 0.2,
            weight: 1.0,
        }];
        assert_eq!(solve(&silent, free, [1.0; 2])[0], 0.0);
    }
}
