//! What follows from a model's shape, with the working shown: every number of `derive` as rows
//! whose formulas are written in the model's own numbers and whose sum is that number.
//!
//! The rules are those of `derive`, where each formula's source stands; a test holds the two
//! together for every preset and every kind of layer.

mod cache;
mod expr;
mod mixer;
mod parameters;
mod rank;
mod text;
mod weights;
mod words;
mod work;

pub use text::grouped;
pub use words::{attention_kinds, attention_words, ffn_kinds, ffn_words};

use super::{Attention, LayerRun, Model, Precision, Shard, Span};
use expr::Expr;
use std::fmt;

/// Where the numbers are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExplainAt {
    /// Tokens of a sequence.
    pub context: u64,
    /// Tensor parallelism of attention and dense parts.
    pub tp: u64,
    /// Expert parallelism.
    pub ep: u64,
    /// Parts each routed expert is divided into.
    pub moe_tp: u64,
    /// Tokens of a KV block.
    pub block_size: u64,
}

impl ExplainAt {
    /// One rank holds everything; blocks of 16 tokens, vLLM's default.
    #[must_use]
    pub const fn whole(context: u64) -> Self {
        Self {
            context,
            tp: 1,
            ep: 1,
            moe_tp: 1,
            block_size: 16,
        }
    }

    /// The usual engine layout of these degrees ([`Shard::new`]).
    #[must_use]
    pub const fn ranks(self, tp: u64, ep: u64) -> Self {
        let shard = Shard::new(tp, tp, ep);
        Self {
            tp,
            ep: shard.ep,
            moe_tp: shard.moe_tp,
            ..self
        }
    }

    const fn shard(self) -> Shard {
        Shard {
            attention_tp: self.tp,
            ffn_tp: self.tp,
            moe_tp: self.moe_tp,
            ep: self.ep,
        }
    }
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Parameters.
    Parameters(u64),
    /// Bytes.
    Bytes(u64),
    /// Operations; a multiply-add counts as two.
    Flops(u64),
    /// Blocks of the KV cache.
    Blocks(u64),
    /// FLOPs per byte read.
    Intensity(f64),
}

impl Amount {
    /// The count; none: it is a ratio.
    #[must_use]
    pub const fn count(self) -> Option<u64> {
        match self {
            Self::Parameters(n) | Self::Bytes(n) | Self::Flops(n) | Self::Blocks(n) => Some(n),
            Self::Intensity(_) => None,
        }
    }

    /// Three digits: `671 B`, `1.25 TiB`.
    #[must_use]
    pub fn short(self) -> String {
        const THOUSANDS: [&str; 5] = ["", "K", "M", "B", "T"];
        const BYTES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        const FLOPS: [&str; 6] = ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"];
        match self {
            Self::Parameters(n) => text::scaled(n, 1000.0, &THOUSANDS),
            Self::Bytes(n) => text::scaled(n, 1024.0, &BYTES),
            Self::Flops(n) => text::scaled(n, 1000.0, &FLOPS),
            Self::Blocks(_) | Self::Intensity(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Parameters(n) => grouped(*n),
            Self::Bytes(n) => format!("{} B", grouped(*n)),
            Self::Flops(n) => format!("{} FLOP", grouped(*n)),
            Self::Blocks(1) => "1 block".to_owned(),
            Self::Blocks(n) => format!("{} blocks", grouped(*n)),
            Self::Intensity(x) => format!("{} FLOP/B", text::ratio(*x)),
        };
        f.pad(&text)
    }
}

/// One number and how it was worked out.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// How it was worked out, in the model's numbers; empty: it is the sum of the rows above.
    pub formula: String,
    /// What it comes to.
    pub value: Amount,
}

impl Row {
    fn new(what: impl Into<String>, formula: impl Into<String>, value: Amount) -> Self {
        Self {
            what: what.into(),
            formula: formula.into(),
            value,
        }
    }

    /// Of arithmetic that shows itself.
    fn of(what: impl Into<String>, expr: &Expr, unit: fn(u64) -> Amount) -> Self {
        Self::new(what, expr.to_string(), unit(expr.value()))
    }
}

/// Rows that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// What they are of.
    pub title: String,
    /// Parts; they sum to the total where there is one.
    pub rows: Vec<Row>,
    /// What they sum to.
    pub total: Option<Row>,
    /// Numbers beside them.
    pub beside: Vec<Row>,
    /// What a reader should know: copies, caps.
    pub notes: Vec<String>,
}

impl Section {
    /// Rows that sum to a total of that name; rows of nothing are left out.
    fn summed(title: impl Into<String>, rows: Vec<Row>, total: &str, value: Amount) -> Self {
        Self {
            title: title.into(),
            rows: rows
                .into_iter()
                .filter(|row| row.value.count() != Some(0))
                .collect(),
            total: Some(Row::new(total, "", value)),
            beside: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Rows that are each a number of their own.
    fn listed(title: impl Into<String>, rows: Vec<Row>) -> Self {
        Self {
            title: title.into(),
            rows,
            total: None,
            beside: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// As text: a line per row, its parts set apart by tabs, as spreadsheets take it.
    #[must_use]
    pub fn to_tabbed(&self) -> String {
        let mut out = format!("{}\n", self.title);
        for row in self.all_rows() {
            out.push_str(&format!("{}\t{}\t{}\n", row.what, row.formula, row.value));
        }
        for note in &self.notes {
            out.push_str(note);
            out.push('\n');
        }
        out
    }

    /// Parts, total, what is beside.
    pub fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(&self.total).chain(&self.beside)
    }
}

/// All of it.
#[must_use]
pub fn explain(model: &Model, precision: Precision, at: &ExplainAt) -> Vec<Section> {
    let mut sections = vec![
        parameters::section(model),
        weights::by_part(model, precision),
        weights::by_precision(model, precision),
    ];
    if at.tp > 1 || at.ep > 1 {
        sections.push(rank::weights(model, precision, at));
    }
    sections.push(cache::per_token(model, precision.kv));
    sections.push(cache::per_sequence(model, precision.kv, at));
    sections.extend(cache::state(model));
    sections.push(rank::cache(model, precision.kv, at));
    sections.push(work::flops(model, at));
    sections.push(work::bytes(model, precision, at));
    sections.extend(work::intensity(model, precision.kv));
    sections
}

/// The formats a model is served in where nobody says otherwise: its checkpoint's, else BF16.
#[must_use]
pub fn own_precision(model: &Model) -> Precision {
    model.quantization.map_or(Precision::BF16, |own| Precision {
        weights: own.weights,
        activations: own.activations,
        kv: Precision::BF16.kv,
    })
}

/// Layers with something in common, in order of their first, with how many there are.
fn grouped_by<'a, K: PartialEq>(
    model: &'a Model,
    key: impl Fn(&'a LayerRun) -> Option<K>,
) -> Vec<(K, u64)> {
    let mut groups: Vec<(K, u64)> = Vec::new();
    for run in &model.layers {
        let Some(own) = key(run) else { continue };
        let count = u64::from(run.count);
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, so_far)) => *so_far = so_far.saturating_add(count),
            None => groups.push((own, count)),
        }
    }
    groups
}

/// A layer's attention in words: its kind, and what it sees of the context.
fn label(attention: &Attention) -> String {
    let kind = attention.kind();
    match attention {
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => {
            let seen = match gqa.span {
                Span::Full => String::new(),
                Span::Window(tokens) => format!(", window of {}", grouped(tokens)),
                Span::Chunk(tokens) => format!(", chunks of {}", grouped(tokens)),
            };
            let beside = match attention {
                Attention::Parallel { recurrent, .. } => format!(" + {}", recurrent.kind()),
                _ => String::new(),
            };
            format!("{kind}{beside}{seen}")
        }
        _ => kind.to_owned(),
    }
}

/// `Σ layers × number` over layers of equal number.
fn over_layers(model: &Model, number: impl Fn(&LayerRun) -> u64) -> Expr {
    let groups = grouped_by(model, |run| Some(number(run)).filter(|n| *n > 0));
    Expr::Sum(
        groups
            .into_iter()
            .map(|(own, count)| expr::times([expr::layers(count), expr::n(own)]))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
