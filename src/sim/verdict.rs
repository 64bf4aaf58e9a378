//! What limits a run: a few sentences with numbers, the weightiest first.
//!
//! Each thing that can hold a run up has a *weight*, the share of a pool's device time (or of its
//! requests' time, or of a link's rate) that it takes: operator classes by what they are bound by,
//! waiting and why, memory, links, idle and empty stages, lanes and replicas that wait for the
//! fullest. Weights of classes are of all device time, idle time too, so that of a run under a light
//! load “idle” is what is said first.
//!
//! Whether matrix products read weights or compute follows from how many tokens share a weight: a
//! GPU of peak `F` and bandwidth `B` computes as long as it reads at `F · b / 2 B` tokens, `b` the
//! bytes of a weight (Williams et al., *Roofline*, 2009).

use super::breakdown::{PhaseTime, PoolTime};
use super::split::SplitTime;
use crate::cost::Class;
use crate::model::Model;
use crate::plan::{Plan, PlannedPool};
use serde::Serialize;

/// One thing that limits a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Which kind, a word for programs.
    pub kind: &'static str,
    /// How much it weighs, 0 to 1.
    pub weight: f64,
    /// A sentence.
    pub text: String,
}

/// Said of at most so many.
const MOST: usize = 6;
/// Below this weight nothing is said.
const LEAST: f64 = 0.08;
/// Share of device time from which a pool counts as busy.
const BUSY: f64 = 0.8;
/// Share of memory from which it counts as full.
const FULL: f64 = 0.95;

/// What of a run beside its pools' time is judged.
pub(super) struct Facts<'a> {
    pub(super) plan: &'a Plan,
    pub(super) pools: &'a [PoolTime],
    pub(super) splits: &'a [SplitTime],
    /// Largest share of KV memory in use, by pool of the plan.
    pub(super) kv_peak: &'a [(String, f64)],
    pub(super) busiest_link: Option<&'a (String, f64)>,
    pub(super) requests: u64,
}

/// The verdict.
pub(super) fn verdict(facts: &Facts<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    for own in facts.pools {
        let pool = &facts.plan.pools[own.index];
        let who = if facts.pools.len() > 1 {
            format!("{}: ", own.pool)
        } else {
            String::new()
        };
        let peak = facts.kv_peak.get(own.index).map_or(0.0, |(_, peak)| *peak);
        let mut said = classes(own, pool, &facts.plan.model);
        said.extend(queue(own, pool, peak));
        said.extend(preemptions(own, facts.requests, peak));
        said.extend(unused(own, facts.pools));
        said.extend(uneven(own));
        limits.extend(said.into_iter().map(|(kind, weight, text)| Limit {
            kind,
            weight: weight.clamp(0.0, 1.0),
            text: format!("{who}{text}"),
        }));
    }
    limits.extend(facts.splits.iter().map(pace));
    if let Some((link, share)) = facts.busiest_link {
        limits.push(Limit {
            kind: "link",
            weight: share.clamp(0.0, 1.0),
            text: format!(
                "the busiest link, {link}, moves {} of its rate",
                percent(*share)
            ),
        });
    }
    limits.retain(|limit| limit.weight >= LEAST);
    limits.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    limits.truncate(MOST);
    limits
}

type Said = (&'static str, f64, String);

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Operator classes by their share of device time, and what binds them.
fn classes(own: &PoolTime, pool: &PlannedPool, model: &Model) -> Vec<Said> {
    let mut said = Vec::new();
    for phase in &own.phases {
        for (name, seconds) in &phase.by_class {
            let share = seconds / own.seconds.max(f64::MIN_POSITIVE);
            let Some(class) = Class::ALL.into_iter().find(|c| c.name() == *name) else {
                continue;
            };
            let (kind, words) = class_words(class, phase, own, pool, model);
            let text = format!("{words}: {} of device time", percent(share));
            said.push((kind, share * own.busy, text));
        }
    }
    said
}

fn class_words(
    class: Class,
    phase: &PhaseTime,
    own: &PoolTime,
    pool: &PlannedPool,
    model: &Model,
) -> (&'static str, String) {
    let decode = phase.carries == super::ledger::Phase::Decode.name();
    let steps = if decode {
        "decode steps"
    } else {
        "steps with prompts"
    };
    #[expect(clippy::cast_precision_loss, reason = "a handful of lanes")]
    let lane = phase.tokens_per_step / own.lanes.max(1) as f64;
    match class {
        Class::Attention if decode => ("kv-bandwidth", "decode attention reads KV".to_owned()),
        Class::Attention => ("attention", format!("attention in {steps}")),
        Class::Linear => products("dense layers", lane, steps, pool),
        Class::Experts => {
            let moe = model.moe();
            #[expect(clippy::cast_precision_loss, reason = "a few hundred experts")]
            let share = moe.map_or(1.0, |moe| moe.top_k as f64 / moe.experts.max(1) as f64);
            products("experts", phase.tokens_per_step * share, steps, pool)
        }
        Class::Elementwise => (
            "elementwise",
            format!("norms, activations and cache writes in {steps}"),
        ),
        Class::Head => (
            "head",
            format!("embedding, LM head and sampling in {steps}"),
        ),
        Class::Communication => (
            "communication",
            format!("collectives between GPUs in {steps}"),
        ),
        Class::Host => ("host", format!("the host between {steps}")),
    }
}

/// Matrix products with so many tokens a weight.
fn products(what: &str, tokens: f64, steps: &str, pool: &PlannedPool) -> (&'static str, String) {
    let ridge = ridge(pool);
    if tokens < ridge {
        let digits = usize::from(tokens < 10.0);
        let words = format!(
            "{what} read weights in {steps}, {tokens:.digits$} tokens each (bound by compute from {ridge:.0} on)"
        );
        ("weight-bandwidth", words)
    } else {
        ("compute", format!("{what} compute in {steps}"))
    }
}

/// Tokens a weight from which a product computes longer than it reads.
fn ridge(pool: &PlannedPool) -> f64 {
    let weights = f64::from(u32::try_from(pool.precision.weights.bits()).unwrap_or(16)) / 8.0;
    let peak = pool.gpu.peaks.of(pool.precision.gemm()).get();
    peak * weights / (2.0 * pool.gpu.bandwidth.get())
}

/// Requests wait, and for what.
fn queue(own: &PoolTime, pool: &PlannedPool, kv_peak: f64) -> Option<Said> {
    let share = own.waiting / (own.waiting + own.running).max(f64::MIN_POSITIVE);
    if own.waiting < 0.5 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful of lanes")]
    let places = f64::from(pool.engine.max_num_seqs) * (own.lanes * own.replicas) as f64;
    let why = if own.running >= 0.9 * places {
        format!("max_num_seqs ({}) is reached", pool.engine.max_num_seqs)
    } else if kv_peak >= FULL && own.kv >= 0.8 {
        format!("KV memory is {} full on average", percent(own.kv))
    } else {
        "steps are busy with others' prompts".to_owned()
    };
    let text = format!(
        "requests wait {} of their time: {:.1} wait, {:.1} run on average; {why}",
        percent(share),
        own.waiting,
        own.running
    );
    Some(("queue", share, text))
}

/// Memory ran out.
fn preemptions(own: &PoolTime, requests: u64, kv_peak: f64) -> Option<Said> {
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let each = own.preemptions as f64 / requests.max(1) as f64;
    let text = format!(
        "KV memory runs out (peak {}, mean {}): {} preemptions, {each:.2} a request, are computed again",
        percent(kv_peak),
        percent(own.kv),
        own.preemptions
    );
    (own.preemptions > 0).then_some(("kv-capacity", each.max(LEAST), text))
}

/// Time in which nothing is computed. Beside a pool that is busy it is a waste, but no limit.
fn unused(own: &PoolTime, pools: &[PoolTime]) -> Vec<Said> {
    let idle = 1.0 - own.busy - own.bubble;
    let text = format!("GPUs have nothing to do {} of the run", percent(idle));
    let busiest = pools
        .iter()
        .filter(|pool| pool.index != own.index)
        .max_by(|a, b| a.busy.total_cmp(&b.busy))
        .filter(|pool| pool.busy >= BUSY && own.busy < pool.busy);
    let mut said = vec![match busiest {
        Some(other) => (
            "split",
            0.5 * idle,
            format!("{text}, while {} works {}", other.pool, percent(other.busy)),
        ),
        None => ("idle", idle, text),
    }];
    if own.stages > 1 {
        let text = format!(
            "pipeline stages stand empty {} of the run with steps under way ({} stages; the slowest works {:.2} × the mean)",
            percent(own.bubble),
            own.stages,
            own.slowest_stage
        );
        said.push(("bubble", own.bubble, text));
    }
    said
}

/// Which half of a split the other waits for.
fn pace(own: &SplitTime) -> Limit {
    let (attention, ffn) = (percent(own.attention_bubble), percent(own.ffn_bubble));
    let (who, weight) = match own.bound {
        "attention" => ("attention sets the pace", own.ffn_bubble),
        "ffn" => ("the FFN sets the pace", own.attention_bubble),
        _ => (
            "the links between attention and FFN set the pace",
            own.attention_bubble.min(own.ffn_bubble),
        ),
    };
    Limit {
        kind: "afd",
        weight: weight.clamp(0.0, 1.0),
        text: format!(
            "{who}: in a step attention GPUs of {} wait {attention} of the time, FFN GPUs of {} {ffn}",
            own.attention_pools.join(", "),
            own.ffn_pool
        ),
    }
}

/// Some wait for others.
fn uneven(own: &PoolTime) -> Vec<Said> {
    let lost = |ratio: f64| (1.0 - 1.0 / ratio.max(1.0)) * own.busy;
    let mut said = Vec::new();
    if own.lanes > 1 {
        let text = format!(
            "lanes that step together wait for the fullest, which has {:.2} × the mean's tokens",
            own.fullest_lane
        );
        said.push(("lanes", lost(own.fullest_lane), text));
    }
    if own.replicas > 1 {
        let text = format!(
            "the busiest replica works {:.2} × as long as the mean",
            own.busiest_replica
        );
        said.push(("replicas", lost(own.busiest_replica), text));
    }
    said
}
