//! Context parallelism: ranks that split a prompt. Every rank keeps the whole cache (SGLang's
//! `enable_nsa_prefill_context_parallel` with `in-seq-split`), so memory gains nothing and neither do
//! decodes.

use crate::model::{Attention, Model};
use crate::plan::engine::EngineKind;
use crate::plan::finding::{Change, Finding, Place};
use crate::plan::pool::{Layout, Pool, Role};

/// Checks a pool's CP.
pub(in crate::plan) fn context(model: &Model, pool: &Pool, findings: &mut Vec<Finding>) {
    let cp = pool.layout.cp;
    if cp <= 1 {
        return;
    }
    let place = || Place::Pool(pool.id.clone());
    let without = Layout {
        cp: 1,
        ..pool.layout
    };
    let recurs = model.layers.iter().any(|run| {
        matches!(
            run.attention,
            Attention::Recurrent(_) | Attention::Parallel { .. }
        )
    });
    let finding = if recurs {
        Finding::error(
            place(),
            format!(
                "CP {cp}: {} has recurrent layers, whose state passes from token to token; no engine splits a prompt of it",
                model.name
            ),
        )
    } else if pool.role == Role::Decode {
        Finding::warning(
            place(),
            format!(
                "CP {cp} splits prompts only: each of the {cp} ranks computes all decodes and keeps the whole cache"
            ),
        )
    } else if pool.engine.kind == EngineKind::Vllm {
        Finding::warning(
            place(),
            format!(
                "CP {cp}: {} {} does not split prompts (its decode context parallelism splits caches); priced as SGLang does it",
                pool.engine.kind.name(),
                pool.engine.version
            ),
        )
    } else {
        return;
    };
    findings.push(finding.with_repair("Use CP 1", Change::Layout(pool.id.clone(), without)));
}
