//! What a fit leaves of its own measurements: interpolated, so that a measured shape has its
//! measured time and its neighbours nearly.

/// Most rows kept of one table.
pub const MOST: usize = 20_000;
/// Neighbours that count.
const NEAR: usize = 4;
/// Natural logarithm of sizes over which a measurement stops counting: a factor of two.
const FADE: f64 = 0.7;

/// Rows of a table: sizes and what the fit is off, as natural logarithms.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Residuals {
    width: usize,
    /// Sizes, row after row.
    sizes: Vec<f32>,
    /// ln(measured / fit).
    left: Vec<f32>,
}

impl Residuals {
    /// Of rows with `width` sizes each.
    #[must_use]
    pub const fn new(width: usize) -> Self {
        Self {
            width,
            sizes: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Adds a row, if there is room.
    #[expect(clippy::cast_possible_truncation, reason = "a few digits are enough")]
    pub fn push(&mut self, features: &[f64], left: f64) {
        if self.left.len() < MOST && features.len() >= self.width {
            self.sizes
                .extend(features[..self.width].iter().map(|size| *size as f32));
            self.left.push(left as f32);
        }
    }

    /// The correction at a shape, and how far the nearest measurement is.
    #[must_use]
    pub fn at(&self, features: &[f64]) -> (f64, f64) {
        // Nearest first: squared distance, what is left.
        let mut near = [(f64::INFINITY, 0.0); NEAR];
        for (row, left) in self.sizes.chunks_exact(self.width.max(1)).zip(&self.left) {
            let square: f64 = row
                .iter()
                .zip(features)
                .map(|(a, b)| (f64::from(*a) - b) * (f64::from(*a) - b))
                .sum();
            if square < near[NEAR - 1].0 {
                near[NEAR - 1] = (square, f64::from(*left));
                near.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
        }
        let nearest = libm::sqrt(near[0].0);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (square, left) in near.iter().filter(|own| own.0.is_finite()) {
            let weight = 1.0 / (square + 1e-9);
            sum += weight * left;
            weights += weight;
        }
        let fade = (1.0 - nearest / FADE).clamp(0.0, 1.0);
        (
            if weights > 0.0 {
                fade * sum / weights
            } else {
                0.0
            },
            nearest,
        )
    }
}
