//! Speculative decoding: how many tokens, and whether what drafts can draft for the target.

use super::{Facts, keeps_all, not_run};
use crate::model::Model;
use crate::plan::engine::{Draft, Setting, Speculation};
use crate::plan::finding::{Change, Finding, Place};
use crate::plan::pool::{Layout, Pool};

/// Deepest drafts, most tokens verified at once, most layers of a drafter of the target's kind:
/// beyond, a number is a typing error.
const MOST_STEPS: u32 = 64;
const MOST_VERIFIED: u32 = 1024;
const MOST_LAYERS: u32 = 64;
/// Most depths with an acceptance of their own.
const MOST_DEPTHS: usize = 16;

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
    let off = || Change::Setting(pool.id.clone(), Setting::Draft, "off".to_owned());
    let mut refuse = |cause: String| {
        let finding = Finding::error(Place::Pool(pool.id.clone()), cause);
        findings.push(finding.with_repair("Draft nothing", off()));
    };
    for cause in numbers(pool, own) {
        refuse(cause);
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
                "the draft model “{id}” is not in the library: choose another, or import its config.json"
            )),
            Some(draft) => {
                if let Some(cause) = unfit(model, draft, pool, layout) {
                    refuse(cause);
                }
            }
        },
    }
}

/// What is wrong with the numbers.
fn numbers(pool: &Pool, own: &Speculation) -> Vec<String> {
    let word = |setting| pool.engine.word(setting);
    let (steps, verified) = (word(Setting::DraftSteps), word(Setting::Verified));
    let mut wrong = Vec::new();
    if !(1..=MOST_STEPS).contains(&own.steps) {
        wrong.push(format!(
            "{steps} is {}: it must be from 1 to {MOST_STEPS}",
            own.steps
        ));
    } else if !(own.steps..=MOST_VERIFIED).contains(&own.verified) {
        wrong.push(format!(
            "{verified} is {}: it must be from {} (one for each of {steps}) to {MOST_VERIFIED}",
            own.verified, own.steps
        ));
    }
    if !(1..=MOST_DEPTHS).contains(&own.acceptance.len()) {
        wrong.push(format!(
            "acceptance has {} depths: it must have from 1 to {MOST_DEPTHS}",
            own.acceptance.len()
        ));
    }
    let mut odds = own.acceptance.iter().enumerate();
    if let Some((depth, share)) = odds.find(|(_, share)| !(0.0..=1.0).contains(*share)) {
        wrong.push(format!(
            "acceptance at depth {} is {share}: it must be from 0 to 1",
            depth + 1
        ));
    }
    wrong
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ModelId;
    use crate::model::Models;
    use crate::plan::{Severity, Speculation};
    use crate::project::example;

    fn causes(target: &str, own: Speculation, tp: u32) -> Vec<String> {
        let models = Models::embedded().unwrap();
        let find = |id: &ModelId| models.get(id);
        let mut pool = example("pdd-vs-colocated").unwrap().designs[1].pools[0].clone();
        pool.layout = Layout {
            tp,
            ..Layout::SINGLE
        };
        let draft = match &own.draft {
            Draft::Model { model } => find(model),
            _ => None,
        };
        pool.engine.speculation = Some(own);
        let target = find(&ModelId::new(target).unwrap()).unwrap();
        let mut findings = Vec::new();
        drafts(target, &pool, draft, pool.layout, &mut findings);
        assert!(findings.iter().all(|f| f.severity == Severity::Error));
        findings.into_iter().map(|f| f.cause).collect()
    }

    fn model(id: &str) -> Speculation {
        Speculation::start(Draft::Model {
            model: ModelId::new(id).unwrap(),
        })
    }

    #[test]
    fn who_can_draft_for_whom() {
        assert!(causes("qwen3-8b", model("qwen3-0.6b"), 8).is_empty());
        let refused = |target, own, tp, part: &str| {
            let causes = causes(target, own, tp);
            assert!(causes.len() == 1 && causes[0].contains(part), "{causes:?}");
        };
        refused("llama-3.1-8b", model("qwen3-0.6b"), 1, "vocabularies");
        refused("qwen3-8b", model("no-such-model"), 1, "not in the library");
        // 16 query heads of the small one.
        refused("qwen3-32b", model("qwen3-0.6b"), 32, "don't divide");
        let ngram = Speculation::start(Draft::Ngram);
        assert!(causes("qwen3-8b", ngram.clone(), 1).is_empty());
        let of = |steps, verified| Speculation {
            steps,
            verified,
            ..ngram.clone()
        };
        refused("qwen3-8b", of(0, 0), 1, "is 0: it must be from 1");
        refused("qwen3-8b", of(4, 3), 1, "is 3: it must be from 4");
        refused("qwen3-8b", of(4, u32::MAX), 1, "it must be from 4");
        let layers = Speculation::start(Draft::Mtp { layers: 0 });
        refused("qwen3-8b", layers, 1, "0 layers");
    }
}
