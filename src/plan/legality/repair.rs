//! Legal values near an illegal one, found by the rules themselves.

use super::{Case, Degree, Facts, MAX_DEGREE};
use crate::plan::engine::EngineKind;
use crate::plan::pool::Layout;

/// Redundant experts listed: so many rounds of EP.
const ROUNDS: u32 = 8;

/// Legal tensor-parallel degrees up to `most`, each alone on its ranks.
#[must_use]
pub(in crate::plan) fn legal_tps(facts: &Facts, most: u32) -> Vec<u32> {
    (1..=most.min(MAX_DEGREE))
        .filter(|tp| {
            let layout = Layout {
                tp: *tp,
                ..Layout::SINGLE
            };
            let case = Case {
                facts,
                layout,
                // Rules of one engine are about EP and DP.
                engine: Some(EngineKind::Vllm),
            };
            case.breaks(Degree::Tp).is_none()
        })
        .collect()
}

/// Values of a degree that keep its rules, on up to `gpus` GPUs.
pub(super) fn legal(case: &Case<'_>, degree: Degree, gpus: u32) -> Vec<u32> {
    let layout = case.layout;
    let ranks = layout.tp.saturating_mul(layout.dp);
    // GPUs of a replica for each unit of this degree.
    let others = (layout.gpus() / degree.of(layout).max(1)).max(1);
    let most = (gpus / others).clamp(1, MAX_DEGREE);
    let values: Vec<u32> = match degree {
        Degree::Ep => divisors(ranks),
        Degree::Redundant => redundant(case),
        Degree::Tp => (1..=most).collect(),
        // Those that leave no GPU over.
        Degree::Pp | Degree::Dp | Degree::Cp => divisors(most),
    };
    values
        .into_iter()
        .filter(|value| {
            let layout = degree.set(layout, *value);
            case.with(layout).breaks(degree).is_none()
                && (degree == Degree::Ep || followed(case, layout).is_some())
        })
        .collect()
}

fn divisors(of: u32) -> Vec<u32> {
    (1..=of.min(MAX_DEGREE))
        .filter(|value| of.is_multiple_of(*value))
        .collect()
}

/// Numbers of redundant experts that make all divide by EP.
fn redundant(case: &Case<'_>) -> Vec<u32> {
    let ep = case.layout.ep;
    if !case.facts.is_moe() || ep <= 1 {
        return vec![0];
    }
    let short = missing(case).unwrap_or(0);
    (0..ROUNDS)
        .map(|round| short.saturating_add(round.saturating_mul(ep)))
        .filter(|count| *count <= MAX_DEGREE)
        .collect()
}

/// Redundant experts that are missing for EP to divide all.
fn missing(case: &Case<'_>) -> Option<u32> {
    let ep = u64::from(case.layout.ep.max(1));
    let experts = case.facts.experts.first()?;
    u32::try_from((ep - experts % ep) % ep).ok()
}

/// The layout with an EP that keeps its rules if the one it has does not but did before; none: there
/// is no such EP.
pub(super) fn followed(case: &Case<'_>, layout: Layout) -> Option<Layout> {
    let fine = |layout| case.with(layout).breaks(Degree::Ep).is_none();
    let layout = tidy(layout);
    if fine(layout) || !fine(case.layout) {
        return Some(layout);
    }
    let ranks = layout.tp.saturating_mul(layout.dp).min(MAX_DEGREE);
    let all_before = case.layout.ep == case.layout.tp.saturating_mul(case.layout.dp);
    let with = |ep| tidy(Degree::Ep.set(layout, ep));
    if all_before && fine(with(ranks)) {
        return Some(with(ranks));
    }
    divisors(ranks)
        .into_iter()
        .rev()
        .map(with)
        .find(|layout| fine(*layout))
}

/// Ranks that hold every expert have no use for copies.
const fn tidy(mut layout: Layout) -> Layout {
    if layout.ep == 1 {
        layout.redundant_experts = 0;
    }
    layout
}

/// Repairs of a degree, best first: what the button says, and the layout.
pub(super) fn repairs(case: &Case<'_>, degree: Degree, legal: &[u32]) -> Vec<(String, Layout)> {
    let mut found = Vec::new();
    if degree == Degree::Ep
        && let Some(count) = missing(case).filter(|count| *count > 0)
        && case.layout.ep > 1
    {
        let layout = Degree::Redundant.set(case.layout, count);
        if case.with(layout).breaks(Degree::Ep).is_none() {
            found.push((format!("Add {count} redundant experts"), layout));
        }
    }
    let now = degree.of(case.layout);
    let below = legal.iter().rev().find(|value| **value < now);
    let above = legal.iter().find(|value| **value > now);
    if let Some(value) = below.or(above)
        && let Some(layout) = followed(case, degree.set(case.layout, *value))
    {
        let label = match degree {
            Degree::Redundant => format!("Use {value} redundant experts"),
            other => format!("Use {} {value}", other.name()),
        };
        found.push((label, layout));
    }
    if found.is_empty() && degree == Degree::Ep {
        // No EP suits these ranks; another TP may.
        let alone = Layout {
            pp: case.layout.pp,
            ..Layout::SINGLE
        };
        if Degree::ALL
            .into_iter()
            .all(|degree| case.with(alone).breaks(degree).is_none())
        {
            found.push(("Use TP 1".to_owned(), alone));
        }
    }
    found
}

/// `1, 2 and 4 do`, `1 does`.
pub(super) fn does(values: &[u32]) -> String {
    const SHOWN: usize = 12;
    let mut words: Vec<String> = values.iter().take(SHOWN).map(ToString::to_string).collect();
    if values.len() > SHOWN
        && let Some(last) = values.last()
    {
        words.push(format!("… {last}"));
    }
    match words.split_last() {
        None => "nothing does".to_owned(),
        Some((only, [])) => format!("{only} does"),
        Some((last, rest)) => format!("{} and {last} do", rest.join(", ")),
    }
}
