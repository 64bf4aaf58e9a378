//! Random projects, and random damage to real ones.

use super::kinds::every_kind;
use super::loops::every_setting;
use super::sample::everything;
use super::{GOLDEN, golden};
use crate::cluster::{DomainKind, GroupId, GroupKind, Instances, Position, fold_gpus};
use crate::model::Precision;
use crate::plan::{ExpertExchange, Layout, ModelRef};
use crate::project::{Project, parse, to_text};
use crate::units::{ByteRate, Seconds, Tokens};
use crate::workload::{Arrivals, Length, Process};
use proptest::prelude::*;

fn length() -> impl Strategy<Value = Length> {
    let tokens = || (0_u64..1 << 40).prop_map(Tokens::new);
    prop_oneof![
        tokens().prop_map(Length::Fixed),
        (tokens(), tokens()).prop_map(|(min, max)| Length::Uniform { min, max }),
        (tokens(), 0.0..1e6, tokens()).prop_map(|(mean, cv, max)| Length::LogNormal {
            mean,
            cv,
            max
        }),
    ]
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        (0.0..1e6).prop_map(|cv| Arrivals::Open {
            process: Process::Gamma { cv }
        }),
        Just(Arrivals::Open {
            process: Process::Poisson
        }),
        Just(Arrivals::Open {
            process: Process::Constant
        }),
        Just(Arrivals::Closed),
    ]
}

prop_compose! {
    /// The sample with its numbers and texts redrawn and some of its parts dropped or repeated.
    fn project()(
        texts in proptest::collection::vec(any::<String>(), 6),
        numbers in proptest::collection::vec(any::<u32>(), 8),
        reals in proptest::collection::vec(0.0_f64..1e12, 6),
        tenths in proptest::collection::vec(-99_999_999_i32..99_999_999, 2),
        gpus in proptest::collection::btree_set((0_u32..2, 0_u32..9, 0_u32..9), 0..30),
        keep in (0_usize..=10, 0_usize..=7, 0_usize..=5),
        lengths in (length(), length()),
        arrivals in arrivals(),
        loads in proptest::collection::vec(1e-9_f64..1e9, 0..20),
        preset in any::<bool>(),
        kinds in 0_u8..3,
        shares in proptest::collection::vec(0.0_f64..=1.0, 0..20),
    ) -> Project {
        let mut project = match kinds {
            0 => everything(),
            1 => every_kind(),
            _ => every_setting(),
        };
        let design = &mut project.designs[0];
        design.cluster.groups.truncate(keep.0);
        design.cluster.links.truncate(keep.1);
        design.pools.truncate(keep.2);
        if let Some(group) = design.cluster.groups.first_mut() {
            group.name.clone_from(&texts[0]);
            group.count = numbers[0] % 16_385;
            let place = |tenths: i32| (f64::from(tenths) / 10.0) as f32;
            group.position = Position { x: place(tenths[0]), y: place(tenths[1]) };
            group.kind = GroupKind::Domain {
                kind: DomainKind::KHopRing { hops: numbers[1] },
                rate: ByteRate::new(reals[0]),
            };
        }
        if let Some(link) = design.cluster.links.first_mut() {
            link.a.instances = Instances::One(numbers[2]);
            link.count = numbers[3];
            link.latency = Seconds::new(reals[1]);
        }
        if let Some(pool) = design.pools.first_mut() {
            pool.name.clone_from(&texts[1]);
            let set = gpus.into_iter().map(|(g, instance, slot)| crate::cluster::GpuAddress {
                group: GroupId::from_label(&format!("g{g}")), instance, slot,
            }).collect();
            pool.gpus = fold_gpus(&set);
            pool.layout = Layout { tp: numbers[4] % 65_536, ..pool.layout };
            pool.engine.version.clone_from(&texts[2]);
            pool.engine.max_num_seqs = numbers[5];
            pool.engine.gpu_memory_utilization = reals[2];
            pool.engine.scheduling.watermark = reals[3] / 1e12;
            pool.engine.scheduling.conservativeness = reals[4];
            pool.engine.scheduling.max_prefill_tokens = numbers[0];
            pool.engine.graphs.max_size = numbers[1];
            pool.engine.stage_layers = numbers[2..5].to_vec();
            let exchanges = ExpertExchange::ALL;
            pool.engine.expert_exchange = exchanges[numbers[2] as usize % exchanges.len()];
            pool.engine.host.launch = Seconds::new(reals[0]);
            pool.precision = Precision::FP8;
        }
        for own in design.pools.iter_mut().filter_map(|pool| pool.engine.speculation.as_mut()) {
            own.acceptance.clone_from(&shares);
            own.steps = numbers[2];
        }
        if preset {
            design.model = ModelRef::Preset(crate::catalog::ModelId::from_label(&texts[3]));
        }
        project.name.clone_from(&texts[4]);
        project.story.clone_from(&texts[5]);
        project.workload.arrivals = arrivals;
        project.workload.input = lengths.0;
        project.workload.output = lengths.1;
        project.workload.seed = u64::from(numbers[6]) << 20;
        project.slo.ttft = Seconds::new(reals[3]);
        project.slo.attainment = reals[4] / 1e12;
        project.curve.loads = loads;
        project.curve.percentile = reals[5] / 1e10;
        project.curve.points = numbers[7];
        project
    }
}

proptest! {
    #[test]
    fn any_project_comes_back_as_it_was(project in project()) {
        let text = to_text(&project);
        let back = parse(&text, "x").unwrap();
        prop_assert_eq!(&back, &project);
        prop_assert_eq!(to_text(&back), text);
    }

    #[test]
    fn damage_never_panics(
        which in 0..GOLDEN.len(),
        cut in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = golden(which).into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = String::from_utf8_lossy(&bytes).into_owned();
        if let Ok(project) = parse(&whole, "x") {
            let _ = to_text(&project);
        }
        // Before the last bracket and the end of its line.
        bytes.truncate(cut.index(bytes.len() - 2));
        let text = String::from_utf8_lossy(&bytes);
        prop_assert!(parse(&text, "x").is_err(), "a cut file is no file");
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = parse(&text, "x");
        let _ = parse(&format!("(format: \"frontier-project\", version: 1, {text}"), "x");
    }
}
