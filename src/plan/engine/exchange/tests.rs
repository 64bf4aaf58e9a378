use super::*;

const RACK: Joined = Joined {
    nvlink: true,
    rack: true,
};
const SERVER: Joined = Joined {
    nvlink: true,
    rack: false,
};
const APART: Joined = Joined {
    nvlink: false,
    rack: false,
};

fn engine(kind: EngineKind, version: &str, own: ExpertExchange) -> Engine {
    Engine {
        kind,
        version: version.to_owned(),
        expert_exchange: own,
        ..Engine::vllm(true)
    }
}

fn layout(tp: u32, dp: u32, ep: u32) -> Layout {
    Layout {
        tp,
        dp,
        ep,
        ..Layout::SINGLE
    }
}

#[test]
fn one_lane_exchanges_nothing_whatever_is_set() {
    for kind in [EngineKind::Vllm, EngineKind::TensorRtLlm] {
        for own in ExpertExchange::ALL {
            let engine = engine(kind, "", own);
            for ep in [1, 8] {
                let carriers = engine.carriers(layout(8, 1, ep), 8, SERVER);
                assert_eq!(carriers, [Carrier::None; 2], "{own:?}");
            }
        }
    }
    // SGLang without DeepEP too; with it a lane's ranks take a part of its tokens each.
    let of = |own| engine(EngineKind::Sglang, "0.5", own).carriers(layout(8, 1, 8), 8, SERVER);
    assert_eq!(of(ExpertExchange::AllGather), [Carrier::None; 2]);
    assert_eq!(
        of(ExpertExchange::Deepep),
        [true, false].map(|low_latency| Carrier::Deepep { low_latency })
    );
}

#[test]
fn lanes_always_exchange() {
    for kind in EngineKind::ALL {
        for own in ExpertExchange::ALL {
            for (layout, joined) in [
                (layout(1, 8, 8), SERVER),
                (layout(1, 8, 1), SERVER),
                (layout(2, 4, 8), RACK),
                (layout(4, 2, 1), APART),
            ] {
                let carriers = engine(kind, "", own).carriers(layout, 8, joined);
                assert!(!carriers.contains(&Carrier::None), "{kind:?} {own:?}");
            }
        }
    }
}

#[test]
fn tensorrt_llm_chooses_by_version_links_and_experts() {
    let of = |version, layout, joined| {
        engine(EngineKind::TensorRtLlm, version, ExpertExchange::Automatic)
            .carriers(layout, 8, joined)[0]
    };
    let gather = Carrier::Gather {
        split: false,
        quantised: true,
    };
    let nvlink = |one_sided| Carrier::Nvlink { one_sided };
    // Eight ranks of eight experts a token: nothing gained.
    assert_eq!(of("1.2.0rc5", layout(1, 8, 8), SERVER), gather);
    assert_eq!(of("1.0.0", layout(1, 32, 32), RACK), nvlink(false));
    assert_eq!(of("1.0.0", layout(1, 32, 32), APART), gather);
    assert_eq!(of("1.3.0rc10", layout(1, 8, 8), SERVER), nvlink(true));
    assert_eq!(
        of("1.3.0rc10", layout(1, 16, 16), APART),
        Carrier::Deepep { low_latency: false }
    );
    // Split experts can't be sent to.
    assert_eq!(of("1.3.0rc10", layout(1, 8, 4), SERVER), gather);
}

#[test]
fn names_are_read_back_in_every_engine() {
    for kind in EngineKind::ALL {
        let names: Vec<_> = ExpertExchange::ALL.map(|own| own.name(kind)).to_vec();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
        }
        assert!(ExpertExchange::of(kind).count() >= 5);
    }
}
