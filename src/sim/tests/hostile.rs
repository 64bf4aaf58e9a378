//! Input faults through the whole program: settings and traces that no one would write are refused by
//! name, or run and balance their books; nothing panics.

use super::*;
use crate::plan::{Engine, EngineKind, Setting};
use crate::workload::{TraceOptions, read_trace_from};

/// Texts for any setting: numbers at their ends, words, lists, nothing.
const TEXTS: [&str; 26] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "33",
    "1024",
    "4294967295",
    "4294967296",
    "-1",
    "0.5",
    "1e308",
    "1e-308",
    "nan",
    "inf",
    "true",
    "false",
    "off",
    "",
    "even",
    "1,1",
    "4,0,4294967295",
    "ngram",
    "mtp 4294967295",
    "10 s",
    "host,1 B,1 B/s,1 B/s,10 s;ssd,1 PB,1 B/s,1 B/s,0 s",
];

/// A field of a trace: mostly a number that may be, at times one that is not.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0u32..200).prop_map(|n| n.to_string()),
        1 => prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["18446744073709551615", "9007199254740993", "1e18", "\"", "é", "-0.0", "0x10"])
            .prop_map(str::to_owned),
    ]
}

fn rows() -> impl Strategy<Value = String> {
    prop::collection::vec((field(), field(), field()), 0..12).prop_map(|rows| {
        let lines = rows
            .iter()
            .map(|(at, input, output)| format!("{at},{input},{output}\n"));
        format!(
            "arrived_at,num_prefill_tokens,num_decode_tokens\n{}",
            lines.collect::<String>()
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_setting_and_no_trace_panics(
        kind in prop::sample::select(EngineKind::ALL.to_vec()),
        settings in prop::collection::vec((any::<prop::sample::Index>(), 0..TEXTS.len()), 0..6),
        (tp, pp, dp) in (1u32..3, 1u32..3, 1u32..3),
        trace in prop::option::of(rows()),
        (input, output, requests) in (0u64..300, 0u64..60, 0u64..8),
        (load, which) in (prop::sample::select(vec![0.0, 1e-300, 1.0, 1e3, 1e300, f64::INFINITY]), 0u8..3),
    ) {
        let mut design = single(1, None);
        let pool = &mut design.pools[0];
        let count = tp * pp * dp;
        pool.gpus = vec![format!("n0/0/0-{}", count - 1).parse().unwrap()];
        pool.layout = Layout { tp, pp, dp, ep: tp * dp, ..Layout::SINGLE };
        let catalog = Catalog::embedded().unwrap();
        let gpu = catalog.gpu(&"h800-sxm".parse().unwrap()).unwrap();
        pool.engine = Engine::defaults(kind, gpu, pool.layout);
        let all: Vec<Setting> = Setting::all().collect();
        for (setting, text) in settings {
            let word = kind.word(*setting.get(&all));
            // Refused by name, or taken: the plan says whether it may be.
            let _ = pool.engine.set(word, TEXTS[text]);
        }
        let trace = trace.and_then(|text| {
            read_trace_from(text.as_bytes(), "x.csv", &TraceOptions::default()).ok()
        });
        let load = match which {
            0 => Load::Rate(load),
            1 => Load::Concurrency(if load > 1e6 { u32::MAX } else { load as u32 }),
            _ => Load::TraceSpeed(load),
        };
        let workload = Workload {
            arrivals: match (&trace, load) {
                (Some(_), _) => Arrivals::Trace,
                (None, Load::Concurrency(_)) => Arrivals::Closed,
                _ => Arrivals::Open { process: Process::Poisson },
            },
            ..Workload::fixed(input, output, requests)
        };
        let ask = Ask { workload: workload.clone(), trace: trace.map(Arc::new), fidelity: Arc::new(Roofline) };
        let compiled = compile(&design, &catalog, &Models::embedded().unwrap(), ask.demand());
        let Some(plan) = compiled.plan else {
            prop_assert!(!compiled.findings.is_empty());
            return Ok(());
        };
        let _ = ask.capacity(&plan);
        let scenario = Scenario { plan, workload, trace: ask.trace, load, fidelity: Arc::new(Roofline) };
        let cancel = AtomicBool::new(false);
        match run(&scenario, Control { cancel: &cancel }) {
            Ok(summary) => {
                let counts = summary.requests;
                prop_assert_eq!(counts.arrived, counts.completed + counts.failed);
            }
            Err(error) => {
                let is_ours = matches!(error, SimError::Conservation { .. });
                prop_assert!(!is_ours, "{}", error);
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
