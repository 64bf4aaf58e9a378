//! Speculative decoding: how many tokens, and whether what drafts can draft for the target.

use super::{Facts, keeps_all, not_run};
use crate::model::Model;
use crate::plan::engine::Draft;
use crate::plan::finding::{Finding, Place};
use crate::plan::pool::{Layout, Pool};

/// Deepest drafts, most tokens verified at once, most layers of a drafter of the target's kind:
/// beyond, a number is a typing error.
const MOST_STEPS: u32 = 64;
const MOST_VERIFIED: u32 = 1024;
const MOST_LAYERS: u32 = 64;

/// Checks a pool's drafts; `draft` is the model that drafts, where it is in the library.
pub(in crate::plan) fn drafts(
    model: &Model,
    pool: &Pool,
    draft: Option<&Model>,
    layout: Layout,
    findings: &mut Vec<Finding>,
) {
    let Some(own) = &pool.engine.speculation else {
        return;
    };
    let mut refuse = |cause: String| {
        findings.push(Finding::error(Place::Pool(pool.id.clone()), cause));
    };
    if !(1..=MOST_STEPS).contains(&own.steps) {
        refuse(format!(
            "{} draft steps: there must be from 1 to {MOST_STEPS}",
            own.steps
        ));
    } else if !(own.steps..=MOST_VERIFIED).contains(&own.verified) {
        refuse(format!(
            "{} drafted tokens are verified: from {} (one for each step) to {MOST_VERIFIED} can be",
            own.verified, own.steps
        ));
    }
    match &own.draft {
        Draft::Ngram => {}
        Draft::Mtp { layers } => {
            if !(1..=MOST_LAYERS).contains(layers) {
                refuse(format!(
                    "{layers} layers predict further tokens: there must be from 1 to {MOST_LAYERS}"
                ));
            }
        }
        Draft::Model { model: id } => match draft {
            None => refuse(format!(
                "the draft model “{id}” is not in the library: choose another"
            )),
            Some(draft) => {
                if let Some(cause) = unfit(model, draft, pool, layout) {
                    refuse(cause);
                }
            }
        },
    }
}

/// Why a model can't draft for another.
fn unfit(model: &Model, draft: &Model, pool: &Pool, layout: Layout) -> Option<String> {
    // Tables are padded differently (Qwen2.5: 151,936 and 152,064 rows for one vocabulary).
    let apart = model.vocab.abs_diff(draft.vocab);
    if apart > model.vocab / 100 {
        return Some(format!(
            "{} can't draft for {}: their vocabularies have {} and {} tokens",
            draft.name, model.name, draft.vocab, model.vocab
        ));
    }
    if let Some(cause) = not_run(draft) {
        return Some(cause);
    }
    let facts = Facts::of(draft, pool.precision.weights);
    // It runs on the ranks of the target's last stage; a dense one leaves experts' degrees alone.
    let own = Layout {
        pp: 1,
        ..if draft.moe().is_some() {
            layout
        } else {
            Layout {
                dp: 1,
                ep: 1,
                redundant_experts: 0,
                ..layout
            }
        }
    };
    (!keeps_all(&facts, pool.engine.kind, own)).then(|| {
        format!(
            "{} can't draft at TP {}: its heads or widths don't divide",
            draft.name, layout.tp
        )
    })
}
