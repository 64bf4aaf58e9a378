//! How tokens fall on the experts of a rank: what a grouped product needs to know of it.
//!
//! A grouped product does not see a batch, it sees a count per expert: it reads the weights of every
//! expert that has one, and cuts each count into tiles of rows. [`Load`] keeps the sums over experts
//! from which any kernel is priced, so that a balanced batch, independent choices, a skewed law and
//! a measured vector of counts are all the same thing.

/// Rows of the tiles grouped products are cut into.
pub const TILE_ROWS: [f64; 6] = [8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// What falls on one rank, in all or as the mean of several draws.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    /// Tokens the rank's kernels are given: all tokens of the expert-parallel group where activations
    /// are gathered, its own where a dispatch brought them.
    pub tokens: f64,
    /// Choices of each token.
    pub choices: f64,
    /// Copies of tokens that chose an expert of this rank.
    pub copies: f64,
    /// Experts of this rank with at least one.
    pub visited: f64,
    /// Copies of the busiest of them.
    pub busiest: f64,
    /// Tiles of [`TILE_ROWS`] rows that cover every expert's copies.
    pub tiles: [f64; TILE_ROWS.len()],
}

impl Load {
    /// Of copies per expert of the rank, the rank's kernels being given `tokens` of `choices` each.
    #[must_use]
    pub fn of_counts(tokens: f64, choices: f64, counts: impl IntoIterator<Item = f64>) -> Self {
        let mut own = Self {
            tokens,
            choices,
            ..Self::default()
        };
        for count in counts {
            own.add(count, 1.0);
        }
        own
    }

    /// Adds `experts` experts of `count` copies each.
    fn add(&mut self, count: f64, experts: f64) {
        if count <= 0.0 {
            return;
        }
        self.copies += count * experts;
        self.visited += experts;
        self.busiest = self.busiest.max(count);
        for (tiles, rows) in self.tiles.iter_mut().zip(TILE_ROWS) {
            *tiles += libm::ceil(count / rows) * experts;
        }
    }

    /// Every expert of `experts` chosen equally often, `local` of them here.
    #[must_use]
    pub fn balanced(tokens: f64, choices: f64, experts: f64, local: f64) -> Self {
        let mut own = Self {
            tokens,
            choices,
            ..Self::default()
        };
        let each = tokens * choices / experts;
        // Fewer copies than experts: some get one, the others none.
        if each >= 1.0 {
            own.add(each, local)
        } else {
            own.add(1.0, each * local)
        }
        own
    }

    /// Choices independent and equally likely: the expectation over batches.
    #[must_use]
    pub fn uniform(tokens: f64, choices: f64, experts: f64, local: f64) -> Self {
        let mut own = Self {
            tokens,
            choices,
            ..Self::default()
        };
        own.expect((choices / experts).clamp(0.0, 1.0), local);
        own
    }

    /// Choices independent, experts unequally liked: the `i`-th most liked in proportion to
    /// `i^-skew`, as far as a token can choose it (once). Of the experts' ranks the busiest counts:
    /// liked ones fall where they fall, so that its share is above the mean by what the largest of
    /// that many sums of independent parts is.
    #[must_use]
    pub fn skewed(tokens: f64, choices: f64, experts: f64, local: f64, skew: f64) -> Self {
        if skew <= 0.0 || choices >= experts {
            return Self::uniform(tokens, choices, experts, local);
        }
        let liked: [f64; CLASSES] = std::array::from_fn(|class| {
            // The middle of an equal slice of the ranking, by its logarithm near the head.
            let at = |edge: usize| {
                let share = edge_of(edge) / edge_of(CLASSES);
                share * experts
            };
            let (from, to) = (at(class), at(class + 1));
            slice_mean(from, to, skew)
        });
        let sizes: [f64; CLASSES] =
            std::array::from_fn(|class| (edge_of(class + 1) - edge_of(class)) / edge_of(CLASSES));
        // No expert is chosen twice by a token: what the most liked can't have, others get.
        let mut chances = [0.0; CLASSES];
        let mut scale = 1.0;
        for _ in 0..8 {
            let sum: f64 = (0..CLASSES)
                .map(|class| (liked[class] * scale).min(1.0) * sizes[class] * experts)
                .sum();
            scale *= choices / sum.max(1e-12);
        }
        for (chance, own) in chances.iter_mut().zip(liked) {
            *chance = (own * scale).min(1.0);
        }
        let mean = choices / experts;
        let spread: f64 = (0..CLASSES)
            .map(|class| sizes[class] * (chances[class] - mean) * (chances[class] - mean))
            .sum();
        let ranks = (experts / local.max(1.0)).max(1.0);
        let apart = libm::sqrt(spread * (1.0 - 1.0 / ranks) / local.max(1.0)) / mean;
        let busiest = 1.0 + apart * libm::sqrt(2.0 * libm::log(ranks));
        let mut own = Self {
            tokens,
            choices,
            ..Self::default()
        };
        for (chance, size) in chances.iter().zip(sizes) {
            own.expect((chance * busiest).min(1.0), local * size);
        }
        own
    }

    /// The same after a dispatch, which brought only the tokens with a choice here.
    #[must_use]
    pub fn dispatched(self) -> Self {
        let here = (self.copies / (self.tokens * self.choices).max(1.0)).clamp(0.0, 1.0);
        Self {
            tokens: self.tokens * (1.0 - libm::pow(1.0 - here, self.choices)),
            ..self
        }
    }

    /// Adds `experts` experts that each token chooses with this chance.
    fn expect(&mut self, chance: f64, experts: f64) {
        let tokens = self.tokens;
        if chance >= 1.0 {
            self.add(tokens, experts);
            return;
        }
        let mean = tokens * chance;
        let spread = libm::sqrt(mean * (1.0 - chance));
        let before = self.busiest;
        if mean > 40.0 {
            // Middles of equally likely slices of the normal law.
            for z in NORMAL {
                self.add((mean + z * spread).max(0.0), experts / NORMAL_COUNT);
            }
            let most = mean + spread * libm::sqrt(2.0 * libm::log(experts.max(1.0)));
            self.busiest = before.max(most.min(tokens));
            return;
        }
        // The binomial law, term by term.
        let mut term = libm::pow(1.0 - chance, tokens);
        let (mut count, mut left) = (0.0, 1.0);
        let mut busiest: f64 = 0.0;
        while count <= tokens && left > 1e-9 && count < 400.0 {
            self.add(count, experts * term);
            if left * experts >= 0.5 {
                busiest = count;
            }
            left -= term;
            term *= (tokens - count) / (count + 1.0) * chance / (1.0 - chance).max(1e-12);
            count += 1.0;
        }
        self.busiest = before.max(busiest);
    }

    /// The mean of some draws of the same choices.
    #[must_use]
    pub fn mean(draws: &[Self]) -> Self {
        let Some(first) = draws.first() else {
            return Self::default();
        };
        let count = f64::from(u32::try_from(draws.len()).unwrap_or(u32::MAX));
        let mean = |of: &dyn Fn(&Self) -> f64| draws.iter().map(of).sum::<f64>() / count;
        let mut own = Self {
            tokens: mean(&|draw| draw.tokens),
            choices: first.choices,
            copies: mean(&|draw| draw.copies),
            visited: mean(&|draw| draw.visited),
            busiest: mean(&|draw| draw.busiest),
            tiles: first.tiles,
        };
        for (index, tiles) in own.tiles.iter_mut().enumerate() {
            *tiles = mean(&|draw| draw.tiles[index]);
        }
        own
    }
}

/// Classes of experts by how liked they are.
const CLASSES: usize = 8;

/// Where a class begins in the ranking, in parts: narrow at its head.
fn edge_of(class: usize) -> f64 {
    f64::from(u32::try_from(class * class).unwrap_or(u32::MAX))
}

/// The mean of `i^-skew` over ranks from `from` to `to`, counted from 0, in the middle of each.
fn slice_mean(from: f64, to: f64, skew: f64) -> f64 {
    let (from, to) = (from + 0.5, to + 0.5);
    let power = 1.0 - skew;
    let sum = if power.abs() < 1e-9 {
        libm::log(to / from)
    } else {
        (libm::pow(to, power) - libm::pow(from, power)) / power
    };
    sum / (to - from)
}

/// Twelve quantiles of the normal law, at (i + ½) / 12.
const NORMAL: [f64; 12] = [
    -1.7317, -1.1503, -0.8122, -0.5485, -0.3186, -0.1046, 0.1046, 0.3186, 0.5485, 0.8122, 1.1503,
    1.7317,
];
const NORMAL_COUNT: f64 = 12.0;
