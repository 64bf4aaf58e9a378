use super::super::files::{MAX_FILES, preset_files};
use super::*;
use std::fs;
use tempfile::TempDir;

/// A user's folder holding the given `kind/name` files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn load(files: &[(&str, &str)]) -> Result<Catalog, CatalogError> {
    Catalog::load(Some(folder(files).path()))
}

fn shipped(path: &str) -> String {
    let (kind, name) = path.split_once('/').unwrap();
    embedded_files(kind)
        .unwrap()
        .into_iter()
        .find(|file| file.name == name)
        .unwrap()
        .text
}

fn gpu(id: &str) -> GpuId {
    GpuId::new(id).unwrap()
}

#[test]
fn every_row_we_ship_loads() {
    let catalog = Catalog::embedded().unwrap();
    assert_eq!(catalog.gpus().count(), 24);
    assert!(catalog.nics().count() >= 11);
    assert!(catalog.nodes().count() >= 34);
    assert!(catalog.switches().count() >= 11);
    assert_eq!(*Catalog::embedded_shared().unwrap(), catalog);
}

#[test]
fn the_catalog_offers_what_people_draw() {
    let catalog = Catalog::embedded().unwrap();
    let node = |id: &str| catalog.node(&NodeTypeId::new(id).unwrap()).unwrap();
    let total = |id: &str| {
        let node = node(id);
        catalog.nic(&node.nic).unwrap().rate * f64::from(node.nics)
    };
    // The network of a server as its seller states it.
    for (id, rate) in [
        ("dgx-a100-80", "1600 Gb/s"),
        ("dgx-h100", "3200 Gb/s"),
        ("dgx-b300", "6400 Gb/s"),
        ("aws-p4d", "400 Gb/s"),
        ("aws-p5", "3200 Gb/s"),
        ("aws-p5en", "3200 Gb/s"),
        ("aws-p6-b200", "3200 Gb/s"),
        ("aws-p6-b300", "6400 Gb/s"),
        ("gb200-nvl72", "28800 Gb/s"),
    ] {
        assert_eq!(total(id), rate.parse().unwrap(), "{id}");
    }
    assert_eq!(node("gb300-nvl72").gpus, 72);
    assert_eq!(node("cloudmatrix-384").gpus, 384);
    assert_eq!(node("rtx-4090-1").nics, 0);
    let h800 = catalog.gpu(&gpu("h800-sxm")).unwrap();
    assert_eq!(h800.scale_up, "200 GB/s".parse().unwrap());
    assert_eq!(h800.peaks.bf16, "989 TFLOPS".parse().unwrap());
}

#[test]
fn files_are_named_after_their_rows() {
    fn check<R: Row>() {
        for file in embedded_files(R::KIND).unwrap() {
            let row: R = parse(&file.text, &file.name).unwrap();
            assert_eq!(row.id().to_string(), file.name);
        }
    }
    check::<Gpu>();
    check::<Nic>();
    check::<NodeType>();
    check::<SwitchType>();
}

#[test]
fn every_preset_round_trips() {
    fn check<R: Row + PartialEq + std::fmt::Debug>() {
        for file in embedded_files(R::KIND).unwrap() {
            let row: R = parse(&file.text, &file.name).unwrap();
            for text in [
                ron::to_string(&row).unwrap(),
                ron::ser::to_string_pretty(&row, ron::ser::PrettyConfig::default()).unwrap(),
                dialect().to_string(&row).unwrap(),
            ] {
                let again: R = parse(&text, &file.name).unwrap();
                assert_eq!(again, row);
            }
        }
    }
    check::<Gpu>();
    check::<Nic>();
    check::<NodeType>();
    check::<SwitchType>();
}

#[test]
fn a_users_row_replaces_ours_or_adds_one() {
    let faster = shipped("gpus/h100-sxm").replace("3.35 TB/s", "3.9 TB/s");
    let new = shipped("gpus/h100-sxm").replace("\"h100-sxm\"", "\"h100-mine\"");
    let catalog = load(&[("gpus/anything.ron", &faster), ("gpus/mine.ron", &new)]).unwrap();
    assert_eq!(catalog.gpus().count(), 25);
    let h100 = catalog.gpu(&gpu("h100-sxm")).unwrap();
    assert_eq!(h100.bandwidth, "3.9 TB/s".parse().unwrap());
    let mine = catalog.gpu(&gpu("h100-mine")).unwrap();
    assert_eq!(mine.bandwidth, "3.35 TB/s".parse().unwrap());
}

#[test]
fn the_hash_is_of_the_content() {
    let ours = Catalog::embedded().unwrap();
    assert_eq!(
        ours.content_hash(),
        Catalog::embedded().unwrap().content_hash()
    );
    let same = load(&[("gpus/a.ron", &shipped("gpus/h100-sxm"))]).unwrap();
    assert_eq!(same.content_hash(), ours.content_hash());
    let dearer = shipped("gpus/h100-sxm").replace("1.99 $/h", "2.5 $/h");
    let other = load(&[("gpus/a.ron", &dearer)]).unwrap();
    assert_ne!(other.content_hash(), ours.content_hash());
}

#[test]
fn unknown_fields_are_refused_with_their_place() {
    let text = shipped("nics/cx7-400g").replace("    rate:", "    colour: \"green\",\n    rate:");
    let error = load(&[("nics/bad.ron", &text)]).unwrap_err();
    let CatalogError::Parse {
        file,
        line,
        column,
        why,
    } = &error
    else {
        panic!("{error}");
    };
    assert!(file.ends_with("bad.ron"), "{file}");
    assert_eq!((*line, *column > 0), (4, true), "{error}");
    assert!(why.contains("colour") && why.contains("rate"), "{why}");
}

#[test]
fn bad_quantities_are_refused_with_what_is_right() {
    for (wrong, hint) in [
        ("3.35", "TB/s"),
        ("-3.35 TB/s", "negative"),
        ("NaN TB/s", "finite"),
        ("3,35 TB/s", "3.35 TB/s"),
    ] {
        let text = shipped("gpus/h100-sxm").replace("3.35 TB/s", wrong);
        let error = load(&[("gpus/bad.ron", &text)]).unwrap_err();
        assert!(
            matches!(error, CatalogError::Parse { line: 9, .. }),
            "{error}"
        );
        assert!(error.to_string().contains(hint), "{error}");
    }
}

#[test]
fn a_node_of_unknown_parts_is_refused_by_name() {
    let text = shipped("nodes/hgx-h100").replace("h100-sxm", "h1000-sxm");
    let error = load(&[("nodes/bad.ron", &text)]).unwrap_err().to_string();
    for word in ["bad.ron", "hgx-h100", "GPU “h1000-sxm”", "h100-sxm"] {
        assert!(error.contains(word), "{error}");
    }
    let text = shipped("nodes/hgx-h100").replace("cx7-400g", "cx77-400g");
    let error = load(&[("nodes/bad.ron", &text)]).unwrap_err().to_string();
    assert!(error.contains("NIC “cx77-400g”"), "{error}");
}

#[test]
fn counts_have_bounds() {
    for (field, value) in [
        ("gpus: 8", "gpus: 0"),
        ("gpus: 8", "gpus: 1025"),
        ("nics: 8", "nics: 1025"),
    ] {
        let text = shipped("nodes/hgx-h100").replace(field, value);
        let error = load(&[("nodes/bad.ron", &text)]).unwrap_err();
        assert!(matches!(error, CatalogError::Count { .. }), "{error}");
    }
    let text = shipped("switches/qm9700-64x400g").replace("ports: 64", "ports: 0");
    assert!(load(&[("switches/bad.ron", &text)]).is_err());
}

#[test]
fn one_id_in_two_files_is_refused() {
    let text = shipped("nics/cx7-400g");
    let error = load(&[("nics/a.ron", &text), ("nics/b.ron", &text)]).unwrap_err();
    let CatalogError::Duplicate { id, first, second } = &error else {
        panic!("{error}");
    };
    assert_eq!(id, "cx7-400g");
    assert!(first.ends_with("a.ron") && second.ends_with("b.ron"));
}

#[test]
fn hostile_folders_are_refused_not_suffered() {
    let missing = Catalog::load(Some(Path::new("/no/such/folder"))).unwrap_err();
    assert!(matches!(missing, CatalogError::NoFolder { .. }));

    let large = " ".repeat((1 << 20) + 1);
    let error = load(&[("gpus/large.ron", &large)]).unwrap_err();
    assert!(matches!(error, CatalogError::TooLarge { .. }), "{error}");

    let deep = "(".repeat(500_000);
    let error = load(&[("gpus/deep.ron", &deep)]).unwrap_err();
    assert!(matches!(error, CatalogError::Parse { .. }), "{error}");

    let dir = folder(&[("gpus/x.txt", "not a preset")]);
    fs::write(dir.path().join("gpus/bytes.ron"), [0x28, 0xff, 0x29]).unwrap();
    let error = Catalog::load(Some(dir.path())).unwrap_err();
    assert!(
        matches!(error, CatalogError::NotUtf8 { byte: 1, .. }),
        "{error}"
    );

    let dir = folder(&[]);
    fs::create_dir_all(dir.path().join("gpus/folder.ron")).unwrap();
    assert!(Catalog::load(Some(dir.path())).is_ok());

    for count in 0..=MAX_FILES {
        fs::write(dir.path().join(format!("gpus/{count}.ron")), "()").unwrap();
    }
    let error = Catalog::load(Some(dir.path())).unwrap_err();
    assert!(
        matches!(error, CatalogError::TooManyFiles { .. }),
        "{error}"
    );
}

#[test]
fn any_text_is_a_row_or_refused() {
    use proptest::prelude::*;
    let shipped = shipped("gpus/h100-sxm");
    let length = shipped.chars().count();
    proptest!(|(at in 0..length, cut in 0usize..40, put in ".{0,12}")| {
        let text: String = shipped.chars().take(at)
            .chain(put.chars())
            .chain(shipped.chars().skip(at + cut))
            .collect();
        if let Err(error) = parse::<Gpu>(&text, "x.ron") {
            prop_assert!(error.to_string().starts_with("x.ron:"));
        }
    });
}

#[test]
fn preset_files_are_sorted_and_the_users_win() {
    let dir = folder(&[
        ("nics/cx7-400g.ron", "mine"),
        ("nics/aaa.ron", "new"),
        ("nics/x.md", "no"),
    ]);
    let files = preset_files("nics", Some(dir.path())).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert!(names.is_sorted());
    assert_eq!(names[0], "aaa");
    let mine = files.iter().find(|file| file.name == "cx7-400g").unwrap();
    assert_eq!(mine.text, "mine");
    assert_eq!(files.len(), preset_files("nics", None).unwrap().len() + 1);
    assert!(
        preset_files("nothing", Some(dir.path()))
            .unwrap()
            .is_empty()
    );
    assert!(preset_files("nic", None).unwrap().is_empty());
}
