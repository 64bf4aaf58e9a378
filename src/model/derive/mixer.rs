//! Parameters of attention and recurrence.
//!
//! With `h` the hidden size, the matrices are:
//! - GQA: Q `h × heads·d`, O `heads·v × h`, K `h × kv·d`, V `h × kv·v`; MFA: Q `h × q_rank` and
//!   `q_rank × heads·d` (arXiv 2507.19427 §3); an output gate `h × heads·v`;
//! - MLA (DeepSeek-V2, arXiv 2405.04434 §2.1): Q `h × q_rank` and `q_rank × heads·(nope + rope)`
//!   (or `h × heads·(nope + rope)` without compression), KV down `h × (kv_rank + rope)`, KV up
//!   `kv_rank × heads·(nope + v)`, O `heads·v × h`;
//! - an indexer (DeepSeek-V3.2-Exp): queries `q_rank × heads·dim` (from `h` where there is no
//!   query rank), one key `h × dim`, head weights `h × heads`;
//! - compressed attention (DeepSeek-V4): Q as MLA's, one key-value `h × d`, O in two steps
//!   `heads·d × out_rank` and `out_groups·out_rank × h`; a compressor of key-values and of gates
//!   `h × c·d` each, `c` 2 where neighbours overlap;
//! - gated DeltaNet (Qwen3-Next): Q, K, V, Z `h × (2·key + 2·value)`, two gates `h × value_heads`
//!   each, O `value × h`; Kimi's: decay and gate through matrices of rank `key_dim`/`value_dim`;
//! - Mamba-2: in `h × (2·inner + 2·groups·state + heads)`, out `inner × h`; Mamba: in `h × 2·inner`,
//!   `inner × (dt_rank + 2·state)`, `dt_rank × inner`, out `inner × h`.

use super::{product, sum};
use crate::model::{
    Attention, Compressed, DeltaNet, Gate, Gqa, Indexer, Mamba1, Mamba2, Mla, Recurrent,
};

/// Parameters of a layer's mixer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MixerParameters {
    /// Matrices: quantised where a checkpoint is.
    pub(super) matrices: u64,
    /// Biases.
    pub(super) bias: u64,
    /// Convolutions, decays, sinks, gates per head, inner norms: never quantised.
    pub(super) small: u64,
}

impl MixerParameters {
    fn plus(self, other: Self) -> Self {
        Self {
            matrices: sum(&[self.matrices, other.matrices]),
            bias: sum(&[self.bias, other.bias]),
            small: sum(&[self.small, other.small]),
        }
    }
}

/// Counts them.
pub(super) fn parameters(attention: &Attention, hidden: u64) -> MixerParameters {
    match attention {
        Attention::Gqa(gqa) => gqa_parameters(gqa, hidden),
        Attention::Mla(mla) => mla_parameters(mla, hidden),
        Attention::Compressed(compressed) => compressed_parameters(compressed, hidden),
        Attention::Recurrent(recurrent) => recurrent_parameters(recurrent, hidden),
        Attention::Parallel {
            attention,
            recurrent,
        } => gqa_parameters(attention, hidden).plus(recurrent_parameters(recurrent, hidden)),
        Attention::Matrix => MixerParameters {
            matrices: product(&[hidden, hidden]),
            ..MixerParameters::default()
        },
        Attention::None => MixerParameters::default(),
    }
}

/// A gate's matrix: (large, small).
fn gate(gate: Gate, hidden: u64, heads: u64, width: u64) -> (u64, u64) {
    match gate {
        Gate::None => (0, 0),
        Gate::Full => (product(&[hidden, heads, width]), 0),
        Gate::Head => (0, product(&[hidden, heads])),
    }
}

fn indexer(indexer: Option<Indexer>, queries_from: u64, hidden: u64) -> MixerParameters {
    match indexer {
        Some(own) if !own.shared => MixerParameters {
            matrices: sum(&[
                product(&[queries_from, own.heads, own.dim]),
                product(&[hidden, own.dim]),
                if own.by_blocks {
                    0
                } else {
                    product(&[hidden, own.heads])
                },
            ]),
            bias: 0,
            // A LayerNorm on the key; of one that chooses blocks, RMS norms on query and key.
            small: product(&[2, own.dim]),
        },
        _ => MixerParameters::default(),
    }
}

fn gqa_parameters(gqa: &Gqa, hidden: u64) -> MixerParameters {
    let value = gqa.value_dim();
    let q = product(&[gqa.heads, gqa.head_dim]);
    let (k, v) = if gqa.shares_kv {
        (0, 0)
    } else {
        let v = if gqa.keys_are_values {
            0
        } else {
            product(&[gqa.kv_heads, value])
        };
        (product(&[gqa.kv_heads, gqa.head_dim]), v)
    };
    let out = product(&[gqa.heads, value, hidden]);
    let (query, query_norm) = match gqa.q_rank {
        Some(rank) => (product(&[rank, sum(&[hidden, q])]), rank),
        None => (product(&[hidden, q]), 0),
    };
    let (gate, head_gate) = gate(gqa.gate, hidden, gqa.heads, value);
    let norms = match (gqa.qk_norm, gqa.qk_norm_whole) {
        (false, _) => 0,
        (true, true) => sum(&[q, k]),
        // A layer that reads another's keys norms its queries alone.
        (true, false) if gqa.shares_kv => gqa.head_dim,
        (true, false) => product(&[2, gqa.head_dim]),
    };
    let sinks = if gqa.sinks { gqa.heads } else { 0 };
    let qkv_bias = if gqa.qkv_bias { sum(&[q, k, v]) } else { 0 };
    let out_bias = if gqa.out_bias { hidden } else { 0 };
    MixerParameters {
        matrices: sum(&[query, product(&[hidden, sum(&[k, v])]), out, gate]),
        bias: sum(&[qkv_bias, out_bias]),
        small: sum(&[query_norm, norms, sinks, head_gate]),
    }
    .plus(indexer(gqa.indexer, gqa.q_rank.unwrap_or(hidden), hidden))
}

fn mla_parameters(mla: &Mla, hidden: u64) -> MixerParameters {
    let queries = product(&[mla.heads, sum(&[mla.nope_dim, mla.rope_dim])]);
    let query = match mla.q_rank {
        Some(rank) => product(&[rank, sum(&[hidden, queries])]),
        None => product(&[hidden, queries]),
    };
    let down = product(&[hidden, sum(&[mla.kv_rank, mla.rope_dim])]);
    let up = product(&[mla.kv_rank, mla.heads, sum(&[mla.nope_dim, mla.v_dim])]);
    let out = product(&[mla.heads, mla.v_dim, hidden]);
    let (gate, head_gate) = gate(mla.gate, hidden, mla.heads, mla.v_dim);
    MixerParameters {
        matrices: sum(&[query, down, up, out, gate]),
        bias: 0,
        small: sum(&[mla.q_rank.unwrap_or(0), mla.kv_rank, head_gate]),
    }
    .plus(indexer(mla.indexer, mla.q_rank.unwrap_or(hidden), hidden))
}

/// A compressor of tokens to entries of width `dim`: key-values and gates, a position bias per
/// token of an entry, a norm.
fn compressor(ratio: u64, overlap: u64, dim: u64, hidden: u64) -> MixerParameters {
    if ratio == 0 {
        return MixerParameters::default();
    }
    MixerParameters {
        matrices: product(&[2, hidden, overlap, dim]),
        bias: 0,
        small: sum(&[product(&[ratio, overlap, dim]), dim]),
    }
}

fn compressed_parameters(own: &Compressed, hidden: u64) -> MixerParameters {
    let q = product(&[own.heads, own.head_dim]);
    let query = product(&[own.q_rank, sum(&[hidden, q])]);
    let kv = product(&[hidden, own.head_dim]);
    let out = sum(&[
        product(&[q, own.out_rank]),
        product(&[own.out_groups, own.out_rank, hidden]),
    ]);
    let base = MixerParameters {
        matrices: sum(&[query, kv, out]),
        bias: 0,
        small: sum(&[own.q_rank, own.head_dim, own.heads]),
    };
    let overlap = own.overlap();
    let index = own
        .indexer
        .filter(|index| !index.shared)
        .map(|index| {
            // Its keys come from a compressor of its own.
            let scores = MixerParameters {
                matrices: sum(&[
                    product(&[own.q_rank, index.heads, index.dim]),
                    product(&[hidden, index.heads]),
                ]),
                ..MixerParameters::default()
            };
            scores.plus(compressor(own.ratio, overlap, index.dim, hidden))
        })
        .unwrap_or_default();
    base.plus(compressor(own.ratio, overlap, own.head_dim, hidden))
        .plus(index)
}

fn recurrent_parameters(recurrent: &Recurrent, hidden: u64) -> MixerParameters {
    match recurrent {
        Recurrent::DeltaNet(delta) => delta_parameters(delta, hidden),
        Recurrent::Lightning {
            heads,
            head_dim,
            gated,
        } => {
            let width = product(&[*heads, *head_dim]);
            let matrices = if *gated { 5 } else { 4 };
            MixerParameters {
                matrices: product(&[matrices, hidden, width]),
                bias: 0,
                small: if *gated { width } else { 0 },
            }
        }
        Recurrent::Mamba2(mamba) => mamba2_parameters(mamba, hidden),
        Recurrent::Mamba1(mamba) => mamba1_parameters(mamba, hidden),
        Recurrent::ShortConv {
            width,
            kernel,
            bias,
        } => MixerParameters {
            matrices: product(&[4, hidden, *width]),
            bias: if *bias {
                sum(&[product(&[4, *width]), hidden])
            } else {
                0
            },
            small: product(&[*width, *kernel]),
        },
        Recurrent::RgLru {
            width,
            blocks,
            kernel,
        } => {
            let block = width / (*blocks).max(1);
            MixerParameters {
                matrices: sum(&[product(&[3, hidden, *width]), product(&[2, *width, block])]),
                bias: sum(&[product(&[5, *width]), hidden]),
                small: product(&[*width, sum(&[*kernel, 1])]),
            }
        }
        Recurrent::Other { parameters, .. } => MixerParameters {
            matrices: *parameters,
            ..MixerParameters::default()
        },
    }
}

fn delta_parameters(delta: &DeltaNet, hidden: u64) -> MixerParameters {
    let key = product(&[delta.key_heads, delta.key_dim]);
    let value = product(&[delta.value_heads, delta.value_dim]);
    let convolved = sum(&[key, key, value]);
    let convolution = product(&[convolved, delta.kernel]);
    if delta.channel_decay {
        // Decay `h × d`, `d × key`; gate `h × d`, `d × value`; one write strength per head.
        let decay = product(&[delta.key_dim, sum(&[hidden, key])]);
        let gate = if delta.full_gate {
            product(&[hidden, value])
        } else {
            product(&[delta.value_dim, sum(&[hidden, value])])
        };
        let strength = product(&[hidden, delta.value_heads]);
        return MixerParameters {
            matrices: sum(&[
                product(&[hidden, sum(&[convolved, value])]),
                decay,
                gate,
                strength,
            ]),
            bias: 0,
            small: sum(&[convolution, delta.value_heads, key, delta.value_dim]),
        };
    }
    let gates = product(&[2, hidden, delta.value_heads]);
    MixerParameters {
        matrices: sum(&[product(&[hidden, sum(&[convolved, value, value])]), gates]),
        bias: 0,
        small: sum(&[
            convolution,
            product(&[2, delta.value_heads]),
            delta.value_dim,
        ]),
    }
}

/// Channels Mamba-2's convolution works on: the inner ones, B and C.
pub(super) fn mamba2_channels(mamba: &Mamba2) -> u64 {
    sum(&[
        product(&[mamba.heads, mamba.head_dim]),
        product(&[2, mamba.groups, mamba.state]),
    ])
}

fn mamba2_parameters(mamba: &Mamba2, hidden: u64) -> MixerParameters {
    let inner = product(&[mamba.heads, mamba.head_dim]);
    let channels = mamba2_channels(mamba);
    let input = sum(&[inner, channels, mamba.heads]);
    let bias = if mamba.bias { sum(&[input, hidden]) } else { 0 };
    MixerParameters {
        matrices: product(&[hidden, sum(&[input, inner])]),
        bias,
        small: sum(&[
            product(&[channels, mamba.kernel]),
            if mamba.conv_bias { channels } else { 0 },
            product(&[3, mamba.heads]),
            if mamba.norm { inner } else { 0 },
        ]),
    }
}

fn mamba1_parameters(mamba: &Mamba1, hidden: u64) -> MixerParameters {
    let inner = mamba.inner;
    let steps = sum(&[mamba.dt_rank, product(&[2, mamba.state])]);
    let bias = if mamba.bias {
        sum(&[product(&[2, inner]), hidden])
    } else {
        0
    };
    MixerParameters {
        matrices: sum(&[
            product(&[3, hidden, inner]),
            product(&[inner, sum(&[steps, mamba.dt_rank])]),
        ]),
        bias: sum(&[bias, inner]),
        small: sum(&[
            product(&[inner, mamba.kernel]),
            if mamba.conv_bias { inner } else { 0 },
            product(&[inner, mamba.state]),
            inner,
            if mamba.inner_norms { steps } else { 0 },
        ]),
    }
}
