//! What falls on the slowest rank when experts are not equally popular.
//!
//! A trained router has favourites: an expert's popularity is taken as log-normal over experts (a
//! softmax of normal logits), of one `spread` for a model. A token's choices are without repetition, so
//! an expert of popularity `w` is chosen with chance `1 − exp(−c·w)`, `c` such that the chances add up
//! to the choices. Experts lie on ranks in no order: a rank's share is off by its experts' popularities
//! and by chance of the batch, and the layer ends when the busiest rank does, at the expected largest of
//! as many normal deviations.

use super::load::Load;

/// Slices of experts equally many in each, from the least popular on.
const SLICES: usize = 8;
/// Middles of eight equally likely slices of the normal law: its quantiles at (i + ½) / 8.
const MIDDLES: [f64; SLICES] = [
    -1.5341, -0.8871, -0.4888, -0.1573, 0.1573, 0.4888, 0.8871, 1.5341,
];
/// Expected largest of 1, 2, 4, … 512 independent standard normal draws (order statistics of the normal
/// law, Harter 1961).
const LARGEST: [f64; 10] = [
    0.0, 0.5642, 1.0294, 1.4236, 1.7660, 2.0697, 2.3437, 2.5945, 2.8255, 3.0408,
];

/// Tokens and what they choose among.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choices {
    /// Tokens.
    pub tokens: f64,
    /// Experts each of them goes to.
    pub each: f64,
    /// Experts in all.
    pub experts: f64,
    /// Ranks they are dealt to.
    pub ranks: f64,
    /// Standard deviation of the logarithm of experts' popularity; 0: all alike.
    pub spread: f64,
    /// A load balancer with experts to spare keeps ranks even.
    pub balanced: bool,
}

impl Choices {
    /// How often a token goes to an expert of each slice.
    fn chances(&self) -> [f64; SLICES] {
        let mean = (self.each / self.experts).clamp(0.0, 1.0);
        if self.spread <= 0.0 || mean >= 1.0 {
            return [mean; SLICES];
        }
        let weights = MIDDLES.map(|z| libm::exp(self.spread * z));
        let chances = |c: f64| weights.map(|w| 1.0 - libm::exp(-c * w));
        let of = |c: f64| chances(c).iter().sum::<f64>() / real(SLICES);
        let (mut low, mut high) = (0.0, 1.0);
        while of(high) < mean && high < 1e6 {
            high *= 2.0;
        }
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if of(middle) < mean {
                low = middle;
            } else {
                high = middle;
            }
        }
        chances(high)
    }

    /// What falls on the busiest rank.
    #[must_use]
    pub fn load(&self) -> Load {
        let local = self.experts / self.ranks;
        let chances = self.chances();
        let busier = self.busier(&chances, local);
        let mut own = Load::none(self.tokens, self.each);
        if busier <= 1.0 && self.spread <= 0.0 {
            return Load::uniform(self.tokens, self.each, self.experts, local);
        }
        for chance in chances {
            own.independent((chance * busier).min(1.0), local / real(SLICES));
        }
        own
    }

    /// How many times the mean rank's copies the busiest has.
    fn busier(&self, chances: &[f64; SLICES], local: f64) -> f64 {
        if self.ranks < 2.0 || self.balanced || std::env::var("FRONTIER_RANKS").is_ok() {
            return 1.0;
        }
        let mean = chances.iter().sum::<f64>() / real(SLICES);
        let square = chances.iter().map(|own| own * own).sum::<f64>() / real(SLICES);
        let elsewhere = 1.0 - 1.0 / self.ranks;
        let popular = (square / (mean * mean) - 1.0).max(0.0) / local * elsewhere;
        let copies = (self.tokens * mean * local).max(1e-9);
        let chance = elsewhere / copies;
        let off = largest(self.ranks) * libm::sqrt(popular + chance);
        // Every token has so many choices; a rank can't have more than all of them or of its experts.
        let most = (self.ranks).min(self.experts / self.each).max(1.0);
        (1.0 + off).min(most)
    }
}

/// Expected largest of so many normal draws, in between by the logarithm of their number.
fn largest(draws: f64) -> f64 {
    let at = libm::log2(draws.max(1.0));
    let last = LARGEST.len() - 1;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a logarithm of at least 0"
    )]
    let index = (at as usize).min(last - 1);
    let part = (at - real(index)).min(1.0);
    LARGEST[index] + (LARGEST[index + 1] - LARGEST[index]) * part
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
const fn real(count: usize) -> f64 {
    count as f64
}
