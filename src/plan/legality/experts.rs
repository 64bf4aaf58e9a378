//! Experts: dealt out over EP, each divided by MoE-TP = TP · DP / EP.

use super::{Degree, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        degree: Degree::Ep,
        engines: &[],
        broken: |case| {
            let ep = case.layout.ep;
            (ep > 1 && !case.facts.is_moe())
                .then(|| format!("EP {ep} deals out experts, but the model is dense"))
        },
        source: "EP is of experts",
    },
    Rule {
        degree: Degree::Ep,
        engines: &[],
        broken: |case| {
            let layout = case.layout;
            let ranks = u64::from(layout.tp) * u64::from(layout.dp);
            (case.facts.is_moe() && !ranks.is_multiple_of(u64::from(layout.ep))).then(|| {
                format!(
                    "EP {} does not divide the {ranks} ranks of TP {} × DP {}",
                    layout.ep, layout.tp, layout.dp
                )
            })
        },
        source: "EP × MoE-TP = TP × DP",
    },
    Rule {
        degree: Degree::Ep,
        engines: &[],
        broken: |case| {
            let ep = u64::from(case.layout.ep);
            let redundant = u64::from(case.layout.redundant_experts);
            let experts = case
                .facts
                .experts
                .iter()
                .find(|experts| !experts.saturating_add(redundant).is_multiple_of(ep))?;
            let all = match redundant {
                0 => format!("{experts} experts"),
                n => format!("{experts} + {n} redundant experts"),
            };
            Some(if ep > experts.saturating_add(redundant) {
                format!("EP {ep} is more than {all}")
            } else {
                format!("EP {ep} does not divide {all}")
            })
        },
        source: "every rank holds equally many experts",
    },
    Rule {
        degree: Degree::Ep,
        engines: &[],
        broken: |case| {
            let moe_tp = u64::from(case.layout.moe_tp());
            let width = case
                .facts
                .expert_widths
                .iter()
                .find(|width| !width.is_multiple_of(moe_tp))?;
            Some(format!(
                "MoE-TP {moe_tp} does not divide the expert width {width}"
            ))
        },
        source: "experts are divided along their inner width",
    },
    Rule {
        degree: Degree::Ep,
        engines: &[],
        broken: |case| {
            let (moe_tp, block) = (u64::from(case.layout.moe_tp()), case.facts.block);
            let width = case
                .facts
                .blocked_experts
                .iter()
                .find(|width| moe_tp > 1 && !(**width / moe_tp).is_multiple_of(block))?;
            Some(format!(
                "MoE-TP {moe_tp} cuts the expert width {width} into {}, not a multiple of the quantisation block {block}",
                width / moe_tp
            ))
        },
        source: "block-scaled experts: no rank holds part of a block",
    },
    Rule {
        degree: Degree::Redundant,
        engines: &[],
        broken: |case| {
            let n = case.layout.redundant_experts;
            (n > 0 && !case.facts.is_moe())
                .then(|| format!("{n} redundant experts, but the model is dense"))
        },
        source: "EPLB copies experts",
    },
    Rule {
        degree: Degree::Redundant,
        engines: &[],
        broken: |case| {
            let n = case.layout.redundant_experts;
            (n > 0 && case.facts.is_moe() && case.layout.ep == 1)
                .then(|| format!("{n} redundant experts on ranks that hold every expert (EP 1)"))
        },
        source: "EPLB balances over EP ranks",
    },
];
