mod communication;
mod decode;
mod delta;
mod edges;
mod forests;
mod gemm;
mod kernels;
mod moe;
mod prefill;
mod products;

use super::{Forest, Node, Tree};

fn question(feature: u8, threshold: u16, above: u16) -> Node {
    Node::Question {
        feature,
        threshold,
        above,
    }
}

fn two_trees() -> Forest {
    Forest {
        scale: 0.01,
        trees: vec![
            // 1125 / 128 − 8 = 0.789.
            Tree(vec![
                question(0, 1125, 4),
                question(2, 12, 3),
                Node::Answer(-127),
                Node::Answer(3),
                Node::Answer(127),
            ]),
            Tree(vec![Node::Answer(5)]),
        ],
    }
}

#[test]
fn a_forest_survives_its_text() {
    let forest = two_trees();
    let back = Forest::decode(&forest.encode(), 0.01, 3).unwrap();
    assert_eq!(back, forest);
    assert!((forest.sum(&[0.7, 0.0, -8.0]) - 0.01 * (5.0 - 127.0)).abs() < 1e-12);
    assert!((forest.sum(&[0.7, 0.0, 0.0]) - 0.01 * (5.0 + 3.0)).abs() < 1e-12);
    assert!((forest.sum(&[0.8, 0.0, 5.0]) - 0.01 * (5.0 + 127.0)).abs() < 1e-12);
}

#[test]
fn text_that_is_no_forest_is_refused() {
    let text = two_trees().encode();
    assert!(
        Forest::decode(&text, 0.01, 2).is_err(),
        "a feature the family does not have"
    );
    assert!(Forest::decode(&text[..6], 0.01, 3).is_err(), "cut short");
    assert!(
        Forest::decode(
            "//////////////////////////////////////////////////////////",
            0.01,
            64
        )
        .is_err(),
        "questions without end"
    );
    assert!(Forest::decode("?", 0.01, 3).is_err());
    assert!(Forest::decode(&text, f64::NAN, 3).is_err());
}

mod files {
    use crate::cost::calibrated::{CalibrationError, Calibrations, Family, Forest};

    /// A file with one surface of products.
    fn file(change: impl Fn(&mut String)) -> String {
        let names: Vec<String> = Family::Gemm
            .parameters()
            .iter()
            .map(|own| format!("{:?}", own.name))
            .collect();
        let starts: Vec<String> = Family::Gemm
            .parameters()
            .iter()
            .map(|own| own.start.to_string())
            .collect();
        let mut text = format!(
            "(version: 1, data: \"0\", code: \"0\", gpu: \"h100-sxm\", parameters: {{gemm: [{}]}}, stand_ins: [], surfaces: [\
             (family: gemm, engine: \"vllm\", version: \"0.24.0\", precision: \"bfloat16\", parameters: [{}], \
             range: [(0.0, 10.4), (3.4, 11.1), (3.4, 11.1)], held_out: (100, 0.03, 0.1, 0.12, 0.0, -0.08, 0.09), \
             scale: 0.0, trees: {:?})])",
            names.join(", "),
            starts.join(", "),
            Forest::default().encode()
        );
        change(&mut text);
        text
    }

    fn why(change: impl Fn(&mut String)) -> String {
        Calibrations::parse(&file(change), "mine.ron")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_whole_file_is_read_and_a_broken_one_says_where_and_why() {
        let whole = Calibrations::parse(&file(|_| {}), "mine.ron").unwrap();
        assert_eq!(whole.surfaces().len(), 1);
        let swap = |from: &'static str, to: &'static str| {
            move |text: &mut String| *text = text.replace(from, to)
        };
        for (from, to, words) in [
            ("version: 1", "version: 9", "version 9"),
            ("\"launch_us\"", "\"lunch_us\"", "calibrate again"),
            ("0.03, 0.1", "NaN, 0.1", "not a number"),
            ("scale: 0.0", "scale: 7.0", "between 0 and 1"),
            ("trees: \"", "trees: \"!", "base64"),
            ("(0.0, 10.4), ", "", "range"),
            ("(0.0, 10.4)", "(0.0, inf)", "not finite"),
            ("engine: \"vllm\", ", "", "engine"),
            ("scale: 0.0", "scale: 0.0, colour: 1", "colour"),
        ] {
            let why = why(swap(from, to));
            assert!(
                why.contains("mine.ron") && why.contains(words),
                "{from} → {to}: {why}"
            );
        }
        // A parameter outside what is plausible.
        let launch = Family::Gemm.parameters()[0];
        let text = file(|_| {}).replacen(&format!("[{}", launch.start), "[9e9", 1);
        let error = Calibrations::parse(&text, "mine.ron").unwrap_err();
        assert!(matches!(error, CalibrationError::Surface { .. }), "{error}");
        assert!(error.to_string().contains(launch.name), "{error}");
    }

    #[test]
    fn every_file_we_ship_is_whole_and_all_of_them_are_small() {
        let all = Calibrations::load(None).unwrap();
        for surface in all.surfaces() {
            assert!(surface.held_out.median <= 0.36, "{:?}", surface.id);
        }
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("presets/calibration");
        let size: u64 = dir
            .read_dir()
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(size < 2_000_000, "{size} bytes");
    }
}

mod choice {
    use super::super::backends::is_served;
    use crate::catalog::{Catalog, GpuId};
    use crate::cost::calibrated::{
        Attributes, CalibrationFile, Calibrations, Errors, Family, Forest, Match, StandIn, Surface,
        SurfaceRow, TableId, VERSION, Wanted, relatives,
    };

    fn surface(version: &str, rows: usize) -> Surface {
        Surface {
            id: TableId {
                gpu: GpuId::new("gb200").unwrap(),
                family: Family::Gemm,
                engine: "trtllm".to_owned(),
                version: version.to_owned(),
                precision: "bfloat16".to_owned(),
                kernel: String::new(),
            },
            attributes: Attributes::default(),
            parameters: Vec::new(),
            forest: Forest::default(),
            range: Vec::new(),
            held_out: Errors {
                rows,
                ..Errors::default()
            },
            residuals: None,
        }
    }

    /// The version asked for, else the nearest, whatever has more rows.
    #[test]
    fn versions_are_told_apart_to_their_last_number() {
        let versions = ["1.2.0rc5", "1.3.0rc10", "1.3.0rc20", "0.5.6.post2", "0.5.6"];
        let all = versions.iter().zip([5, 1, 9, 2, 7]);
        let calibrations = Calibrations::of(all.map(|(own, rows)| surface(own, rows)).collect());
        let gpu = GpuId::new("gb200").unwrap();
        let find = |version: &str| {
            let wanted = Wanted {
                gpu: &gpu,
                family: Family::Gemm,
                precision: "bfloat16",
                engine: "trtllm",
                version,
                kernel: "",
                tags: &[],
            };
            let (own, near) = calibrations.find(&wanted, &[]).unwrap();
            (own.id.version.clone(), near)
        };
        for own in versions {
            assert_eq!(find(own), (own.to_owned(), Match::Exact));
        }
        assert_eq!(find("1.3.0rc12"), ("1.3.0rc10".to_owned(), Match::Version));
        assert_eq!(find("0.5.6.post1").1, Match::Version);
        assert_eq!(find("").0, "1.3.0rc20", "the newest");
    }

    /// A table is held against its own fit, whatever serving runs.
    #[test]
    fn serving_takes_no_fit_of_what_it_does_not_run() {
        let all = Calibrations::embedded().unwrap();
        let served = all.only(is_served);
        assert_eq!(served.surfaces().len() + 3, all.surfaces().len());
        let gpu = GpuId::new("gb200").unwrap();
        let wanted = Wanted {
            gpu: &gpu,
            family: Family::Decode,
            precision: "bfloat16",
            engine: "trtllm",
            version: "1.3.0rc10",
            kernel: "",
            tags: &[],
        };
        let version = |own: &Calibrations| {
            let (surface, near) = own.find(&wanted, &[]).unwrap();
            (surface.id.version.clone(), near)
        };
        assert_eq!(version(&all), ("1.3.0rc10".to_owned(), Match::Exact));
        assert_eq!(version(&served), ("1.3.0rc20".to_owned(), Match::Version));
    }

    /// A file of one surface.
    fn file_of(family: Family, gpu: &str, engine: &str) -> CalibrationFile {
        let mut own = surface("1.3.0", 5);
        own.id.family = family;
        own.id.gpu = GpuId::new(gpu).unwrap();
        own.id.engine = engine.to_owned();
        own.parameters = family
            .parameters()
            .iter()
            .map(|known| known.start)
            .collect();
        own.range = vec![(0.0, 1.0); family.sizes()];
        let names = family
            .parameters()
            .iter()
            .map(|known| known.name.to_owned());
        CalibrationFile {
            version: VERSION,
            data: "1".to_owned(),
            code: "2".to_owned(),
            gpu: own.id.gpu.clone(),
            parameters: [(family, names.collect())].into(),
            stand_ins: Vec::new(),
            surfaces: vec![SurfaceRow::of(&own)],
        }
    }

    /// A GPU of which another engine was measured, and a relative of which the wanted engine was.
    #[test]
    fn a_relative_of_another_balance_is_believed_less() {
        let catalog = Catalog::embedded().unwrap();
        let kin_of = |id: &str| {
            let gpu = catalog.gpu(&id.parse().unwrap()).unwrap();
            relatives(gpu, Family::Decode, &catalog)
        };
        let strain = |id: &str, kin: &str| {
            let all = kin_of(id);
            all.iter()
                .find(|own| own.gpu.as_str() == kin)
                .unwrap()
                .strain
        };
        assert_eq!(strain("h200-sxm", "h100-sxm"), 0.0);
        assert_eq!(strain("b200-sxm", "gb200"), 0.0);
        let h20 = strain("h20-96", "h200-sxm");
        assert!((0.2..0.5).contains(&h20), "{h20}");
        let of = |gpu: &str, engine: &str| {
            let mut own = surface("1", 100);
            own.id.gpu = GpuId::new(gpu).unwrap();
            own.id.family = Family::Decode;
            own.id.engine = engine.to_owned();
            own
        };
        // An H200's tables were seen to stand in within 3 %, another engine's were never seen to.
        let known = CalibrationFile {
            stand_ins: vec![StandIn::of(
                Family::Decode,
                Match::Relative,
                &Errors {
                    rows: 100,
                    median: 0.03,
                    ..Errors::default()
                },
            )],
            ..file_of(Family::Decode, "h200-sxm", "vllm")
        };
        let known = Calibrations::parse(&known.text(), "h200.ron").unwrap();
        let near = |gpu: &str| {
            let calibrations = known.with(vec![of(gpu, "another")]);
            let gpu = GpuId::new(gpu).unwrap();
            let wanted = Wanted {
                gpu: &gpu,
                family: Family::Decode,
                precision: "bfloat16",
                engine: "vllm",
                version: "1.3.0",
                kernel: "",
                tags: &[],
            };
            calibrations.find(&wanted, &kin_of(gpu.as_str())).unwrap().1
        };
        assert_eq!(near("h100-sxm"), Match::Relative);
        assert_eq!(near("h20-96"), Match::Engine);
        // Alone, the relative stands in, and says by how much less it is believed.
        let calibrations = Calibrations::of(vec![of("h200-sxm", "vllm")]);
        let (kin, own) = (kin_of("h20-96"), of("h200-sxm", "vllm"));
        let widened = calibrations.band_among(&kin, &own, Match::Relative).below;
        let plain = calibrations.band(&own, Match::Relative).below;
        assert!((widened - plain - h20).abs() < 1e-12);
    }

    /// One family calibrated anew: the other's surfaces stay, with the names of their parameters.
    #[test]
    fn a_file_over_an_older_one_can_be_read() {
        let of = |family| file_of(family, "gb200", "trtllm");
        let file = of(Family::Gemm).over(of(Family::Rowwise));
        let read = Calibrations::parse(&file.text(), "mine.ron").unwrap();
        let families: Vec<Family> = read.surfaces().iter().map(|own| own.id.family).collect();
        assert_eq!(families, [Family::Gemm, Family::Rowwise]);
    }
}
