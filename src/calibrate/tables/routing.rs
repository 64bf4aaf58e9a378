//! What falls on the measured rank when a benchmark draws its routing.
//!
//! aiconfigurator's collectors (`collector/helper.py` and the engines' `collect_moe.py`) do not route
//! real tokens. They make, per row, either a balanced choice (token `i` takes experts `i + j · ⌈E/k⌉`)
//! or five draws of a power law whose mean time is the row's: weights `w ∝ u^(1/(1−α))` between 1 and
//! 0.8 · tokens (0.01 and 2 where there are fewer choices than experts), scaled to the number of
//! choices, rounded, capped at one choice per token and expert, what is over or missing handed out
//! rank by rank; then the busiest rank is measured. Draws are not seeded, so a row is one sample; here
//! it is the mean of [`DRAWS`] draws of a generator of our own.

use crate::cost::calibrated::Load;
use std::collections::BTreeMap;

/// Draws of a skewed law.
const DRAWS: u64 = 16;
/// Of rows that walk every token.
const FEW_DRAWS: u64 = 6;
/// Most experts, choices and tokens of a row.
const MOST: (usize, usize, usize) = (4096, 64, 1 << 18);
/// Most loads remembered.
const REMEMBERED: usize = 40_000;

/// How often experts are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// All equally, as evenly as can be.
    Balanced,
    /// Independently, all equally likely.
    Uniform,
    /// Power law of this exponent.
    Power(f64),
}

impl Law {
    /// Of the tables' words: `balanced`, `uniform`, `power_law_1.2`.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let unknown = || format!("unknown distribution {word:?}");
        match word {
            "balanced" => Ok(Self::Balanced),
            "uniform" => Ok(Self::Uniform),
            _ => {
                let exponent = word
                    .strip_prefix("power_law_")
                    .and_then(|text| text.parse::<f64>().ok());
                let exponent = exponent
                    .filter(|a| (0.0..=4.0).contains(a))
                    .ok_or_else(unknown)?;
                // The law's inverse has a pole at one.
                Ok(Self::Power(if (exponent - 1.0).abs() < 1e-6 {
                    1.0 + 1e-6
                } else {
                    exponent
                }))
            }
        }
    }
}

/// What the measured kernel was given of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Given {
    /// All tokens; it leaves out other ranks' experts itself.
    All,
    /// Only tokens with a choice on this rank; their choices elsewhere all became this rank's first
    /// expert (SGLang's collector before 0.5.14 clamps the ids).
    Clamped,
    /// All tokens, after DeepSeek's limit to the best four of eight groups of experts; ties go to
    /// the first.
    Grouped,
}

/// A row's routing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Routing {
    pub(super) law: Law,
    pub(super) given: Given,
    pub(super) tokens: usize,
    pub(super) choices: usize,
    pub(super) experts: usize,
    pub(super) ranks: usize,
}

type Key = (u64, Given, usize, usize, usize, usize);

thread_local! {
    static LOADS: std::cell::RefCell<BTreeMap<Key, Load>> = const { std::cell::RefCell::new(BTreeMap::new()) };
}

impl Routing {
    /// What falls on the measured rank.
    pub(super) fn load(&self) -> Result<Load, String> {
        let (experts, choices, tokens) = MOST;
        for (name, value, most) in [
            ("num_experts", self.experts, experts),
            ("topk", self.choices, choices),
            ("num_tokens", self.tokens, tokens),
        ] {
            if value == 0 || value > most {
                return Err(format!("{name} is not in 1 … {most}"));
            }
        }
        if self.choices > self.experts {
            return Err("topk is more than num_experts".to_owned());
        }
        if self.ranks == 0 || !self.experts.is_multiple_of(self.ranks) {
            return Err("num_experts does not divide by moe_ep_size".to_owned());
        }
        let law = match self.law {
            Law::Balanced => 0,
            Law::Uniform => 1,
            Law::Power(exponent) => exponent.to_bits(),
        };
        let key = (
            law,
            self.given,
            self.tokens,
            self.choices,
            self.experts,
            self.ranks,
        );
        if let Some(known) = LOADS.with_borrow(|loads| loads.get(&key).copied()) {
            return Ok(known);
        }
        let load = self.drawn(law);
        LOADS.with_borrow_mut(|loads| {
            if loads.len() < REMEMBERED {
                loads.insert(key, load);
            }
        });
        Ok(load)
    }

    fn drawn(&self, law: u64) -> Load {
        let (tokens, choices) = (real(self.tokens), real(self.choices));
        let local = self.experts / self.ranks;
        if self.law == Law::Uniform && self.given == Given::All {
            return Load::uniform(tokens, choices, real(self.experts), real(local));
        }
        if self.law == Law::Balanced || self.law == Law::Uniform {
            return self.measured(&self.balanced(), local);
        }
        let seed = [self.tokens, self.choices, self.experts, self.ranks]
            .iter()
            .fold(law, |state, part| {
                (state ^ *part as u64).wrapping_mul(0x0100_0000_01b3)
            });
        let mut random = Random(seed);
        let draws = if self.given == Given::Grouped && self.tokens > 1024 {
            FEW_DRAWS
        } else {
            DRAWS
        };
        let exponent = if let Law::Power(exponent) = self.law {
            exponent
        } else {
            0.0
        };
        let loads: Vec<Load> = (0..draws)
            .map(|_| self.measured(&self.power(exponent, &mut random), local))
            .collect();
        Load::mean(&loads)
    }

    /// Choices of the tokens, all first ones, then all second ones, …
    fn balanced(&self) -> Choices {
        let stride = self.experts.div_ceil(self.choices);
        let mut flat = Vec::with_capacity(self.tokens * self.choices);
        for choice in 0..self.choices {
            for token in 0..self.tokens {
                let start = if self.tokens >= stride {
                    token
                } else {
                    token * stride / self.tokens
                };
                flat.push((start + choice * stride) % self.experts);
            }
        }
        let mut counts = vec![0; self.experts];
        for expert in &flat {
            counts[*expert] += 1;
        }
        Choices { counts, flat }
    }

    fn power(&self, exponent: f64, random: &mut Random) -> Choices {
        let (tokens, all) = (real(self.tokens), real(self.tokens * self.choices));
        let (low, high) = if self.tokens * self.choices > self.experts {
            (1.0, 0.8 * tokens)
        } else {
            (0.01, 2.0)
        };
        let (a, b) = (
            libm::pow(low, 1.0 - exponent),
            libm::pow(high, 1.0 - exponent),
        );
        // One draw of every slice of the unit interval, in random order: the same law, less noise.
        let mut weights: Vec<f64> = (0..self.experts)
            .map(|index| (real(index) + random.unit()) / real(self.experts))
            .map(|unit| libm::pow((b - a) * unit + a, 1.0 / (1.0 - exponent)))
            .collect();
        for index in (1..weights.len()).rev() {
            weights.swap(index, random.below(index + 1));
        }
        let sum: f64 = weights.iter().sum();
        let mut counts: Vec<usize> = weights
            .iter()
            .map(|weight| whole(libm::rint(weight / sum * all)).min(self.tokens))
            .collect();
        let local = self.experts / self.ranks;
        let (now, wanted) = (counts.iter().sum::<usize>(), self.tokens * self.choices);
        for (rank, own) in counts.chunks_exact_mut(local).enumerate() {
            let share = |over: usize| over / self.ranks + usize::from(rank < over % self.ranks);
            if now < wanted {
                raise(own, share(wanted - now), self.tokens);
            } else {
                lower(own, share(now - wanted));
            }
        }
        let sums = counts
            .chunks_exact(local)
            .map(|own| own.iter().sum::<usize>());
        let busiest = sums
            .enumerate()
            .fold(
                (0, 0),
                |best, (rank, sum)| if sum > best.1 { (rank, sum) } else { best },
            )
            .0;
        for index in 0..local {
            counts.swap(index, busiest * local + index);
        }
        // Experts by falling count fill the choices one after another.
        let mut order: Vec<usize> = (0..self.experts).collect();
        order.sort_by_key(|expert| std::cmp::Reverse(counts[*expert]));
        let flat = if self.given == Given::All {
            Vec::new()
        } else {
            order
                .iter()
                .flat_map(|expert| std::iter::repeat_n(*expert, counts[*expert]))
                .collect()
        };
        Choices { counts, flat }
    }

    /// What of the choices falls on the first `local` experts.
    fn measured(&self, choices: &Choices, local: usize) -> Load {
        let each = real(self.choices);
        let of = |tokens: usize, counts: &[usize]| {
            Load::of_counts(real(tokens), each, counts.iter().map(|own| real(*own)))
        };
        let own = &choices.counts[..local];
        match self.given {
            Given::All => of(self.tokens, own),
            Given::Grouped => of(self.tokens, &self.grouped(&choices.flat)[..local]),
            Given::Clamped => {
                let mut here = vec![false; self.tokens];
                for (index, expert) in choices.flat.iter().enumerate() {
                    if *expert < local {
                        here[index % self.tokens] = true;
                    }
                }
                let tokens = here.iter().filter(|own| **own).count();
                let over = (tokens * self.choices).saturating_sub(own.iter().sum());
                let mut counts = own.to_vec();
                if let Some(first) = counts.first_mut() {
                    *first += over;
                }
                of(tokens, &counts)
            }
        }
    }

    /// Counts after the limit to four of eight groups.
    fn grouped(&self, flat: &[usize]) -> Vec<usize> {
        const GROUPS: usize = 8;
        const KEPT: usize = 4;
        let size = self.experts.div_ceil(GROUPS);
        let mut counts = vec![0; self.experts];
        if size < 2 {
            // No best two: measured times are those of all tokens on the first experts.
            counts[..self.choices].fill(self.tokens);
            return counts;
        }
        for token in 0..self.tokens {
            let chosen: Vec<usize> = flat
                .iter()
                .skip(token)
                .step_by(self.tokens)
                .copied()
                .collect();
            let mut score = [0_usize; GROUPS];
            for expert in &chosen {
                score[expert / size] += 1;
            }
            // A group scores by its best two.
            let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
            order.sort_by_key(|group| std::cmp::Reverse(score[*group].min(2)));
            let kept = |expert: usize| order[..KEPT].contains(&(expert / size));
            let mut taken = 0;
            for expert in chosen.iter().filter(|own| kept(**own)) {
                counts[*expert] += 1;
                taken += 1;
            }
            for expert in (0..self.experts).filter(|own| kept(*own)) {
                if taken >= self.choices {
                    break;
                }
                if !chosen.contains(&expert) {
                    counts[expert] += 1;
                    taken += 1;
                }
            }
        }
        counts
    }
}

/// What tokens chose.
struct Choices {
    /// How often each expert.
    counts: Vec<usize>,
    /// First choices of all tokens, then second ones, …; empty where nobody asks.
    flat: Vec<usize>,
}

/// Adds to the least, one by one, none above `most`.
fn raise(counts: &mut [usize], mut add: usize, most: usize) {
    let level = level(counts.iter().copied().min().unwrap_or(0), most, |level| {
        counts
            .iter()
            .map(|own| level.saturating_sub(*own))
            .sum::<usize>()
            <= add
    });
    for own in counts.iter_mut().filter(|own| **own < level) {
        add -= level - *own;
        *own = level;
    }
    for own in counts
        .iter_mut()
        .filter(|own| **own == level && level < most)
        .take(add)
    {
        *own += 1;
    }
}

/// Takes from the largest, one by one.
fn lower(counts: &mut [usize], mut take: usize) {
    let most = counts.iter().copied().max().unwrap_or(0);
    let down = level(0, most, |down| {
        counts
            .iter()
            .map(|own| own.saturating_sub(most - down))
            .sum::<usize>()
            <= take
    });
    let level = most - down;
    for own in counts.iter_mut().filter(|own| **own > level) {
        take -= *own - level;
        *own = level;
    }
    for own in counts
        .iter_mut()
        .filter(|own| **own == level && level > 0)
        .take(take)
    {
        *own -= 1;
    }
}

/// The largest level that still fits.
fn level(mut low: usize, mut high: usize, fits: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or(0)) / 4_294_967_296.0
    }

    fn below(&mut self, count: usize) -> usize {
        whole(self.unit() * real(count)).min(count - 1)
    }
}

#[expect(clippy::cast_precision_loss, reason = "bounded counts")]
const fn real(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
const fn whole(value: f64) -> usize {
    value as usize
}
