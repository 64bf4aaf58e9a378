//! Which sizes an engine captures as CUDA graphs, and which batch runs in which.
//!
//! A batch runs in the smallest captured size that holds it and is padded to it; without padding
//! (TensorRT-LLM as it starts) only if it is of a captured size. vLLM counts a size in tokens; SGLang and TensorRT-LLM count sequences of a decode batch, each with its drafted tokens.
//! A whole step is captured for decodes only; pieces between attention kernels fit any batch.

use super::{Engine, EngineKind, GraphMode};

/// Captured sizes are cut here, whatever is asked for: no engine captures more.
const MOST: u32 = 65_536;

/// From, to (exclusive), step. The last one goes on to the largest size.
type Steps = &'static [(u32, u32, u32)];

/// vLLM 0.11 `config/vllm.py`, `_set_cudagraph_sizes`: 1, 2, 4, by 8 to 256, by 16.
const VLLM: Steps = &[(1, 3, 1), (4, 5, 1), (8, 256, 8), (256, MOST, 16)];
/// SGLang 0.5 `srt/server_args.py`, `_generate_cuda_graph_batch_sizes`.
const SGLANG: Steps = &[
    (1, 3, 1),
    (4, 13, 4),
    (16, 257, 8),
    (272, 512, 16),
    (512, MOST, 32),
];
/// The same with speculative decoding: finer at the low end.
const SGLANG_DRAFTS: Steps = &[
    (1, 9, 1),
    (10, 33, 2),
    (40, 65, 4),
    (72, 257, 8),
    (272, MOST, 16),
];
/// TensorRT-LLM 1.0 `llmapi/llm_args.py`, `_generate_cuda_graph_batch_sizes`, with padding
/// (`enable_padding`); above 128 powers of two.
const TENSORRT_LLM: Steps = &[(1, 3, 1), (4, 5, 1), (8, 129, 8)];
/// The same without padding: every size up to 32, then powers of two.
const TENSORRT_LLM_EXACT: Steps = &[(1, 33, 1), (64, 65, 1), (128, 129, 1)];
/// SGLang with `disable_cuda_graph_padding`: every size.
const SGLANG_EXACT: Steps = &[(1, MOST, 1)];

/// Sizes up to the largest.
fn sizes(kind: EngineKind, drafts: bool, padding: bool, largest: u32) -> Vec<u32> {
    let steps = match (kind, drafts, padding) {
        (EngineKind::Vllm, ..) => VLLM,
        (EngineKind::Sglang, _, false) => SGLANG_EXACT,
        (EngineKind::Sglang, false, true) => SGLANG,
        (EngineKind::Sglang, true, true) => SGLANG_DRAFTS,
        (EngineKind::TensorRtLlm, _, true) => TENSORRT_LLM,
        (EngineKind::TensorRtLlm, _, false) => TENSORRT_LLM_EXACT,
    };
    let largest = largest.min(MOST);
    let mut sizes: Vec<u32> = steps
        .iter()
        .flat_map(|(from, to, step)| (*from..*to).step_by(*step as usize))
        .take_while(|size| *size <= largest)
        .collect();
    if kind == EngineKind::TensorRtLlm {
        sizes.extend((8..=16).map(|power| 1 << power).filter(|s| *s <= largest));
    }
    // Both take the largest itself, whatever the list.
    if kind != EngineKind::Vllm && largest > 0 && sizes.last() != Some(&largest) {
        sizes.push(largest);
    }
    sizes
}

/// An engine's captured sizes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// Sizes of whole decode steps: tokens (vLLM), or sequences.
    whole: Vec<u32>,
    /// Sizes of pieces, tokens.
    pieces: Vec<u32>,
    /// Tokens of each sequence of a whole decode step: one, and those drafted.
    each: u32,
    /// Whether `whole` counts tokens.
    by_tokens: bool,
    /// Whether only batches of just a captured size run.
    exact: bool,
}

/// A batch's size in a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padded {
    /// Its tokens, padding included.
    pub tokens: u32,
    /// Its sequences, padding included.
    pub sequences: u32,
}

impl Captured {
    /// Of an engine's settings.
    #[must_use]
    pub fn of(engine: &Engine) -> Self {
        let each = 1 + engine.speculation.as_ref().map_or(0, |own| own.verified);
        let by_tokens = engine.kind == EngineKind::Vllm;
        let drafts = engine.speculation.is_some();
        // vLLM always pads.
        let padding = engine.graphs.padding || by_tokens;
        let list = |largest: u32| {
            let largest = engine.graphs.max_size.min(largest);
            sizes(engine.kind, drafts, padding, largest)
        };
        let (whole, pieces) = match engine.graphs.mode {
            GraphMode::None => (false, false),
            GraphMode::Piecewise => (false, true),
            GraphMode::FullDecode => (true, false),
            GraphMode::FullAndPiecewise => (true, true),
        };
        let largest = if by_tokens {
            engine.max_num_seqs.saturating_mul(each)
        } else {
            engine.max_num_seqs
        };
        Self {
            whole: if whole { list(largest) } else { Vec::new() },
            pieces: if pieces {
                list(engine.max_num_batched_tokens)
            } else {
                Vec::new()
            },
            each,
            by_tokens,
            exact: !padding,
        }
    }

    /// Whether nothing is captured.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.whole.is_empty() && self.pieces.is_empty()
    }

    /// How many sizes of whole steps and of pieces there are.
    #[must_use]
    pub const fn counts(&self) -> [usize; 2] {
        [self.whole.len(), self.pieces.len()]
    }

    /// Tokens of each sequence of a whole decode step.
    #[must_use]
    pub const fn each(&self) -> u32 {
        self.each
    }

    /// The graph that holds a step of so many decodes, `each` tokens of every one.
    #[must_use]
    pub fn whole(&self, sequences: u32, each: u32) -> Option<Padded> {
        if self.by_tokens {
            let tokens = self.up(&self.whole, sequences.saturating_mul(each))?;
            Some(Padded {
                tokens,
                sequences: tokens.div_ceil(each.max(1)),
            })
        } else {
            let sequences = self.up(&self.whole, sequences)?;
            Some(Padded {
                tokens: sequences.saturating_mul(each),
                sequences,
            })
        }
    }

    /// The pieces that hold so many tokens, padded.
    #[must_use]
    pub fn pieces(&self, tokens: u32) -> Option<u32> {
        self.up(&self.pieces, tokens)
    }

    /// The size that so many run in.
    fn up(&self, sizes: &[u32], wanted: u32) -> Option<u32> {
        let above = sizes.get(sizes.partition_point(|size| *size < wanted));
        above.copied().filter(|size| !self.exact || *size == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Draft, Graphs, Speculation};

    fn engine(kind: EngineKind, mode: GraphMode, max_size: u32) -> Engine {
        Engine {
            kind,
            graphs: Graphs {
                mode,
                max_size,
                padding: true,
            },
            ..Engine::vllm(true)
        }
    }

    #[test]
    fn sizes_are_the_engines_own() {
        // vLLM's documented list for 512: 3 + 31 + 17 sizes.
        let vllm = sizes(EngineKind::Vllm, false, true, 512);
        assert_eq!(vllm.len(), 51);
        assert_eq!(vllm[..5], [1, 2, 4, 8, 16]);
        assert_eq!(vllm[33..37], [248, 256, 272, 288]);
        assert_eq!(vllm.last(), Some(&512));
        let sglang = sizes(EngineKind::Sglang, false, true, 512);
        assert_eq!(sglang[..7], [1, 2, 4, 8, 12, 16, 24]);
        assert_eq!(sglang[sglang.len() - 3..], [480, 496, 512]);
        let drafts = sizes(EngineKind::Sglang, true, true, 80);
        assert_eq!(drafts[6..12], [7, 8, 10, 12, 14, 16]);
        assert_eq!(drafts.last(), Some(&80));
        let trt = sizes(EngineKind::TensorRtLlm, false, true, 2048);
        assert_eq!(trt.len(), 19 + 4);
        assert_eq!(trt[18..], [128, 256, 512, 1024, 2048]);
        assert_eq!(
            sizes(EngineKind::TensorRtLlm, false, true, 384).last(),
            Some(&384)
        );
        for kind in EngineKind::ALL {
            assert!(sizes(kind, false, true, 0).is_empty());
            assert_eq!(sizes(kind, true, true, 1), [1]);
            let most = sizes(kind, false, true, u32::MAX);
            assert!(most.windows(2).all(|pair| pair[0] < pair[1]), "{kind:?}");
        }
    }

    #[test]
    fn without_padding_only_captured_sizes_run() {
        let of = |kind| {
            let mut own = engine(kind, GraphMode::FullDecode, 256);
            own.graphs.padding = false;
            Captured::of(&own)
        };
        // TensorRT-LLM's documented sizes without padding: 1 to 32, 64, 128, 256.
        let trt = of(EngineKind::TensorRtLlm);
        let runs: Vec<u32> = (1..300)
            .filter(|batch| trt.whole(*batch, 1).is_some())
            .collect();
        let own: Vec<u32> = (1..=32).chain([64, 128, 256]).collect();
        assert_eq!(runs, own);
        assert_eq!(trt.whole(64, 3).map(|own| own.tokens), Some(192));
        // SGLang captures every size, so none is padded.
        let sglang = of(EngineKind::Sglang);
        assert!((1..=256).all(|batch| {
            sglang
                .whole(batch, 1)
                .is_some_and(|own| own.sequences == batch)
        }));
        assert_eq!(sglang.whole(257, 1), None);
        // vLLM pads whatever is set.
        let vllm = of(EngineKind::Vllm);
        assert_eq!(vllm.whole(9, 1).map(|own| own.tokens), Some(16));
    }

    #[test]
    fn a_batch_runs_in_the_smallest_size_that_holds_it() {
        let own = Captured::of(&engine(EngineKind::Vllm, GraphMode::FullAndPiecewise, 512));
        for tokens in 1..=512 {
            let padded = own.pieces(tokens).unwrap();
            assert!(padded >= tokens);
            // 16 at most, and never past the next size.
            assert!(padded - tokens < 16);
            assert!(own.pieces(tokens + 1).is_none_or(|next| next >= padded));
        }
        assert_eq!(own.pieces(513), None);
        assert_eq!(
            own.whole(3, 1),
            Some(Padded {
                tokens: 4,
                sequences: 4
            })
        );
        assert!(Captured::of(&engine(EngineKind::Vllm, GraphMode::None, 512)).is_none());
    }

    #[test]
    fn drafted_tokens_count_in_vllm_and_multiply_in_the_others() {
        let speculation = Some(Speculation {
            draft: Draft::Ngram,
            steps: 3,
            verified: 3,
            acceptance: vec![0.5],
        });
        let of = |kind| {
            Captured::of(&Engine {
                speculation: speculation.clone(),
                ..engine(kind, GraphMode::FullDecode, 256)
            })
        };
        // 5 sequences of 4 tokens: 20 tokens, padded to 24, which is 6 sequences.
        let padded = |tokens, sequences| Some(Padded { tokens, sequences });
        assert_eq!(of(EngineKind::Vllm).whole(5, 4), padded(24, 6));
        assert_eq!(of(EngineKind::Sglang).whole(5, 4), padded(20, 5));
        assert_eq!(of(EngineKind::TensorRtLlm).whole(5, 4), padded(32, 8));
        assert_eq!(of(EngineKind::Vllm).whole(65, 4), None);
        assert_eq!(of(EngineKind::Vllm).pieces(1), None);
    }

    #[test]
    fn accepted_tokens_add_up_by_depth() {
        let of = |steps, acceptance: &[f64]| {
            let own = Speculation {
                draft: Draft::Ngram,
                steps,
                verified: steps,
                acceptance: acceptance.to_vec(),
            };
            own.tokens_per_step()
        };
        // DeepSeek-V3's one token at 0.85; 1 + 0.8 + 0.8 × 0.5 + 0.8 × 0.5 × 0.5.
        assert!((of(1, &[0.85]) - 1.85).abs() < 1e-12);
        assert!((of(3, &[0.8, 0.5]) - 2.4).abs() < 1e-12);
        assert!((of(2, &[]) - 1.0).abs() < 1e-12);
    }
}
