//! Named random streams and the samplers on them.
//!
//! Every use of chance has a stream of its own, named by the run's seed, a purpose and an entity,
//! so that drawing more of one thing never shifts another: request 7 has the same prompt at every
//! load. The generator is PCG XSL RR 128/64, whose output is fixed by its definition, and the
//! samplers use `libm` and basic arithmetic only: the same on every platform.

use rand::Rng;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::f64::consts::TAU;

/// A stream of random numbers with a name.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of `entity` (a request, a replica, 0) for `purpose` (`"prompt lengths"`) in the
    /// run of `seed`. The same name gives the same numbers, another name unrelated ones.
    #[must_use]
    pub fn new(seed: u64, purpose: &'static str, entity: u64) -> Self {
        // FNV-1a of the purpose; SplitMix64 then spreads the three parts over 256 bits, because
        // PCG streams of similar seeds are correlated.
        let mut name = 0xcbf2_9ce4_8422_2325_u64;
        for byte in purpose.bytes() {
            name = (name ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut state = split_mix(split_mix(split_mix(seed) ^ name) ^ entity);
        let mut bytes = [0_u8; 32];
        for word in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            word.copy_from_slice(&split_mix(state).to_le_bytes());
        }
        Self(Pcg64::from_seed(bytes))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below `bound`, each equally likely (Lemire, “Fast random integer generation
    /// in an interval”, 2019); 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let reject_below = bound.wrapping_neg() % bound;
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(bound);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the two halves of a product"
            )]
            let (high, low) = ((wide >> 64) as u64, wide as u64);
            if low >= reject_below {
                return high;
            }
        }
    }
}

/// The mixing step of SplitMix64 (Steele, Lea & Flood 2014).
#[must_use]
pub const fn split_mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Random bits as a real number in [0, 1): the upper 53 of them.
#[must_use]
pub const fn unit(bits: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let upper = (bits >> 11) as f64;
    upper / 9_007_199_254_740_992.0
}

/// A real number in [0, 1) with 53 random bits.
pub fn uniform(stream: &mut Stream) -> f64 {
    unit(stream.next_u64())
}

/// Exponential with mean 1, by inversion: −ln(1 − u). Not truncated.
pub fn standard_exponential(stream: &mut Stream) -> f64 {
    -libm::log1p(-uniform(stream))
}

/// Normal with mean 0 and variance 1 (Box–Muller; the second of the pair is not used, so that
/// every draw takes the same share of the stream).
pub fn standard_normal(stream: &mut Stream) -> f64 {
    let radius = (2.0 * standard_exponential(stream)).sqrt();
    radius * libm::cos(TAU * uniform(stream))
}

/// Gamma with scale 1: mean and variance are both `shape`. Marsaglia & Tsang, “A simple method
/// for generating gamma variables”, 2000; a shape below 1 is drawn at `shape + 1` and multiplied
/// by u^(1/shape). A shape that is not above 0 gives 0.
pub fn gamma(stream: &mut Stream, shape: f64) -> f64 {
    // Not `shape <= 0.0`: NaN must end here too.
    if !(shape > 0.0 && shape.is_finite()) {
        return 0.0;
    }
    if shape < 1.0 {
        let larger = gamma(stream, shape + 1.0);
        return larger * libm::exp(-standard_exponential(stream) / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = standard_normal(stream);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if -standard_exponential(stream) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// Log-normal with this mean and coefficient of variation: σ² = ln(1 + cv²), μ = ln mean − σ²/2.
pub fn log_normal_mean(stream: &mut Stream, mean: f64, cv: f64) -> f64 {
    let variance = libm::log1p(cv * cv);
    let z = standard_normal(stream);
    mean * libm::exp(variance.sqrt() * z - variance / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DRAWS: u32 = 200_000;

    /// Mean and variance of many draws.
    fn moments(mut draw: impl FnMut(&mut Stream) -> f64) -> (f64, f64) {
        let mut stream = Stream::new(7, "moments", 0);
        let values: Vec<f64> = (0..DRAWS).map(|_| draw(&mut stream)).collect();
        let mean = values.iter().sum::<f64>() / f64::from(DRAWS);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(DRAWS);
        (mean, variance)
    }

    fn near(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() < tolerance,
            "{value} is not near {expected}"
        );
    }

    #[test]
    fn moments_are_the_distributions() {
        let (mean, variance) = moments(uniform);
        near(mean, 0.5, 0.005);
        near(variance, 1.0 / 12.0, 0.002);
        let (mean, variance) = moments(standard_exponential);
        near(mean, 1.0, 0.01);
        near(variance, 1.0, 0.03);
        let (mean, variance) = moments(standard_normal);
        near(mean, 0.0, 0.01);
        near(variance, 1.0, 0.02);
        for shape in [0.1, 0.5, 1.0, 2.5, 40.0] {
            let (mean, variance) = moments(|stream| gamma(stream, shape));
            near(mean / shape, 1.0, 0.03);
            near(variance / shape, 1.0, 0.06);
        }
        let (mean, variance) = moments(|stream| log_normal_mean(stream, 500.0, 0.6));
        near(mean / 500.0, 1.0, 0.01);
        near(variance.sqrt() / mean, 0.6, 0.02);
    }

    #[test]
    fn the_exponential_has_its_tail() {
        // exp(-8) of the draws are above 8: a truncated sampler has none.
        let mut stream = Stream::new(1, "tail", 0);
        let above = (0..DRAWS)
            .filter(|_| standard_exponential(&mut stream) > 8.0)
            .count();
        assert!((40..100).contains(&above), "{above}, expected about 67");
    }

    #[test]
    fn names_make_streams() {
        let first = |seed, purpose, entity| Stream::new(seed, purpose, entity).next_u64();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let others = [
            first(1, "a", 0),
            first(2, "a", 0),
            first(1, "b", 0),
            first(1, "a", 1),
            first(0, "a", 1),
        ];
        for (i, one) in others.iter().enumerate() {
            assert!(others.iter().skip(i + 1).all(|other| other != one));
        }
    }

    #[test]
    fn streams_of_neighbours_are_not_correlated() {
        let n = 20_000;
        let pairs: Vec<(f64, f64)> = (0..n)
            .map(|entity| {
                let draw = |entity| uniform(&mut Stream::new(1, "neighbour", entity)) - 0.5;
                (draw(entity), draw(entity + 1))
            })
            .collect();
        let covariance = pairs.iter().map(|(a, b)| a * b).sum::<f64>() / 20_000.0;
        assert!((covariance * 12.0).abs() < 0.03, "{covariance}");
    }

    #[test]
    fn the_generator_never_changes() {
        // A document's seed must mean the same requests in every later version.
        let mut stream = Stream::new(42, "prompt lengths", 0);
        assert_eq!([stream.next_u64(), stream.next_u64()], PINNED);
    }

    const PINNED: [u64; 2] = [13_204_667_669_668_012_277, 14_598_822_502_213_151_734];

    proptest! {
        #[test]
        fn whole_numbers_stay_below_their_bound(seed: u64, bound in 1_u64..) {
            let mut stream = Stream::new(seed, "below", 0);
            for _ in 0..8 {
                prop_assert!(stream.below(bound) < bound);
            }
        }

        #[test]
        fn samplers_are_finite_on_anything(seed: u64, shape: f64) {
            let mut stream = Stream::new(seed, "gamma", 0);
            let value = gamma(&mut stream, shape);
            prop_assert!(value.is_finite() && value >= 0.0);
        }
    }
}
