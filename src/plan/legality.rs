//! What a layout may be: rules as data. Each rule says which degree it blames, which engines have
//! it, how it is broken and on whose word; the rules of a group lie in a file of their own. Legal
//! values and repairs are searched by the same rules, so that they can't disagree with them.

mod attention;
mod context;
mod drafts;
mod engines;
mod experts;
mod facts;
mod ffn;
mod loops;
mod pipeline;
mod repair;
mod running;
mod settings;
#[cfg(test)]
mod tests;

pub(super) use context::context;
pub(super) use drafts::drafts;
pub(super) use facts::Facts;
pub(super) use loops::{effective, loops, reserved};
pub(super) use repair::legal_tps;
pub(super) use running::not_run;
pub(super) use settings::{engine, precision};

use super::engine::EngineKind;
use super::finding::{Change, Finding, Place, Repair};
use super::pool::{Layout, Pool, Role};
use crate::model::{Attention, Model};

/// Largest parallel degree accepted; beyond it a number is a typing error.
pub(super) const MAX_DEGREE: u32 = 4096;

/// A number of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Degree {
    /// Tensor parallelism.
    Tp,
    /// Pipeline parallelism.
    Pp,
    /// Attention data parallelism.
    Dp,
    /// Expert parallelism.
    Ep,
    /// Context parallelism.
    Cp,
    /// Copies of experts beside the model's own.
    Redundant,
}

impl Degree {
    /// All, in the order checked and shown.
    pub const ALL: [Self; 6] = [
        Self::Tp,
        Self::Pp,
        Self::Dp,
        Self::Ep,
        Self::Cp,
        Self::Redundant,
    ];

    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tp => "TP",
            Self::Pp => "PP",
            Self::Dp => "DP",
            Self::Ep => "EP",
            Self::Cp => "CP",
            Self::Redundant => "redundant experts",
        }
    }

    /// Its value in a layout.
    #[must_use]
    pub const fn of(self, layout: Layout) -> u32 {
        match self {
            Self::Tp => layout.tp,
            Self::Pp => layout.pp,
            Self::Dp => layout.dp,
            Self::Ep => layout.ep,
            Self::Cp => layout.cp,
            Self::Redundant => layout.redundant_experts,
        }
    }

    /// The layout with another value.
    #[must_use]
    pub const fn set(self, mut layout: Layout, value: u32) -> Layout {
        match self {
            Self::Tp => layout.tp = value,
            Self::Pp => layout.pp = value,
            Self::Dp => layout.dp = value,
            Self::Ep => layout.ep = value,
            Self::Cp => layout.cp = value,
            Self::Redundant => layout.redundant_experts = value,
        }
        layout
    }
}

/// What a rule looks at.
struct Case<'a> {
    facts: &'a Facts,
    layout: Layout,
    /// Whose rules hold beside those of all: none for the FFN half of a split, which no engine's
    /// rules of whole replicas are about.
    engine: Option<EngineKind>,
}

/// The engine whose rules a pool keeps.
fn ruling(pool: &Pool) -> Option<EngineKind> {
    (pool.role != Role::Ffn).then_some(pool.engine.kind)
}

/// Something a layout must keep.
struct Rule {
    /// The degree it blames.
    degree: Degree,
    /// Engines that have it; none: all, of any version.
    engines: &'static [EngineKind],
    /// How it is broken, the first half of a sentence; none: it is kept.
    broken: fn(&Case<'_>) -> Option<String>,
    /// On whose word.
    source: &'static str,
}

/// All rules; of those a degree breaks, the first is told.
const GROUPS: [&[Rule]; 5] = [
    attention::RULES,
    ffn::RULES,
    pipeline::RULES,
    experts::RULES,
    engines::RULES,
];

impl Case<'_> {
    /// The first rule a degree breaks, and how.
    fn breaks(&self, degree: Degree) -> Option<(String, &'static Rule)> {
        GROUPS
            .iter()
            .flat_map(|group| group.iter())
            .filter(|rule| rule.degree == degree)
            .filter(|rule| {
                let own = |kind| rule.engines.contains(&kind);
                rule.engines.is_empty() || self.engine.is_some_and(own)
            })
            .find_map(|rule| Some(((rule.broken)(self)?, rule)))
    }

    /// The same with another layout.
    const fn with(&self, layout: Layout) -> Case<'_> {
        Case {
            facts: self.facts,
            layout,
            engine: self.engine,
        }
    }
}

/// Values a degree of a pool's layout can have on up to `gpus` GPUs, the others staying as they
/// are (EP follows TP and DP where it must).
#[must_use]
pub fn legal_values(model: &Model, pool: &Pool, degree: Degree, gpus: u32) -> Vec<u32> {
    let facts = Facts::of(model, pool.precision.weights);
    let case = Case {
        facts: &facts,
        layout: pool.layout,
        engine: ruling(pool),
    };
    repair::legal(&case, degree, gpus)
}

/// A pool's layout with one degree changed; EP follows where it must.
#[must_use]
pub fn layout_with(model: &Model, pool: &Pool, degree: Degree, value: u32) -> Layout {
    let facts = Facts::of(model, pool.precision.weights);
    let case = Case {
        facts: &facts,
        layout: pool.layout,
        engine: ruling(pool),
    };
    let layout = degree.set(pool.layout, value);
    repair::followed(&case, layout).unwrap_or(layout)
}

/// Whether a layout keeps every rule.
pub(super) fn keeps_all(facts: &Facts, engine: EngineKind, layout: Layout) -> bool {
    let case = Case {
        facts,
        layout,
        engine: Some(engine),
    };
    Degree::ALL
        .into_iter()
        .all(|degree| case.breaks(degree).is_none())
}

/// Checks a pool's layout against the model. `gpus` is how many GPUs the pool has.
pub(super) fn layout(model: &Model, pool: &Pool, gpus: u32, findings: &mut Vec<Finding>) {
    let place = || Place::Pool(pool.id.clone());
    let change = |layout| Change::Layout(pool.id.clone(), layout);
    for degree in Degree::ALL {
        let value = degree.of(pool.layout);
        let least = u32::from(degree != Degree::Redundant);
        if !(least..=MAX_DEGREE).contains(&value) {
            findings.push(
                Finding::error(
                    place(),
                    format!(
                        "{} is {value}: it must be from {least} to {MAX_DEGREE}",
                        degree.name()
                    ),
                )
                .with_repair("Use one GPU", change(Layout::SINGLE)),
            );
            return;
        }
    }
    let facts = Facts::of(model, pool.precision.weights);
    let case = Case {
        facts: &facts,
        layout: pool.layout,
        engine: ruling(pool),
    };
    for degree in Degree::ALL {
        let Some((cause, rule)) = case.breaks(degree) else {
            continue;
        };
        // What all engines do needs no source in the sentence; what one does, does.
        let source = if rule.engines.is_empty() {
            String::new()
        } else {
            format!(" ({})", rule.source)
        };
        let legal = repair::legal(&case, degree, gpus.max(8));
        let mut finding = Finding::error(
            place(),
            format!("{cause}: {}{source}", repair::does(&legal)),
        );
        let mut repairs =
            repair::repairs(&case, degree, &legal)
                .into_iter()
                .map(|(label, layout)| Repair {
                    label,
                    change: change(layout),
                });
        finding.repair = repairs.next();
        finding.further = repairs.collect();
        findings.push(finding);
    }
    hints(model, pool.layout, &place, findings);
}

/// What is legal but costs memory.
fn hints(model: &Model, layout: Layout, place: &dyn Fn() -> Place, findings: &mut Vec<Finding>) {
    let tp = u64::from(layout.tp);
    for run in &model.layers {
        if let Attention::Gqa(gqa) = &run.attention
            && tp > gqa.kv_heads
            && tp.is_multiple_of(gqa.kv_heads.max(1))
        {
            findings.push(Finding::hint(
                place(),
                format!(
                    "TP {tp} over {} KV heads: each KV head is stored {} times",
                    gqa.kv_heads,
                    tp / gqa.kv_heads.max(1)
                ),
            ));
            return;
        }
        if matches!(run.attention, Attention::Mla(_)) && tp > 1 {
            findings.push(Finding::hint(
                place(),
                format!(
                    "MLA keeps one latent for all heads: with TP {tp} each rank stores all of it; DP-attention would not"
                ),
            ));
            return;
        }
    }
}
