//! What one sequence takes of a GPU's KV memory, in the engine's blocks.
//!
//! Layers that see all of the context take a block more every `block_size` tokens; layers that see
//! a window take blocks until it is full and then let go of one for each they take; recurrent
//! layers keep a state of fixed size. A model without windows or states takes
//! `blocks · block bytes`, as in a plain paged cache.

use crate::catalog::Dtype;
use crate::model::{Extent, LayerRun, layer_cache};

/// KV bytes of one sequence on one GPU, by its length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SequenceKv {
    /// Tokens of a block.
    pub block_size: u64,
    /// Bytes of a block of the layers that see everything.
    pub growing: u64,
    /// Layers that see a window, by its width: (blocks they keep at most, bytes of a block).
    pub windows: Vec<(u64, u64)>,
    /// Bytes kept whatever the length.
    pub state: u64,
}

impl SequenceKv {
    /// Of these layers on each of `tp` ranks.
    #[must_use]
    pub fn of(layers: &[LayerRun], kv: Dtype, tp: u64, block_size: u32) -> Self {
        let block = u64::from(block_size.max(1));
        let mut own = Self {
            block_size: block,
            ..Self::default()
        };
        for run in layers {
            for part in layer_cache(&run.attention, kv, tp) {
                let bytes = part
                    .entry_bytes()
                    .get()
                    .saturating_mul(u64::from(run.count));
                let of_block = bytes.saturating_mul(block);
                match part.extent {
                    Extent::Token => own.growing = own.growing.saturating_add(of_block),
                    Extent::Every(ratio) => {
                        own.growing = own.growing.saturating_add(of_block.div_ceil(ratio.max(1)));
                    }
                    // A window that does not end at a block's edge touches one more.
                    Extent::Last(cap) => own.window(cap.div_ceil(block) + 1, of_block),
                    Extent::Once => own.state = own.state.saturating_add(bytes),
                }
            }
        }
        own.windows.sort_unstable();
        own
    }

    fn window(&mut self, cap: u64, bytes: u64) {
        match self.windows.iter_mut().find(|(blocks, _)| *blocks == cap) {
            Some((_, total)) => *total = total.saturating_add(bytes),
            None => self.windows.push((cap, bytes)),
        }
    }

    /// Bytes of a sequence of `tokens`.
    #[must_use]
    pub fn bytes(&self, tokens: u64) -> u64 {
        let blocks = tokens.div_ceil(self.block_size.max(1));
        let windows = self.windows.iter().fold(0_u64, |sum, (cap, bytes)| {
            sum.saturating_add(bytes.saturating_mul(blocks.min(*cap)))
        });
        self.growing
            .saturating_mul(blocks)
            .saturating_add(windows)
            .saturating_add(self.state)
    }

    /// Whether it takes the same block again and again: no windows, no state.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.windows.is_empty() && self.state == 0
    }

    /// Bytes of a sequence of a mean length, as an estimate: fractions of blocks count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn mean_bytes(&self, tokens: f64) -> f64 {
        let blocks = tokens / self.block_size.max(1) as f64;
        let windows: f64 = self
            .windows
            .iter()
            .map(|(cap, bytes)| *bytes as f64 * blocks.min(*cap as f64))
            .sum();
        self.growing as f64 * blocks + windows + self.state as f64
    }

    /// Bytes of a block while every window has room for it.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.windows
            .iter()
            .fold(self.growing, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Tokens of the longest sequence that fits in so many bytes, whole blocks; `u64::MAX` where
    /// length does not matter.
    #[must_use]
    pub fn longest(&self, bytes: u64) -> u64 {
        if self.state > bytes {
            return 0;
        }
        let fits = |blocks: u64| self.bytes(blocks.saturating_mul(self.block_size)) <= bytes;
        let most = u64::MAX / self.block_size.max(1);
        if fits(most) {
            return u64::MAX;
        }
        let (mut low, mut high) = (0, most);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low.saturating_mul(self.block_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Attention, Ffn, Gqa, Span};

    fn layers(count: u32, span: Span) -> LayerRun {
        let gqa = Gqa {
            heads: 64,
            kv_heads: 8,
            head_dim: 64,
            span,
            ..Gqa::default()
        };
        LayerRun::new(count, Attention::Gqa(gqa), Ffn::gated(2880))
    }

    #[test]
    fn a_plain_cache_is_blocks_times_block_bytes() {
        let own = SequenceKv::of(&[layers(36, Span::Full)], Dtype::Bf16, 1, 16);
        assert_eq!(own.block_bytes(), 16 * 36 * 2048);
        assert_eq!(own.bytes(33), 3 * own.block_bytes());
        assert_eq!(own.longest(10 * own.block_bytes() + 1), 160);
    }

    #[test]
    fn a_window_stops_taking_blocks_once_it_is_full() {
        let runs = [layers(18, Span::Window(128)), layers(18, Span::Full)];
        let own = SequenceKv::of(&runs, Dtype::Bf16, 1, 16);
        let half = 16 * 18 * 2048;
        assert_eq!(own.bytes(100), 7 * 2 * half);
        assert_eq!(own.bytes(16_384), 1024 * half + 9 * half);
        assert_eq!(own.longest(own.bytes(16_384)), 16_384);
    }
}
