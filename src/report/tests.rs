//! Figures as a whole: they are the same every time, they parse, their texts stay apart and on the paper.
//!
//! With `FRONTIER_FIGURES=folder` set, the figures drawn here are written there to be looked at.

use super::figure::*;
use super::layout::compose;
use super::palette;
use super::png::{MAX_SIDE, to_outlined_svg, to_png};
use super::scene::{Item, Scene};
use super::style::Style;
use super::svg::to_svg;
use super::table::{Cell, Column, Table};
use super::write::write_figure;
use super::{ReportError, Rgb};

const STYLES: [(&str, Style); 6] = [
    ("wide", Style::WIDE),
    ("column", Style::PAPER_COLUMN),
    ("page", Style::PAPER_PAGE),
    ("slide", Style::SLIDE),
    (
        "square",
        Style {
            width: 640.0,
            height: 560.0,
            font_size: 13.0,
        },
    ),
    (
        "narrow",
        Style {
            width: 150.0,
            height: 100.0,
            font_size: 12.0,
        },
    ),
];

/// An open queue in front of a server of `capacity` requests per second: latency rises as 1 / (1 − load).
fn load_curve(index: usize, name: &str, base: f64, capacity: f64, top: f64) -> Series {
    let rates: Vec<f64> = (1..=12).map(f64::from).collect();
    let points = rates.iter().map(|&r| {
        let load = (r / capacity).min(0.97);
        [r, (base * (1.0 + 0.4 * load / (1.0 - load))).min(top)]
    });
    let mut series = Series::of_design(index, name, points.collect());
    series.muted = rates.iter().map(|&r| r > capacity).collect();
    series
}

/// Two designs, three panels: what a load curve study shows.
fn comparison() -> Figure {
    let (a, b) = ("A  8×H200 co-located TP8", "B  4+4 H200 prefill/decode");
    let ttft = Panel {
        y: Axis::linear("TTFT p95", "ms"),
        series: vec![
            load_curve(0, a, 180.0, 7.5, 2600.0),
            load_curve(1, b, 240.0, 10.5, 2600.0),
        ],
        bands: Vec::new(),
        marks: vec![Mark::limit(2000.0, "SLO 2 s")],
    };
    let tpot = Panel {
        y: Axis::linear("TPOT p95", "ms"),
        series: vec![
            load_curve(0, a, 24.0, 7.5, 95.0),
            load_curve(1, b, 19.0, 10.5, 95.0),
        ],
        bands: vec![Band {
            along: Direction::Y,
            from: f64::NEG_INFINITY,
            to: 50.0,
            color: palette::ATTENTION.on_light,
            label: Some("meets SLO".into()),
        }],
        marks: vec![Mark::limit(50.0, "SLO 50 ms")],
    };
    let throughput = |index, name, capacity: f64| {
        let rates = (1..=12).map(f64::from);
        let points = rates
            .clone()
            .map(|r| [r, 262.0 * r.min(capacity)])
            .collect();
        let band = rates
            .clone()
            .map(|r| [r, 245.0 * r.min(capacity), 280.0 * r.min(capacity)])
            .collect();
        let muted = rates.map(|r| r > capacity).collect();
        Series {
            muted,
            band: Some(band),
            ..Series::of_design(index, name, points)
        }
    };
    let output = Panel {
        y: Axis::linear("Output throughput", "tokens/s/GPU"),
        series: vec![throughput(0, a, 7.5), throughput(1, b, 10.5)],
        bands: Vec::new(),
        marks: vec![Mark::best(
            [10.0, 2620.0],
            "+33 %",
            palette::SERIES[1].tone.on_light,
        )],
    };
    let mut figure = Figure::new(
        "Disaggregation moves the knee from 7 to 10 requests per second",
        Axis::linear("Request rate", "requests/s"),
        vec![ttft, tpot, output],
    );
    figure.subtitle =
        Some("Llama-3.1-70B FP8, input 4096 ± 30 %, output 256, Poisson arrivals".into());
    figure.muted_means = Some("saturated".into());
    figure.footnote = vec!["Roofline fidelity · seed 1 · vLLM 0.11".into()];
    figure
}

/// Six designs over logarithmic axes, named at the curves' ends.
fn six_designs() -> Figure {
    let series = (0..6).map(|i| {
        let name = format!("{} design", char::from(b'A' + i as u8));
        let scale = 1.0 + i as f64 * 0.35;
        let points = (0..14).map(|k| {
            let x = 2.0 * libm::pow(1.5, f64::from(k));
            [x, scale * 20_000.0 / (x + 8.0 * scale)]
        });
        Series::of_design(i, name, points.collect())
    });
    let panel = Panel {
        marks: vec![Mark::Line {
            along: Direction::X,
            at: 50.0,
            label: Some("reading speed × 5".into()),
            color: palette::SOFT_INK,
            dash: Dash::Dotted,
        }],
        ..Panel::new(Axis::log10("Throughput", "tokens/s/GPU"), series.collect())
    };
    let mut figure = Figure::new(
        "Six layouts",
        Axis::log10("Interactivity", "tokens/s/user"),
        vec![panel],
    );
    figure.legend = Legend::Direct;
    figure
}

/// A cloud of 10,000 candidates, a frontier, the best point starred.
fn pareto() -> Figure {
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let front = |x: f64| 3200.0 * (1.0 - libm::pow(x / 160.0, 1.6));
    let cloud = (0..10_000).map(|_| {
        let x = 10.0 + 140.0 * random();
        [x, front(x) * (1.0 - 0.8 * random() * random())]
    });
    let cloud = Series {
        name: "candidates".into(),
        color: palette::CANDIDATE,
        dash: Dash::Hidden,
        marker: Marker::Circle,
        points: cloud.collect(),
        band: None,
        muted: Vec::new(),
    };
    let curve = Series::of_design(
        0,
        "frontier",
        (1..=15)
            .map(|i| [f64::from(i) * 10.0, front(f64::from(i) * 10.0)])
            .collect(),
    );
    let panel = Panel {
        y: Axis::linear("Throughput", "tokens/s/GPU"),
        series: vec![cloud, curve],
        bands: vec![Band {
            along: Direction::X,
            from: 50.0,
            to: f64::INFINITY,
            color: palette::ATTENTION.on_light,
            label: Some("TPOT ≤ 20 ms".into()),
        }],
        marks: vec![Mark::best(
            [60.0, front(60.0)],
            "best: TP4 × DP2",
            palette::DECODE.on_light,
        )],
    };
    Figure::new(
        "Pareto frontier",
        Axis::linear("Interactivity", "tokens/s/user"),
        vec![panel],
    )
}

/// Everything that can be wrong with data and texts at once.
fn hostile() -> Vec<(&'static str, Figure)> {
    let x = || Axis::linear("Request rate", "requests/s");
    let y = || Axis::linear("TTFT", "ms");
    let one = |points: Vec<[f64; 2]>| {
        Figure::new(
            "t",
            x(),
            vec![Panel::new(y(), vec![Series::of_design(0, "A", points)])],
        )
    };
    let odd = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e308,
        -1e308,
        5e-324,
        0.0,
        -0.0,
        1.0,
    ];
    let all_odd = || {
        odd.iter()
            .flat_map(|&a| odd.iter().map(move |&b| [a, b]))
            .collect::<Vec<_>>()
    };
    let long = "A very long name of a design that goes on and on, well past what any legend can hold, with \
                Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft & <tags> \"quoted\"";
    let mut long_texts = comparison();
    long_texts.title = long.repeat(4);
    long_texts.subtitle = Some(long.repeat(4));
    long_texts.x.label = long.into();
    long_texts.footnote = vec![
        long.repeat(5),
        "x".repeat(5_000),
        "control \u{0}\u{1b}\u{FFFF} characters 数据".into(),
    ];
    for panel in &mut long_texts.panels {
        panel.y.label = long.into();
        panel.series[0].name = long.into();
        panel.series[1].name = format!("{long} 2");
        panel.marks.push(Mark::limit(1.0, long));
        panel.marks.push(Mark::limit(1e9, long));
        panel.marks.push(Mark::limit(f64::NAN, long));
        panel
            .marks
            .push(Mark::best([12.0, 100.0], long, palette::INK));
        panel
            .marks
            .push(Mark::best([f64::INFINITY, 100.0], long, palette::INK));
        panel.bands.push(Band {
            along: Direction::X,
            from: f64::NAN,
            to: 5.0,
            color: palette::INK,
            label: Some(long.into()),
        });
    }
    let logs = |points: Vec<[f64; 2]>| {
        let panel = Panel::new(
            Axis::log10("y", ""),
            vec![Series::of_design(0, "A", points)],
        );
        Figure::new("", Axis::log10("", ""), vec![panel])
    };
    let mut far = one((0..50)
        .map(|i| [f64::from(i), libm::pow(10.0, f64::from(i) * 5.0)])
        .collect());
    far.panels[0].y.range = Some([0.0, 1.0]);
    let mut outside = one(vec![[1.0, 5.0], [2.0, 6.0]]);
    outside.panels[0].y.range = Some([100.0, 200.0]);
    let mut wave = one((0..10_000)
        .map(|i| [f64::from(i), libm::sin(f64::from(i) / 300.0)])
        .collect());
    wave.panels[0].series[0].band = Some(
        (0..10_000)
            .map(|i| [f64::from(i), -1.0, f64::from(i) / 1e4])
            .collect(),
    );
    vec![
        (
            "no panels",
            Figure::new("", Axis::linear("", ""), Vec::new()),
        ),
        (
            "no series",
            Figure::new("Empty", x(), vec![Panel::new(y(), Vec::new()); 3]),
        ),
        ("no points", one(Vec::new())),
        (
            "not a number",
            one(vec![[f64::NAN, 1.0], [1.0, f64::INFINITY]]),
        ),
        ("one point", one(vec![[3.0, 250.0]])),
        ("one place", one(vec![[3.0, 250.0]; 40])),
        ("odd numbers", one(all_odd())),
        ("odd numbers on log axes", logs(all_odd())),
        ("nothing positive", logs(vec![[-1.0, -1.0], [0.0, 0.0]])),
        ("300 decades", logs(vec![[1e-290, 1e-290], [1e290, 1e290]])),
        ("10,000 points", wave),
        ("far off", far),
        ("out of range", outside),
        ("long texts", long_texts),
        (
            "nine panels",
            Figure {
                panels: vec![comparison().panels[0].clone(); 9],
                ..comparison()
            },
        ),
        (
            "grid",
            Figure {
                panels: (0..4).map(|i| comparison().panels[i % 3].clone()).collect(),
                ..comparison()
            },
        ),
        (
            "four panels",
            Figure {
                panels: vec![comparison().panels[0].clone(); 4],
                ..comparison()
            },
        ),
    ]
}

fn all() -> Vec<(&'static str, Figure)> {
    let mut figures = vec![
        ("comparison", comparison()),
        ("six designs", six_designs()),
        ("pareto", pareto()),
    ];
    figures.extend(hostile());
    figures
}

fn assert_texts_are_apart(scene: &Scene, what: &str) {
    let paper = super::scene::Area {
        left: 0.0,
        top: 0.0,
        width: scene.width,
        height: scene.height,
    };
    let labels: Vec<_> = scene.labels().collect();
    for (i, label) in labels.iter().enumerate() {
        let area = label.area();
        assert!(
            paper.holds(&area),
            "{what}: {:?} leaves the paper: {area:?}",
            label.text
        );
        for other in &labels[i + 1..] {
            assert!(
                !area.overlaps(&other.area()),
                "{what}: {:?} and {:?} overlap",
                label.text,
                other.text
            );
        }
    }
}

#[test]
fn texts_stay_on_the_paper_and_off_one_another() {
    for (name, figure) in all() {
        for (style_name, style) in STYLES {
            for arrangement in [Arrangement::Auto, Arrangement::Row, Arrangement::Column] {
                let figure = Figure {
                    arrangement,
                    ..figure.clone()
                };
                let scene = compose(&figure, &style);
                let what = format!("{name}, {style_name}, {arrangement:?}");
                if name != "long texts" {
                    assert_texts_are_apart(&scene, &what);
                }
                for label in scene.labels() {
                    let area = label.area();
                    assert!(
                        area.left >= 0.0 && area.right() <= scene.width,
                        "{what}: {:?}",
                        label.text
                    );
                    assert!(
                        area.top >= 0.0 && area.bottom() <= scene.height,
                        "{what}: {:?}",
                        label.text
                    );
                }
            }
        }
    }
}

#[test]
fn drawings_are_well_formed_and_the_same_every_time() {
    for (name, figure) in all() {
        for (style_name, style) in STYLES {
            let svg = to_svg(&figure, &style);
            assert_eq!(svg, to_svg(&figure.clone(), &style), "{name}, {style_name}");
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{name}, {style_name}"
            );
            let parsed = resvg::usvg::roxmltree::Document::parse(&svg);
            assert!(parsed.is_ok(), "{name}, {style_name}: {parsed:?}");
            assert!(
                svg.len() < 1_200_000,
                "{name}, {style_name}: {} bytes",
                svg.len()
            );
        }
    }
}

#[test]
fn images_have_the_size_asked_for_and_the_same_bytes_every_time() {
    for (name, figure) in all() {
        let svg = to_svg(&figure, &Style::PAPER_COLUMN);
        let png = to_png(&figure, &Style::PAPER_COLUMN, 1.5).expect("drawn");
        assert_eq!(
            png,
            to_png(&figure, &Style::PAPER_COLUMN, 1.5).expect("drawn"),
            "{name}"
        );
        let image = resvg::tiny_skia::Pixmap::decode_png(&png).expect("a PNG");
        let height: f64 = svg
            .split("height=\"")
            .nth(1)
            .and_then(|s| s.split('"').next())
            .expect("height")
            .parse()
            .expect("number");
        assert_eq!(
            (image.width(), image.height()),
            (488, (height * 1.5).round() as u32),
            "{name}"
        );
        let inked = image
            .pixels()
            .iter()
            .filter(|p| (p.red(), p.green(), p.blue()) != (255, 255, 255))
            .count();
        assert!(
            image.pixels().iter().all(|p| p.alpha() == 255),
            "{name}: paper everywhere"
        );
        assert!(
            inked > 20 || figure.panels.is_empty(),
            "{name}: {inked} pixels inked"
        );
        if let Some(folder) = std::env::var_os("FRONTIER_FIGURES") {
            let folder = std::path::PathBuf::from(folder);
            for (style_name, style) in STYLES {
                let png = to_png(&figure, &style, 2.0).expect("drawn");
                std::fs::write(folder.join(format!("{name}-{style_name}.png")), png)
                    .expect("written");
            }
        }
    }
}

#[test]
fn empty_panels_say_so() {
    for (_, figure) in hostile()
        .into_iter()
        .filter(|(name, _)| matches!(*name, "no series" | "no points" | "not a number"))
    {
        let panels = figure.panels.len();
        assert_eq!(
            to_svg(&figure, &Style::WIDE).matches(">no data<").count(),
            panels
        );
    }
    let outside = hostile()
        .into_iter()
        .find(|(name, _)| *name == "out of range")
        .expect("there")
        .1;
    assert!(to_svg(&outside, &Style::WIDE).contains("no data in this range"));
}

#[test]
fn every_point_has_its_marker_and_saturated_ones_are_hollow() {
    let scene = compose(&comparison(), &Style::WIDE);
    let count = |wanted: bool, color: Rgb| {
        let is = |item: &&Item| matches!(item, Item::Marker { hollow, color: c, .. } if *hollow == wanted && *c == color);
        scene.items.iter().filter(is).count()
    };
    // Three panels of twelve points, and one legend entry; the second design has the star too.
    let [a, b] = [0, 1].map(|i| palette::SERIES[i].tone.on_light);
    assert_eq!((count(false, a), count(true, a)), (3 * 7 + 1, 3 * 5));
    assert_eq!((count(false, b), count(true, b)), (3 * 10 + 2, 3 * 2));
}

#[test]
fn a_cloud_of_ten_thousand_points_stays_small() {
    let scene = compose(&pareto(), &Style::PAPER_COLUMN);
    assert!(scene.items.len() < 10_000);
    let wave = hostile()
        .into_iter()
        .find(|(name, _)| *name == "10,000 points")
        .expect("there")
        .1;
    assert!(to_svg(&wave, &Style::WIDE).len() < 120_000);
}

#[test]
fn a_limit_far_above_the_data_is_named_at_the_edge() {
    let mut figure = comparison();
    figure.panels[0].marks = vec![Mark::limit(60_000.0, "SLO 60 s")];
    assert!(to_svg(&figure, &Style::WIDE).contains("SLO 60 s ↑"));
}

#[test]
fn sizes_beyond_reason_are_refused_or_mended() {
    let figure = comparison();
    assert!(matches!(
        to_png(&figure, &Style::WIDE, 17.0),
        Err(ReportError::TooLarge { max: MAX_SIDE, .. })
    ));
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(
            to_png(&figure, &Style::WIDE, scale),
            Err(ReportError::Scale { .. })
        ));
    }
    assert!(
        to_png(&figure, &Style::WIDE, 1e-6).is_ok(),
        "at least one pixel"
    );
    let mad = Style {
        width: f64::NAN,
        height: -5.0,
        font_size: f64::INFINITY,
    };
    assert!(to_svg(&figure, &mad).starts_with("<svg"));
}

#[test]
fn outlines_need_no_font() {
    let svg = to_outlined_svg(&comparison(), &Style::WIDE).expect("drawn");
    assert!(!svg.contains("<text") && svg.contains("<path"));
}

#[test]
fn files_appear_whole_and_replace_what_was_there() {
    let folder = tempfile::tempdir().expect("folder");
    let mut table = Table::new(vec![
        Column::new("Request rate", "requests/s"),
        Column::new("TTFT p95", "ms"),
    ]);
    for point in &comparison().panels[0].series[0].points {
        table
            .push(vec![Cell::Number(point[0]), Cell::Number(point[1])])
            .expect("fits");
    }
    let into = folder.path().join("new folder");
    for _ in 0..2 {
        let written = write_figure(&into, "load curve", &comparison(), &table).expect("written");
        assert_eq!(
            std::fs::read_to_string(&written.svg).expect("svg"),
            to_svg(&comparison(), &Style::default())
        );
        assert_eq!(
            std::fs::read_to_string(&written.csv).expect("csv"),
            table.to_csv().expect("csv")
        );
        assert!(resvg::tiny_skia::Pixmap::load_png(&written.png).is_ok());
    }
    assert_eq!(
        std::fs::read_dir(&into).expect("folder").count(),
        3,
        "no temporary file is left"
    );
}

#[test]
fn what_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "x").expect("written");
    let error = write_figure(&file, "a", &comparison(), &Table::default())
        .expect_err("a file is no folder");
    assert!(error.to_string().contains("file"), "{error}");
    for stem in [
        "",
        "../a",
        "a/b",
        "a\\b",
        ".hidden",
        "a\nb",
        &"x".repeat(400),
    ] {
        let error = write_figure(folder.path(), stem, &comparison(), &Table::default())
            .expect_err("no name");
        assert!(matches!(error, ReportError::FileName { .. }), "{stem:?}");
    }
}
