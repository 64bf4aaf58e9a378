//! Drafted tokens: how many, how likely they are accepted, and who drafts.

use crate::model::{Model, Models};
use crate::plan::engine::{Draft, Setting, Speculation};
use crate::plan::finding::{Change, Finding, Place};
use crate::plan::pool::Pool;

/// Most draft passes; engines take single digits.
const MAX_STEPS: u32 = 16;
/// Most tokens verified together; SGLang's largest trees have 64.
const MAX_VERIFIED: u32 = 256;
/// Most depths with an acceptance of their own.
const MAX_DEPTHS: usize = MAX_STEPS as usize;
/// Most decoder layers of a draft of the model's own.
const MAX_LAYERS: u32 = 16;

/// Checks a pool's drafts against the model they are verified by.
pub(in crate::plan) fn speculation(
    model: &Model,
    models: &Models,
    pool: &Pool,
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
            if !(1..=MAX_LAYERS).contains(layers) {
                refuse(format!(
                    "a draft of {layers} of the model's own layers: from 1 to {MAX_LAYERS} can be"
                ));
            }
        }
        Draft::Model { model: id } => match models.get(id) {
            None => refuse(format!(
                "there is no model “{id}” in the library to draft with: choose one or import its config.json"
            )),
            Some(draft) if draft.vocab != model.vocab => refuse(format!(
                "{} has {} tokens in its vocabulary, {} has {}: a draft is verified token by token, so they must be the same",
                draft.name, draft.vocab, model.name, model.vocab
            )),
            Some(_) => {}
        },
    }
}

/// What is wrong with its numbers.
fn numbers(pool: &Pool, own: &Speculation) -> Vec<String> {
    let word = |setting| pool.engine.word(setting);
    let (steps, verified) = (word(Setting::DraftSteps), word(Setting::Verified));
    let mut wrong = Vec::new();
    if !(1..=MAX_STEPS).contains(&own.steps) {
        wrong.push(format!(
            "{steps} is {}: it must be from 1 to {MAX_STEPS}",
            own.steps
        ));
    }
    if !(own.steps..=MAX_VERIFIED).contains(&own.verified) {
        wrong.push(format!(
            "{verified} is {}: it must be from {steps} ({}) to {MAX_VERIFIED}",
            own.verified, own.steps
        ));
    }
    if !(1..=MAX_DEPTHS).contains(&own.acceptance.len()) {
        wrong.push(format!(
            "acceptance has {} depths: it must have from 1 to {MAX_DEPTHS}",
            own.acceptance.len()
        ));
    }
    let odds = own.acceptance.iter().enumerate();
    if let Some((depth, share)) = odds
        .into_iter()
        .find(|(_, share)| !(0.0..=1.0).contains(*share))
    {
        wrong.push(format!(
            "acceptance at depth {} is {share}: it must be from 0 to 1",
            depth + 1
        ));
    }
    wrong
}
