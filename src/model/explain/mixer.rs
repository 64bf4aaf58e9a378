//! The matrices of attention and recurrence, by name; the rules and their sources are in
//! `derive::mixer`.

use super::expr::{Expr, ZERO, n, named, plus, product, times};
use crate::model::{Attention, Compressed, DeltaNet, Gate, Gqa, Indexer, Mla, Recurrent};

/// Matrices of one layer.
pub(super) fn matrices(attention: &Attention, hidden: u64) -> Expr {
    match attention {
        Attention::Gqa(gqa) => of_gqa(gqa, hidden),
        Attention::Mla(mla) => of_mla(mla, hidden),
        Attention::Compressed(own) => of_compressed(own, hidden),
        Attention::Recurrent(recurrent) => of_recurrent(recurrent, hidden),
        Attention::Parallel {
            attention,
            recurrent,
        } => plus([of_gqa(attention, hidden), of_recurrent(recurrent, hidden)]),
        Attention::Matrix => product([hidden, hidden]),
        Attention::None => ZERO,
    }
}

fn query(rank: Option<u64>, hidden: u64, width: Expr) -> Expr {
    match rank {
        None => named("Q", times([n(hidden), width])),
        Some(rank) => plus([
            named("Q down", product([hidden, rank])),
            named("Q up", times([n(rank), width])),
        ]),
    }
}

fn gate(gate: Gate, hidden: u64, heads: u64, width: u64) -> Expr {
    match gate {
        Gate::Full => named("gate", product([hidden, heads, width])),
        Gate::None | Gate::Head => ZERO,
    }
}

fn of_indexer(indexer: Option<Indexer>, from: u64, hidden: u64) -> Expr {
    indexer.filter(|own| !own.shared).map_or(ZERO, |own| {
        plus([
            named("index Q", product([from, own.heads, own.dim])),
            named("index K", product([hidden, own.dim])),
            if own.by_blocks {
                ZERO
            } else {
                named("index weights", product([hidden, own.heads]))
            },
        ])
    })
}

fn of_gqa(gqa: &Gqa, hidden: u64) -> Expr {
    let value = gqa.value_dim();
    let key = product([hidden, gqa.kv_heads, gqa.head_dim]);
    let values = product([hidden, gqa.kv_heads, value]);
    plus([
        query(gqa.q_rank, hidden, product([gqa.heads, gqa.head_dim])),
        if gqa.shares_kv { ZERO } else { named("K", key) },
        if gqa.shares_kv || gqa.keys_are_values {
            ZERO
        } else {
            named("V", values)
        },
        named("O", product([gqa.heads, value, hidden])),
        gate(gqa.gate, hidden, gqa.heads, value),
        of_indexer(gqa.indexer, gqa.q_rank.unwrap_or(hidden), hidden),
    ])
}

fn of_mla(mla: &Mla, hidden: u64) -> Expr {
    let width = times([n(mla.heads), plus([n(mla.nope_dim), n(mla.rope_dim)])]);
    plus([
        query(mla.q_rank, hidden, width),
        named(
            "KV down",
            times([n(hidden), plus([n(mla.kv_rank), n(mla.rope_dim)])]),
        ),
        named(
            "KV up",
            times([
                n(mla.kv_rank),
                n(mla.heads),
                plus([n(mla.nope_dim), n(mla.v_dim)]),
            ]),
        ),
        named("O", product([mla.heads, mla.v_dim, hidden])),
        gate(mla.gate, hidden, mla.heads, mla.v_dim),
        of_indexer(mla.indexer, mla.q_rank.unwrap_or(hidden), hidden),
    ])
}

fn of_compressed(own: &Compressed, hidden: u64) -> Expr {
    let compressor = |word, dim| {
        if own.ratio == 0 {
            ZERO
        } else {
            named(word, product([2, hidden, own.overlap(), dim]))
        }
    };
    let index = own
        .indexer
        .filter(|index| !index.shared)
        .map_or(ZERO, |index| {
            plus([
                named("index Q", product([own.q_rank, index.heads, index.dim])),
                named("index weights", product([hidden, index.heads])),
                compressor("index compressor", index.dim),
            ])
        });
    plus([
        query(Some(own.q_rank), hidden, product([own.heads, own.head_dim])),
        named("KV", product([hidden, own.head_dim])),
        named("O down", product([own.heads, own.head_dim, own.out_rank])),
        named("O up", product([own.out_groups, own.out_rank, hidden])),
        compressor("compressor", own.head_dim),
        index,
    ])
}

fn of_recurrent(recurrent: &Recurrent, hidden: u64) -> Expr {
    match recurrent {
        Recurrent::DeltaNet(delta) => of_delta(delta, hidden),
        Recurrent::Lightning {
            heads,
            head_dim,
            gated,
        } => {
            let all = if *gated { 5 } else { 4 };
            let words = if *gated {
                "Q, K, V, O, gate"
            } else {
                "Q, K, V, O"
            };
            named(words, product([all, hidden, *heads, *head_dim]))
        }
        Recurrent::Mamba2(mamba) => {
            let inner = product([mamba.heads, mamba.head_dim]);
            let input = plus([
                times([n(2), inner.clone()]),
                product([2, mamba.groups, mamba.state]),
                n(mamba.heads),
            ]);
            plus([
                named("in", times([n(hidden), input])),
                named("out", times([inner, n(hidden)])),
            ])
        }
        Recurrent::Mamba1(mamba) => plus([
            named("in", product([2, hidden, mamba.inner])),
            named(
                "B, C, step",
                times([
                    n(mamba.inner),
                    plus([n(mamba.dt_rank), product([2, mamba.state])]),
                ]),
            ),
            named("step", product([mamba.dt_rank, mamba.inner])),
            named("out", product([mamba.inner, hidden])),
        ]),
        Recurrent::ShortConv { width, .. } => plus([
            named("in", product([3, hidden, *width])),
            named("out", product([*width, hidden])),
        ]),
        Recurrent::RgLru { width, blocks, .. } => plus([
            named("in and out", product([3, hidden, *width])),
            named("gates", product([2, *width, width / (*blocks).max(1)])),
        ]),
        Recurrent::Other { parameters, .. } => n(*parameters),
    }
}

fn of_delta(delta: &DeltaNet, hidden: u64) -> Expr {
    let key = || product([delta.key_heads, delta.key_dim]);
    let value = || product([delta.value_heads, delta.value_dim]);
    let keys = || times([n(2), key()]);
    if delta.channel_decay {
        return plus([
            named(
                "Q, K, V, O",
                times([n(hidden), plus([keys(), times([n(2), value()])])]),
            ),
            named("decay", times([n(delta.key_dim), plus([n(hidden), key()])])),
            named(
                "gate",
                if delta.full_gate {
                    times([n(hidden), value()])
                } else {
                    times([n(delta.value_dim), plus([n(hidden), value()])])
                },
            ),
            named("strength", product([hidden, delta.value_heads])),
        ]);
    }
    plus([
        named(
            "Q, K, V, Z, O",
            times([n(hidden), plus([keys(), times([n(3), value()])])]),
        ),
        named("gates", product([2, hidden, delta.value_heads])),
    ])
}
