//! How far back a token looks: everything, a window, the chunk it is in.
//!
//! Attention of a step is affine in sums over its sequences of how many tokens each sees. The sum
//! over whole contexts every step has; a model with windows, chunks or an indexer's choice needs
//! one more for each distinct [`Reach`], which the caller keeps and passes in the order of
//! [`reaches`].

use crate::model::{Attention, Gqa, Indexer, Model, Span};
use crate::units::real;

/// Which tokens of its context a token sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// All.
    All,
    /// The last so many, itself included; an indexer's choice of so many counts the same.
    Last(u64),
    /// Those of its chunk: positions are cut into chunks of so many (Llama 4).
    Chunk(u64),
}

impl Reach {
    /// Tokens seen by the last of `context` tokens, itself included.
    #[must_use]
    pub fn tokens(self, context: u64) -> u64 {
        match self {
            Self::All => context,
            Self::Last(most) => context.min(most),
            Self::Chunk(size) => match context {
                0 => 0,
                _ => (context - 1) % size.max(1) + 1,
            },
        }
    }

    /// Sum of [`Self::tokens`] over `tokens` new tokens after `context` earlier ones: what causal
    /// attention of a prefill chunk multiplies.
    #[must_use]
    pub fn pairs(self, tokens: u64, context: u64) -> f64 {
        let causal = |from: u64, count: u64| {
            let n = real(count);
            n * (real(from) + 0.5 * (n + 1.0))
        };
        match self {
            Self::All => causal(context, tokens),
            Self::Last(most) => {
                let below = most.saturating_sub(context).min(tokens);
                causal(context, below) + real(tokens - below) * real(most)
            }
            Self::Chunk(size) => {
                let size = size.max(1);
                let whole = 0.5 * real(size) * (real(size) + 1.0);
                let until = |end: u64| (end / size, causal(0, end % size));
                let ((before, head), (after, tail)) = (until(context), until(context + tokens));
                // Whole chunks are counted, not subtracted: nothing is lost at long contexts.
                real(after - before) * whole + tail - head
            }
        }
    }

    /// Tokens whose cache a prefill chunk reads or writes, each once.
    #[must_use]
    pub fn entries(self, tokens: u64, context: u64) -> f64 {
        let earlier = match self {
            Self::All => context,
            // The first new token sees itself and so many before it.
            Self::Last(most) => context.min(most.saturating_sub(1)),
            Self::Chunk(size) => context % size.max(1),
        };
        real(earlier + tokens)
    }

    /// What a layer of a span sees.
    pub(super) const fn of(span: Span) -> Self {
        match span {
            Span::Full => Self::All,
            Span::Window(tokens) => Self::Last(tokens),
            Span::Chunk(tokens) => Self::Chunk(tokens),
        }
    }

    /// The same under an indexer that chooses among entries of `ratio` tokens.
    pub(super) const fn chosen(self, indexer: Option<&Indexer>, ratio: u64) -> Self {
        let Some(own) = indexer else { return self };
        let most = own.top_k.saturating_mul(ratio);
        match self {
            Self::All => Self::Last(most),
            Self::Last(window) if window < most => Self::Last(window),
            Self::Last(_) => Self::Last(most),
            // `plan` refuses a choice inside chunks.
            Self::Chunk(size) => Self::Chunk(size),
        }
    }
}

/// What a layer's tokens attend to, and how many cached entries there are per token of it.
pub(super) fn attended(attention: &Attention) -> Vec<(Reach, f64)> {
    let gqa = |gqa: &Gqa| vec![(Reach::of(gqa.span).chosen(gqa.indexer.as_ref(), 1), 1.0)];
    match attention {
        Attention::Gqa(own) | Attention::Parallel { attention: own, .. } => gqa(own),
        Attention::Mla(mla) => vec![(Reach::All.chosen(mla.indexer.as_ref(), 1), 1.0)],
        Attention::Compressed(own) => {
            let mut parts = vec![(Reach::Last(own.window), 1.0)];
            if own.ratio > 0 {
                let reach = Reach::All.chosen(own.indexer.as_ref(), own.ratio);
                parts.push((reach, 1.0 / real(own.ratio)));
            }
            parts
        }
        Attention::Recurrent(_) | Attention::Matrix | Attention::None => Vec::new(),
    }
}

/// The distinct reaches of a model's layers but [`Reach::All`], in order.
#[must_use]
pub fn reaches(model: &Model) -> Vec<Reach> {
    let mut all: Vec<Reach> = model
        .layers
        .iter()
        .flat_map(|run| attended(&run.attention))
        .map(|(reach, _)| reach)
        .filter(|reach| *reach != Reach::All)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_reach() -> impl Strategy<Value = Reach> {
        prop_oneof![
            Just(Reach::All),
            (1u64..300).prop_map(Reach::Last),
            (1u64..300).prop_map(Reach::Chunk),
        ]
    }

    proptest! {
        #[test]
        fn a_chunk_sees_what_its_tokens_see(
            reach in any_reach(),
            tokens in 0u64..700,
            context in 0u64..1000,
        ) {
            let one_by_one: u64 = (1..=tokens).map(|i| reach.tokens(context + i)).sum();
            prop_assert!((reach.pairs(tokens, context) - real(one_by_one)).abs() < 1e-6);
            prop_assert!(reach.entries(tokens, context) <= real(context + tokens));
            if tokens > 0 {
                prop_assert!(reach.entries(tokens, context) >= real(tokens));
            }
        }
    }

    #[test]
    fn long_contexts_lose_nothing() {
        let far = 1 << 30;
        for reach in [Reach::Last(8192), Reach::Chunk(8192)] {
            let pairs = reach.pairs(8192, far);
            let near = reach.pairs(8192, 8192 * 4);
            assert!((pairs - near).abs() < 1e-6, "{reach:?}: {pairs} {near}");
        }
    }
}
