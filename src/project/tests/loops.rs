//! A project with what version 3 of the format added: how engines' loops run.

use super::sample::everything;
use super::{GOLDEN, golden_path, message, to_text};
use crate::catalog::ModelId;
use crate::plan::{
    Caching, Draft, ExpertExchange, GraphMode, Graphs, Host, QueueOrder, Scheduler, Scheduling,
    Speculation, Tier, TierKind,
};
use crate::project::{Project, load};
use crate::units::{ByteRate, Bytes, Seconds};

/// Every setting of an engine's loop, every one other than where it starts, in some pool.
pub(super) fn every_setting() -> Project {
    let mut project = everything();
    let drafts = [
        None,
        Some(Draft::Ngram),
        Some(Draft::Mtp { layers: 2 }),
        Some(Draft::Model {
            model: ModelId::new("llama-3.1-8b").unwrap(),
        }),
        Some(Draft::Ngram),
    ];
    // Five pools: every scheduler but vLLM's and static batching, then static batching.
    let schedulers = Scheduler::ALL.into_iter().skip(1);
    let pools = project.designs[0].pools.iter_mut();
    for (((i, pool), draft), scheduler) in pools.enumerate().zip(drafts).zip(schedulers) {
        let scheduler = if i == 4 { Scheduler::Static } else { scheduler };
        let number = u32::try_from(i).unwrap() + 1;
        pool.engine.scheduling = Scheduling {
            scheduler,
            order: QueueOrder::ALL[i % 3],
            long_prefill_token_threshold: 512 * number,
            max_num_partial_prefills: number,
            watermark: 0.01 * f64::from(number),
            mixed_chunk: i % 2 == 0,
            max_prefill_tokens: 16_384,
            conservativeness: 0.3,
            ..Scheduling::default()
        };
        pool.engine.host = Host {
            overlap: i % 2 == 1,
            per_sequence: Seconds::from_us(3.5),
            request: Seconds::from_ms(1.25),
            output: Seconds::from_us(40.0),
            launch: Seconds::from_us(4.0),
            ..Host::default()
        };
        pool.engine.graphs = Graphs {
            mode: GraphMode::ALL[i % 4],
            max_size: 128 * number,
            ..Graphs::default()
        };
        pool.engine.caching = Caching {
            prefix: i != 1,
            tiers: TierKind::ALL
                .into_iter()
                .take(i)
                .map(|kind| Tier {
                    kind,
                    capacity: Bytes::new(256 << 30),
                    read: ByteRate::from_gb_per_s(50.0),
                    write: ByteRate::from_gb_per_s(12.5),
                    latency: Seconds::from_us(10.0),
                })
                .collect(),
        };
        pool.engine.speculation = draft.map(|draft| Speculation {
            draft,
            steps: number,
            verified: 2 * number,
            acceptance: vec![1.0, 0.55, 0.0],
        });
    }
    project
}

#[test]
fn older_documents_have_bare_loops() {
    for (which, (name, _)) in GOLDEN.iter().enumerate() {
        let project = load(&golden_path(which)).unwrap();
        let pools = project.designs.iter().flat_map(|design| &design.pools);
        for engine in pools.map(|pool| &pool.engine) {
            let bare = engine.scheduling == Scheduling::default()
                && engine.host == Host::default()
                && engine.graphs == Graphs::default()
                && engine.caching == Caching::default()
                && engine.expert_exchange == ExpertExchange::AllGather
                && engine.speculation.is_none();
            assert_eq!(bare, *name != "every-setting", "{name}");
        }
    }
    assert_eq!(Scheduling::default().scheduler, Scheduler::VllmV1);
    assert!(!Host::default().overlap && !Caching::default().prefix);
    assert_eq!(Graphs::default().mode, GraphMode::None);
}

#[test]
fn numbers_that_are_none_are_refused_where_they_are_read() {
    let text = to_text(&every_setting());
    for (from, to, says) in [
        ("watermark: 0.01", "watermark: NaN", "finite"),
        ("conservativeness: 0.3", "conservativeness: inf", "finite"),
        ("0.55", "1.5", "1.5 is no share"),
        ("0.55", "NaN", "NaN is no share"),
        ("0.55", "-0.1", "-0.1 is no share"),
        ("\"10 us\"", "\"10 parsecs\"", "parsecs"),
        ("mixed_chunk: true", "mixed_chunk: 1", "bool"),
    ] {
        assert!(text.contains(from), "{from}");
        let said = message(&text.replacen(from, to, 1));
        assert!(said.contains(says), "{from} → {to}: {said}");
    }
}
