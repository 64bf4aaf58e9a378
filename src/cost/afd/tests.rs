use super::*;
use proptest::prelude::*;

fn layer(micros: &[Micro]) -> LayerTimes {
    LayerTimes::new(micros).unwrap()
}

fn runs(layers: &[(&[Micro], u32)]) -> Vec<Run> {
    let run = |(micros, count): &(&[Micro], u32)| Run {
        layer: layer(micros),
        count: *count,
    };
    layers.iter().map(run).collect()
}

/// Two micro-batches, one layer, by hand: A 0–3 and 3–6, out 3–4 and 6–7, F 4–6 and 7–9, back 6–7
/// and 9–10.
#[test]
fn a_hand_computed_step() {
    let all = runs(&[(&[[3, 1, 2, 1]; 2], 1)]);
    let step = AfdStep::of(&all);
    assert_eq!((step.took, step.busy), (10, [6, 2, 4, 2]));
    assert_eq!((step.fill, step.drain), (4, 4));
    assert_eq!(step.idle(Resource::Ffn), 6);
    let gantt = StepGantt::of(&all).unwrap();
    let gaps: Vec<_> = gantt.gaps(Resource::Ffn).collect();
    assert_eq!(gaps, [(0, 4), (6, 7), (9, 10)]);
}

/// Three micro-batches hide links no longer than the halves (Step-3): the period is three
/// attentions; two leave bubbles, one hides nothing.
#[test]
fn more_micro_batches_hide_more_of_the_links() {
    let of = |count: usize, each: u64| {
        let micros = vec![[12 * each, 6 * each, 12 * each, 6 * each]; count];
        AfdStep::steady(&runs(&[(&micros, 61)]))
    };
    // The same work of a step in 1, 2, 3 micro-batches.
    assert_eq!(of(1, 6), 61 * 36 * 6);
    assert_eq!(of(2, 3), 61 * 36 * 3);
    assert_eq!(of(3, 2), 61 * 36 * 2);
    // Not draining saves exactly what filling and draining takes here.
    let drained = AfdStep::of(&runs(&[(&[[24, 12, 24, 12]; 3], 61)]));
    assert_eq!(drained.took, 61 * 72 + 2 * 24);
}

/// Step-3's 2A2F: 16 attention GPUs of 128 tokens, two FFN groups of TP 8, a layer every 273 µs.
#[test]
fn step_3_needs_161_gigabits_per_ffn_gpu() {
    let traffic = ActivationTraffic {
        tokens: 128.0,
        attention: 16,
        groups: 2,
        tp: 8,
        hidden: 7168,
        dispatch: 1.0,
        combine: 2.0,
        fan_out: FanOut::Broadcast,
    };
    let bytes = traffic.ffn_nic();
    assert_eq!((bytes.dispatch, bytes.combine), (1_835_008.0, 3_670_016.0));
    let gigabits = bytes.needs(273e-6) / 1e9;
    assert!((gigabits - 161.3).abs() < 0.05, "{gigabits}");
    // Three of 48 experts over two groups miss a group with 24·23·22 / 48·47·46.
    let fan_out = FanOut::Experts {
        top_k: 3,
        experts: 48,
    };
    let fewer = ActivationTraffic { fan_out, ..traffic };
    let missed = 24.0 * 23.0 * 22.0 / (48.0 * 47.0 * 46.0);
    assert!((fewer.reached() - 2.0 * (1.0 - missed)).abs() < 1e-12);
    // What attention sends, the FFN takes.
    let sent = 16.0 * fewer.attention_nic().dispatch;
    assert!((sent - 16.0 * fewer.ffn_nic().dispatch).abs() < 1e-6);
}

fn micros(count: usize) -> impl Strategy<Value = Vec<Micro>> {
    proptest::collection::vec(proptest::array::uniform4(0_u64..50), count)
}

fn some_runs() -> impl Strategy<Value = Vec<Run>> {
    (1_usize..=4).prop_flat_map(|count| {
        let run = (micros(count), 0_u32..90).prop_map(|(micros, count)| Run {
            layer: layer(&micros),
            count,
        });
        proptest::collection::vec(run, 1..4)
    })
}

proptest! {
    /// The closed form is the recurrence walked layer by layer, and gaps are the bubble.
    #[test]
    fn a_step_is_its_gantt(all in some_runs()) {
        let (step, gantt) = (AfdStep::of(&all), StepGantt::of(&all).unwrap());
        prop_assert_eq!(step.took, gantt.took);
        for resource in Resource::ALL {
            let gaps: u64 = gantt.gaps(resource).map(|(from, to)| to - from).sum();
            prop_assert_eq!(gaps, step.idle(resource));
        }
    }

    /// Steps one after another that don't drain take the steady time each, in the long run.
    #[test]
    fn steady_is_the_pace_of_many_steps(all in some_runs()) {
        const STEPS: u64 = 64;
        let many: Vec<_> = (0..STEPS).flat_map(|_| all.iter().copied()).collect();
        let (took, once) = (AfdStep::of(&many).took, AfdStep::of(&all).took);
        let pace = AfdStep::steady(&all);
        prop_assert!(pace <= once);
        // Rounded down by less than one per step; fill and drain are less than a few steps.
        prop_assert!(took >= pace * STEPS);
        prop_assert!(took <= (pace + 1) * STEPS + 8 * once, "{took} {pace} {once}");
    }

    /// A job that takes longer, a slow lane's or a link's, never ends a step sooner.
    #[test]
    fn slower_is_never_faster(all in some_runs(), micro in 0_usize..4, stage in 0_usize..4) {
        let mut slowed = all.clone();
        let mut own = slowed[0].layer.micros().to_vec();
        let index = micro % own.len();
        own[index][stage] *= 2;
        slowed[0].layer = layer(&own);
        prop_assert!(AfdStep::of(&slowed).took >= AfdStep::of(&all).took);
        prop_assert!(AfdStep::steady(&slowed) >= AfdStep::steady(&all));
    }
}

proptest! {
    /// The period is what many steps one after another take of each.
    #[test]
    fn the_period_is_that_of_many_steps(
        layers in prop::collection::vec((prop::collection::vec([1_u64..500, 0..300, 1..500, 0..300], 1..5), 1_u32..30), 1..4),
    ) {
        let micros = layers[0].0.len();
        let runs: Vec<Run> = layers
            .iter()
            .map(|(own, count)| {
                let mut own = own.clone();
                own.resize(micros, own[0]);
                Run { layer: LayerTimes::new(&own).unwrap(), count: *count }
            })
            .collect();
        let many = |steps: usize| {
            let all: Vec<Run> = std::iter::repeat_n(&runs, steps).flatten().copied().collect();
            AfdStep::of(&all).took
        };
        // A cycle may take several steps to come round.
        let (few, more) = (many(200), many(1040));
        let period = (more - few) as f64 / 840.0;
        prop_assert!((AfdStep::steady(&runs) as f64 - period).abs() <= 1.0, "{period}");
    }
}
