//! What a decode step moves of a sequence's cache.
//!
//! Not all that is kept is read: an indexer reads its small key of every token and then only the
//! entries it chose. And not all that is read is kept by the layer: cross-layer attention reads an
//! earlier layer's keys and values. A recurrent state is read and written back.

use super::cache::{CachePart, Extent, INDEX_KEYS, layer_cache};
use crate::catalog::Dtype;
use crate::model::{Attention, Gqa, Indexer};
use crate::units::Bytes;

/// Bytes one decode step of one sequence moves of one layer's cache at a length of context, one
/// copy, with keys and values in `kv`: the entries attended to ([`super::attended`]), all index
/// keys where the layer has an indexer of its own, every recurrent state twice. The one entry a
/// step adds is left out.
#[must_use]
pub fn cache_bytes_read(attention: &Attention, kv: Dtype, context: u64) -> Bytes {
    let top_k = indexer(attention).map_or(u64::MAX, |own| own.top_k);
    layer_cache(&as_if_it_kept(attention), kv, 1)
        .into_iter()
        .map(|part| part.entry_bytes() * entries_moved(part, attention, top_k, context))
        .sum()
}

fn entries_moved(part: CachePart, attention: &Attention, top_k: u64, context: u64) -> u64 {
    let kept = part.extent.entries(context);
    let compressed = matches!(attention, Attention::Compressed(_));
    match part.extent {
        // A compressor writes one token's slot; all of them once per entry, which is left out.
        Extent::Once if compressed => 0,
        Extent::Once => 2,
        // The window of compressed attention is read whole: what is chosen lies before it.
        Extent::Last(_) if compressed => kept,
        _ if part.name == INDEX_KEYS => kept,
        Extent::Token | Extent::Last(_) | Extent::Every(_) => kept.min(top_k),
    }
}

/// The layer with a cache of its own where it reads another's.
fn as_if_it_kept(attention: &Attention) -> Attention {
    let own = |gqa: &Gqa| Gqa {
        shares_kv: false,
        ..gqa.clone()
    };
    match attention {
        Attention::Gqa(gqa) => Attention::Gqa(own(gqa)),
        Attention::Parallel {
            attention,
            recurrent,
        } => Attention::Parallel {
            attention: own(attention),
            recurrent: recurrent.clone(),
        },
        other => other.clone(),
    }
}

const fn indexer(attention: &Attention) -> Option<Indexer> {
    match attention {
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => gqa.indexer,
        Attention::Mla(mla) => mla.indexer,
        Attention::Compressed(own) => own.indexer,
        Attention::Recurrent(_) | Attention::Matrix | Attention::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Compressed, DeltaNet, Mla, Recurrent, Span};
    use crate::model::{Ffn, LayerRun, attended, kv_bytes_per_token_rank};

    const INDEXER: Indexer = Indexer {
        heads: 64,
        dim: 128,
        top_k: 2048,
        shared: false,
        by_blocks: false,
    };

    fn mla(indexer: Option<Indexer>) -> Attention {
        Attention::Mla(Mla {
            heads: 128,
            q_rank: Some(1536),
            kv_rank: 512,
            nope_dim: 128,
            rope_dim: 64,
            v_dim: 128,
            indexer,
            ..Mla::default()
        })
    }

    fn gqa(change: impl FnOnce(&mut Gqa)) -> Attention {
        let mut gqa = Gqa {
            heads: 32,
            kv_heads: 8,
            head_dim: 128,
            ..Gqa::default()
        };
        change(&mut gqa);
        Attention::Gqa(gqa)
    }

    fn read(attention: &Attention, context: u64) -> u64 {
        cache_bytes_read(attention, Dtype::Fp8, context).get()
    }

    #[test]
    fn full_attention_reads_all_it_keeps() {
        for attention in [mla(None), gqa(|_| {})] {
            let layer = LayerRun::new(1, attention.clone(), Ffn::None);
            let token = kv_bytes_per_token_rank(&[layer], Dtype::Fp8, 1).get();
            assert_eq!(read(&attention, 10_000), 10_000 * token);
        }
    }

    /// DeepSeek-V3.2: 2048 latents of 576, and an index key of 128 per token.
    #[test]
    fn an_indexer_reads_every_key_and_few_entries() {
        let sparse = mla(Some(INDEXER));
        assert_eq!(read(&sparse, 1000), 1000 * (576 + 128));
        assert_eq!(read(&sparse, 100_000), 2048 * 576 + 100_000 * 128);
        let shared = mla(Some(Indexer {
            shared: true,
            ..INDEXER
        }));
        assert_eq!(read(&shared, 100_000), 2048 * 576);
    }

    #[test]
    fn a_window_is_the_most_that_is_read() {
        let window = gqa(|gqa| gqa.span = Span::Window(512));
        assert_eq!(read(&window, 100), 100 * 2048);
        assert_eq!(read(&window, 100_000), 512 * 2048);
    }

    #[test]
    fn another_layers_cache_is_read_all_the_same() {
        let borrowed = gqa(|gqa| gqa.shares_kv = true);
        assert_eq!(read(&borrowed, 1000), read(&gqa(|_| {}), 1000));
    }

    #[test]
    fn a_state_is_read_and_written_whatever_the_length() {
        let delta = Attention::Recurrent(Recurrent::DeltaNet(DeltaNet {
            key_heads: 16,
            value_heads: 32,
            key_dim: 128,
            value_dim: 128,
            kernel: 4,
            channel_decay: false,
            full_gate: false,
            state_dtype: Dtype::Fp32,
        }));
        let state = 32 * 128 * 128 * 4 + 3 * (2 * 16 + 32) * 128 * 2;
        assert_eq!(read(&delta, 1), 2 * state);
        assert_eq!(read(&delta, 1_000_000), 2 * state);
    }

    #[test]
    fn compressed_attention_reads_its_window_its_choice_and_the_index() {
        let csa = Attention::Compressed(Compressed {
            heads: 64,
            head_dim: 512,
            q_rank: 1024,
            out_groups: 8,
            out_rank: 1024,
            window: 128,
            ratio: 4,
            indexer: Some(Indexer {
                top_k: 512,
                ..INDEXER
            }),
        });
        assert_eq!(read(&csa, 65_536), (128 + 512) * 512 + 65_536 / 4 * 128);
        assert_eq!(attended(&csa, 65_536), 128 + 512);
    }
}
