//! What is kept for a sequence: per token, at a length, whatever the length.

use super::expr::{Expr, layers, n, of, plus, times};
use super::text::grouped;
use super::{Amount, ExplainAt, Row, Section, grouped_by};
use crate::catalog::Dtype;
use crate::model::derive::{
    CachePart, Extent, kv_bytes_per_sequence, kv_bytes_per_token, kv_bytes_per_token_growing,
    layer_cache, state_bytes_per_sequence,
};
use crate::model::{Attention, Gqa, Model, Recurrent};

/// A part of the cache, with the layers that keep it.
pub(super) struct Kept<'a> {
    pub(super) attention: &'a Attention,
    pub(super) part: CachePart,
    pub(super) layers: u64,
    pub(super) tp: u64,
}

/// Every part of a model's cache on each of `tp` ranks.
pub(super) fn parts(model: &Model, kv: Dtype, tp: u64) -> Vec<Kept<'_>> {
    grouped_by(model, |run| Some(&run.attention))
        .into_iter()
        .flat_map(|(attention, layers)| {
            layer_cache(attention, kv, tp)
                .into_iter()
                .map(move |part| Kept {
                    attention,
                    part,
                    layers,
                    tp,
                })
        })
        .collect()
}

impl Kept<'_> {
    /// `GQA · keys and values, last 1,024 tokens`.
    pub(super) fn what(&self) -> String {
        let extent = match self.part.extent {
            Extent::Last(cap) => format!(", last {} tokens", grouped(cap)),
            Extent::Every(ratio) => format!(", one per {} tokens", grouped(ratio)),
            Extent::Token | Extent::Once => String::new(),
        };
        format!("{} · {}{extent}", self.attention.kind(), self.part.name)
    }

    /// Values of an entry, as the layer's shape says them.
    fn values(&self) -> Expr {
        let said = match self.attention {
            Attention::Gqa(gqa) => self.of_gqa(gqa),
            Attention::Parallel {
                attention,
                recurrent,
            } => match self.part.extent {
                Extent::Once => self.of_state(recurrent),
                _ => self.of_gqa(attention),
            },
            Attention::Mla(mla) if self.part.extent == Extent::Token => {
                plus([n(mla.kv_rank), n(mla.rope_dim)])
            }
            Attention::Recurrent(recurrent) => self.of_state(recurrent),
            _ => n(self.part.values),
        };
        // An index key beside the latent, say: its width is all there is to it.
        if said.value() == self.part.values {
            said
        } else {
            n(self.part.values)
        }
    }

    fn of_gqa(&self, gqa: &Gqa) -> Expr {
        times([
            of(gqa.kv_heads.div_ceil(self.tp), "KV heads"),
            plus([n(gqa.head_dim), n(gqa.value_dim())]),
        ])
    }

    fn of_state(&self, recurrent: &Recurrent) -> Expr {
        let tp = self.tp;
        let convolution = self.part.name == "convolution state";
        match recurrent {
            Recurrent::DeltaNet(own) if convolution => {
                let key = times([n(2), n(own.key_heads.div_ceil(tp)), n(own.key_dim)]);
                let value = times([n(own.value_heads.div_ceil(tp)), n(own.value_dim)]);
                times([plus([key, value]), n(own.kernel.saturating_sub(1))])
            }
            Recurrent::DeltaNet(own) => times([
                of(own.value_heads.div_ceil(tp), "heads"),
                n(own.key_dim),
                n(own.value_dim),
            ]),
            Recurrent::Lightning {
                heads, head_dim, ..
            } => times([of(heads.div_ceil(tp), "heads"), n(*head_dim), n(*head_dim)]),
            Recurrent::Mamba2(own) if convolution => {
                let inner = times([n(own.heads.div_ceil(tp)), n(own.head_dim)]);
                let shared = times([n(2), n(own.groups.div_ceil(tp)), n(own.state)]);
                times([plus([inner, shared]), n(own.kernel.saturating_sub(1))])
            }
            Recurrent::Mamba2(own) => times([
                of(own.heads.div_ceil(tp), "heads"),
                n(own.head_dim),
                n(own.state),
            ]),
            Recurrent::Mamba1(own) if convolution => {
                times([n(own.inner.div_ceil(tp)), n(own.kernel.saturating_sub(1))])
            }
            Recurrent::Mamba1(own) => times([n(own.inner.div_ceil(tp)), n(own.state)]),
            Recurrent::ShortConv { width, kernel, .. } | Recurrent::RgLru { width, kernel, .. }
                if convolution =>
            {
                times([n(width.div_ceil(tp)), n(kernel.saturating_sub(1))])
            }
            _ => n(self.part.values),
        }
    }

    /// `layers × entries × values × bytes`.
    fn arithmetic(&self, entries: Option<Expr>) -> Row {
        let bits = self.part.dtype.bits();
        let unit = if bits.is_multiple_of(8) { bits / 8 } else { 1 };
        let mut factors = vec![layers(self.layers)];
        factors.extend(entries);
        factors.extend([self.values(), of(unit, "B")]);
        Row::of(self.what(), &Expr::Product(factors), Amount::Bytes)
    }

    /// At a length of context.
    pub(super) fn at(&self, tokens: u64) -> Row {
        let entries = self.part.extent.entries(tokens);
        let words = match self.part.extent {
            Extent::Token => of(entries, "tokens"),
            Extent::Last(cap) if tokens >= cap => of(entries, "tokens of the window"),
            Extent::Last(_) => of(entries, "tokens"),
            Extent::Every(_) => of(entries, "entries"),
            Extent::Once => return self.stated(self.arithmetic(None), 1),
        };
        self.stated(self.arithmetic(Some(words)), entries)
    }

    /// The row, or where a format has scales of its own the bytes it states.
    fn stated(&self, row: Row, entries: u64) -> Row {
        let entry = self.part.entry_bytes().get();
        let bytes = self.layers.saturating_mul(entries).saturating_mul(entry);
        if row.value == Amount::Bytes(bytes) {
            return row;
        }
        let expr = times([layers(self.layers), n(entries), of(entry, "B")]);
        Row::of(row.what, &expr, Amount::Bytes)
    }
}

/// Bytes per token while every window has room.
pub(super) fn per_token(model: &Model, kv: Dtype) -> Section {
    // As `derive` counts: shares of entries of several tokens are summed before they are rounded.
    const PARTS: u128 = 1 << 20;
    let (mut exact, mut said) = (0_u128, 0_u64);
    let mut rows = Vec::new();
    for kept in parts(model, kv, 1) {
        let whole = kept.stated(kept.arithmetic(None), 1);
        let every = match kept.part.extent {
            Extent::Once => continue,
            Extent::Every(ratio) => ratio.max(1),
            Extent::Token | Extent::Last(_) => 1,
        };
        let bytes = u128::from(whole.value.count().unwrap_or(0));
        exact += bytes * PARTS / u128::from(every);
        let upto = u64::try_from(exact.div_ceil(PARTS)).unwrap_or(u64::MAX);
        let formula = if every == 1 {
            whole.formula
        } else {
            format!("{} / {} tokens", whole.formula, grouped(every))
        };
        let value = Amount::Bytes(upto.saturating_sub(said));
        said = upto;
        rows.push(Row::new(whole.what, formula, value));
    }
    let total = kv_bytes_per_token(model, kv).get();
    let mut section = Section::summed(
        format!("KV cache per token, {}", kv.name()),
        rows,
        "A token",
        Amount::Bytes(total),
    );
    let growing = kv_bytes_per_token_growing(&model.layers, kv, 1).get();
    if growing != total {
        section.beside.push(Row::new(
            "A token once every window is full",
            "layers that see all of the context",
            Amount::Bytes(growing),
        ));
    }
    section.notes.extend(sharing(model));
    if total == 0 {
        section.notes.push(
            "Nothing grows with the context: every layer keeps a state of fixed size.".to_owned(),
        );
    }
    section
}

/// Layers that keep nothing of their own.
fn sharing(model: &Model) -> Option<String> {
    let count: u64 = model
        .layers
        .iter()
        .filter(|run| matches!(&run.attention, Attention::Gqa(gqa) if gqa.shares_kv))
        .map(|run| u64::from(run.count))
        .sum();
    (count > 0).then(|| {
        format!("{count} layers read the cache of an earlier layer and keep none of their own.")
    })
}

/// Bytes of a sequence at the given context.
pub(super) fn per_sequence(model: &Model, kv: Dtype, at: &ExplainAt) -> Section {
    let rows = parts(model, kv, 1)
        .iter()
        .map(|kept| kept.at(at.context))
        .collect();
    let total = kv_bytes_per_sequence(model, kv, at.context).get();
    let mut section = Section::summed(
        format!(
            "KV cache of a sequence of {} tokens, {}",
            grouped(at.context),
            kv.name()
        ),
        rows,
        "A sequence",
        Amount::Bytes(total),
    );
    let capped = parts(model, kv, 1)
        .iter()
        .any(|kept| matches!(kept.part.extent, Extent::Last(cap) if cap < at.context));
    if capped {
        section
            .notes
            .push("Layers that see a window keep no more than it.".to_owned());
    }
    section
}

/// What is kept whatever the length; none: nothing is.
pub(super) fn state(model: &Model) -> Option<Section> {
    let rows: Vec<Row> = parts(model, Dtype::Bf16, 1)
        .iter()
        .filter(|kept| kept.part.extent == Extent::Once)
        .map(|kept| kept.at(1))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let total = state_bytes_per_sequence(&model.layers, 1).get();
    Some(Section::summed(
        "Fixed state of a sequence",
        rows,
        "Whatever its length",
        Amount::Bytes(total),
    ))
}
