//! Inner widths of dense and shared MLPs, their quantisation blocks, and the vocabulary.

use super::{Degree, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        degree: Degree::Tp,
        engines: &[],
        broken: |case| {
            let tp = u64::from(case.layout.tp);
            let (width, what) = case
                .facts
                .widths
                .iter()
                .find(|(width, _)| !width.is_multiple_of(tp))?;
            Some(format!("TP {tp} does not divide the {what} {width}"))
        },
        source: "column- and row-parallel linears divide evenly",
    },
    Rule {
        degree: Degree::Tp,
        engines: &[],
        broken: |case| {
            let (tp, block) = (u64::from(case.layout.tp), case.facts.block);
            let (width, what) = case.facts.blocked_widths.iter().find(|(width, _)| {
                // Undivided, a last block may be short.
                tp > 1 && !(width / tp).is_multiple_of(block)
            })?;
            Some(format!(
                "TP {tp} cuts the {what} {width} into {}, not a multiple of the quantisation block {block}",
                width / tp
            ))
        },
        source: "block-scaled linears: no rank holds part of a block",
    },
    Rule {
        degree: Degree::Tp,
        engines: &[],
        broken: |case| {
            let tp = u64::from(case.layout.tp);
            let rows = case.facts.vocab.div_ceil(64).saturating_mul(64);
            (!rows.is_multiple_of(tp)).then(|| {
                format!(
                    "TP {tp} does not divide the vocabulary of {}, padded to {rows}",
                    case.facts.vocab
                )
            })
        },
        source: "VocabParallelEmbedding pads to 64 rows, then divides",
    },
];
