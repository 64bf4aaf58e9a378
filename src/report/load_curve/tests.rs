use super::*;
use crate::sim::{Counts, Extrapolated, Provenance, Stats, Window, Work};
use crate::units::Seconds;

fn summary(ttft_ms: f64, saturated: bool) -> Arc<Summary> {
    let stats = |ms: f64| Stats {
        count: 100,
        mean: ms * 0.9e-3,
        p50: ms * 0.8e-3,
        p90: ms * 0.95e-3,
        p95: ms * 1e-3,
        p99: ms * 1.5e-3,
    };
    Arc::new(Summary {
        reuse: None,
        requests: Counts {
            arrived: 100,
            completed: 100,
            failed: 0,
            in_flight: 0,
        },
        ttft_s: stats(ttft_ms),
        tpot_s: Stats::default(),
        itl_s: stats(10.0),
        e2e_s: stats(1000.0),
        hidden: None,
        requests_per_s: 4.0,
        output_tokens_per_s: 800.0,
        output_tokens_per_s_per_gpu: 100.0,
        input_tokens_per_s: 8000.0,
        window: Window {
            kind: "steady",
            start_s: 0.0,
            end_s: 1.0,
            run_end_s: 1.0,
        },
        saturated,
        busiest_link: None,
        busiest_link_full: 0.0,
        kv_peak: Vec::new(),
        breakdown: Vec::new(),
        splits: Vec::new(),
        limits: Vec::new(),
        provenance: Provenance {
            fidelity: "Roofline",
            routing: crate::plan::Routing::default(),
            engines: vec!["vLLM 0.11.0".to_owned()],
            band: (-0.3, 0.3),
            extrapolated: None,
            origins: vec![("calibrated", 0.83), ("roofline", 0.17)],
            time_shares: Vec::new(),
            seed: 7,
        },
        work: Work::default(),
    })
}

fn look() -> CurveLook {
    CurveLook {
        title: "t".to_owned(),
        subtitle: String::new(),
        load: LoadKind::Rate,
        statistic: Statistic::P95,
        slo: Some(Slo {
            ttft: Seconds::from_ms(500.0),
            tpot: Seconds::from_ms(50.0),
            attainment: 0.9,
        }),
        remarks: Vec::new(),
    }
}

#[test]
fn saturated_points_are_marked_and_do_not_flatten_the_rest() {
    let series = [CurveSeries {
        name: "A".to_owned(),
        points: vec![
            (1.0, summary(100.0, false)),
            (2.0, summary(300.0, false)),
            (3.0, summary(90_000.0, true)),
        ],
    }];
    let (figure, table) = curve_figure(&series, &look()).unwrap();
    let ttft = &figure.panels[0];
    assert_eq!(ttft.series[0].muted, [false, false, true]);
    let [_, top] = ttft.y.range.unwrap();
    assert!(
        (500.0..600.0).contains(&top),
        "the 500 ms limit stays in view: {top}"
    );
    assert_eq!(ttft.marks.len(), 1);
    assert_eq!(figure.muted_means.as_deref(), Some("saturated"));
    assert_eq!(table.rows().len(), 3);
    assert!(figure.footnote[0].contains("Roofline") && figure.footnote[0].contains("±30 %"));
}

#[test]
fn an_axis_shows_the_knee_and_the_limit() {
    let top = |values: &[(f64, bool)], limit| axis_top(values.iter().copied(), limit);
    assert_eq!(top(&[], Some(5.0)), None);
    assert_eq!(top(&[(f64::NAN, false)], None), None);
    assert!(top(&[(10.0, false), (900.0, false)], Some(50.0)).unwrap() < 220.0);
    assert!(
        top(&[(10.0, false)], Some(500.0)).unwrap() < 11.0,
        "a far limit squeezes nothing"
    );
    assert!(
        top(&[(800.0, false)], Some(50.0)).unwrap() > 800.0,
        "all beyond the limit"
    );
    let knee = [
        (20.0, false),
        (110.0, false),
        (650.0, false),
        (4200.0, false),
        (6900.0, true),
    ];
    let end = top(&knee, Some(2000.0)).unwrap();
    assert!(
        (650.0..800.0).contains(&end),
        "what is met is legible: {end}"
    );
    let met = [
        (20.0, false),
        (900.0, false),
        (3000.0, false),
        (9000.0, true),
    ];
    let end = top(&met, Some(2000.0)).unwrap();
    assert!((3000.0..3500.0).contains(&end), "around the limit: {end}");
    assert!(top(&[(70.0, true)], None).unwrap() > 70.0);
}

#[test]
fn a_latency_nobody_had_is_left_out_and_not_zero() {
    let run = summary(100.0, false);
    assert!(Metric::Tpot.of(&run, Statistic::P95).is_nan());
    let table = curve_table(
        &[CurveSeries {
            name: "A".to_owned(),
            points: vec![(1.0, run)],
        }],
        LoadKind::Rate,
    )
    .unwrap();
    let tpot = table
        .columns()
        .iter()
        .position(|c| c.name == "TPOT p95")
        .unwrap();
    assert_eq!(table.rows()[0][tpot], Cell::Empty);
}

#[test]
fn the_nearest_kept_percentile_is_taken() {
    assert_eq!(Statistic::nearest(50.0), Statistic::P50);
    assert_eq!(Statistic::nearest(97.5), Statistic::P99);
    assert_eq!(Statistic::nearest(0.0), Statistic::P50);
    assert_eq!(Statistic::nearest(f64::NAN), Statistic::P95);
}

#[test]
fn a_result_says_where_its_times_come_from() {
    assert_eq!(
        origins_text(&[
            ("calibrated", 0.83),
            ("roofline", 0.168),
            ("given by the design", 0.002)
        ]),
        "83 % of the time from calibrated operators, 17 % roofline"
    );
    assert_eq!(
        origins_text(&[("roofline", 1.0)]),
        "all of the time from the roofline"
    );
    assert_eq!(
        origins_text(&[("calibrated", 0.3), ("a relative's calibration", 0.7)]),
        "70 % of the time from a relative’s calibration, 30 % calibrated"
    );
    assert_eq!(origins_text(&[]), "no device time");
}

#[test]
fn what_reaches_beyond_measurements_is_said() {
    let mut from = Provenance {
        fidelity: "calibrated",
        routing: crate::plan::Routing::default(),
        engines: Vec::new(),
        band: (0.0, 0.0),
        origins: vec![("calibrated", 0.88), ("calibrated, extrapolated", 0.12)],
        extrapolated: None,
        time_shares: Vec::new(),
        seed: 1,
    };
    let plain = "88 % of the time from calibrated operators, 12 % extrapolated";
    assert_eq!(sources_text(&from), plain);
    let beyond = |share, factor| {
        Some(Extrapolated {
            share,
            factor,
            class: "attention",
        })
    };
    from.extrapolated = beyond(0.12, 80.4);
    assert_eq!(
        sources_text(&from),
        format!("{plain}; 12 % of it beyond what was measured, up to ×80 (attention)")
    );
    from.extrapolated = beyond(0.12, 2.04);
    assert!(sources_text(&from).ends_with("up to ×2.0 (attention)"));
    // What takes no time worth the word is not worth a word.
    from.extrapolated = beyond(0.004, 80.4);
    assert_eq!(sources_text(&from), plain);
}
