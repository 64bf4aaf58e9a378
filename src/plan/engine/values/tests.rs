use super::*;
use crate::catalog::{Catalog, GpuId};
use crate::plan::Layout;
use proptest::prelude::*;
use std::sync::LazyLock;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());

fn engine(kind: EngineKind) -> Engine {
    let gpu = CATALOG.gpu(&GpuId::new("h100-sxm").unwrap()).unwrap();
    Engine::defaults(kind, gpu, Layout::SINGLE)
}

/// A value each setting can have and does not start with.
fn other(setting: Setting) -> &'static str {
    match setting {
        Setting::TokenBudget | Setting::MaxSequences | Setting::BlockSize => "64",
        Setting::MemoryFraction | Setting::Watermark | Setting::Conservativeness => "0.25",
        Setting::Blocks => "2588",
        Setting::FirstToken => "end of prefill",
        Setting::KvTransfer => "push by layer",
        Setting::ExpertExchange => "deepep_low_latency",
        Setting::Scheduler => "Orca",
        Setting::Order => "priority",
        Setting::LongPrefill
        | Setting::MaxPrefillTokens
        | Setting::GraphSize
        | Setting::BatchWait
        | Setting::StreamInterval
        | Setting::ReceiveInterval => "100",
        Setting::BatchWaitRatio | Setting::Sustained => "0.125",
        Setting::MoeBackend | Setting::AttentionBackend => "triton",
        Setting::PartialPrefills | Setting::DraftSteps | Setting::Verified => "4",
        Setting::StageLayers => "20,12",
        Setting::Tiers => "host,256 GiB,50 GB/s,40 GB/s,10 us;ssd,1 TiB,6 GB/s,3 GB/s,0.1 ms",
        Setting::GraphMode => "piecewise",
        Setting::Draft => "mtp 2",
        Setting::Acceptance => "0.9,0.5,0",
        Setting::StepTime
        | Setting::SequenceTime
        | Setting::RequestTime
        | Setting::OutputTime
        | Setting::LaunchTime
        | Setting::NetworkTime
        | Setting::LaunchGap => "5 us",
        Setting::ChunkedPrefill
        | Setting::GraphPadding
        | Setting::MixedChunk
        | Setting::PrefixCaching
        | Setting::Overlap => "",
    }
}

#[test]
fn every_setting_can_be_set_by_its_word_and_is_read_back() {
    for kind in EngineKind::ALL {
        for setting in Setting::all() {
            let mut own = engine(kind);
            let drafts = Setting::of(crate::plan::Part::Speculation).any(|s| s == setting);
            if drafts && setting != Setting::Draft {
                own.set("speculative_config", "ngram").unwrap();
            }
            let before = own.clone();
            let text = match other(setting) {
                "" if own.value(setting) == "true" => "false",
                "" => "true",
                text => text,
            };
            own.set(kind.word(setting), text).unwrap();
            assert_ne!(own, before, "{kind:?} {setting:?}");
            // What is read sets the same.
            let read = own.value(setting);
            let mut again = before.clone();
            again.set(kind.word(setting), &read).unwrap();
            assert_eq!(again, own, "{kind:?} {setting:?} {read}");
            let found = own.differences(&before);
            assert!(
                found.iter().any(|d| d.setting == setting),
                "{kind:?} {setting:?}"
            );
        }
    }
}

#[test]
fn a_name_that_says_the_opposite_is_read_so() {
    let mut own = engine(EngineKind::Sglang);
    assert_eq!(own.value(Setting::PrefixCaching), "false");
    own.set("disable_radix_cache", "true").unwrap();
    assert!(!own.caching.prefix);
    own.set("enable-prefix-caching", "on").unwrap();
    assert!(own.caching.prefix);
    own.set("disable_overlap_schedule", "1").unwrap();
    assert!(!own.host.overlap);
    own.set("cudagraph_mode", "FULL_DECODE_ONLY").unwrap();
    assert_eq!(own.graphs.mode, GraphMode::FullDecode);
}

#[test]
fn defaults_differ_in_nothing_and_an_older_document_in_its_loop() {
    let own = engine(EngineKind::Vllm);
    assert!(own.differences(&own.clone()).is_empty());
    let words: Vec<&str> = Engine::vllm(true)
        .differences(&own)
        .iter()
        .map(|d| d.word)
        .collect();
    assert_eq!(
        words,
        [
            "enable_prefix_caching",
            "cudagraph_mode",
            "max_cudagraph_capture_size",
            "per sequence",
            "per request",
            "per token out",
            "network",
            "launch gap",
            "sustained load",
        ]
    );
}

#[test]
fn what_cant_be_read_changes_nothing_and_says_what_can() {
    let mut own = engine(EngineKind::Vllm);
    let before = own.clone();
    for (name, text, says) in [
        (
            "nonsense",
            "1",
            "is no setting of vLLM: it has max_num_batched_tokens, ",
        ),
        (
            "max_num_seqs",
            "-1",
            "max_num_seqs=-1: expected a whole number",
        ),
        ("watermark", "NaN", "expected a number"),
        (
            "scheduler",
            "round robin",
            "expected one of vLLM V1, SGLang, ",
        ),
        ("host step time", "5 apples", "host step time=5 apples"),
        (
            "num_speculative_tokens",
            "3",
            "expected speculative_config before it",
        ),
        ("KV tiers", "tape", "expected none, or tiers"),
        ("async_scheduling", "perhaps", "expected true or false"),
        (
            "speculative_config",
            "no such id!",
            "off, ngram, mtp LAYERS",
        ),
    ] {
        let error = own.set(name, text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert_eq!(own, before);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(which in 0_usize..29, text in ".{0,80}", kind in 0_usize..3) {
        let mut own = engine(EngineKind::ALL[kind]);
        let setting = Setting::all().nth(which).unwrap();
        let before = own.clone();
        if own.set(own.word(setting), &text).is_err() {
            prop_assert_eq!(own, before);
        }
    }
}
