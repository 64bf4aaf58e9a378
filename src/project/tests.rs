//! What a document promises: old files open for ever, a save loses nothing and spoils nothing,
//! and no file can hurt.

mod kinds;
mod loops;
mod random;
mod sample;

use super::*;
use crate::catalog::Catalog;
use crate::model::Models;
use crate::plan::{Demand, Severity, compile};
use crate::workload::{ColumnMap, TraceOptions};
use kinds::every_kind;
use loops::every_setting;
use sample::everything;
use std::fs;
use std::path::{Path, PathBuf};

/// Files as a version wrote them, with that version. Never edited: users have files like them.
const GOLDEN: [(&str, u32); 7] = [
    ("worked-example", 1),
    ("everything", 1),
    ("every-kind", 2),
    ("every-setting", 3),
    ("everything", 3),
    ("every-setting", 4),
    ("everything", 4),
];

fn golden_path(which: usize) -> PathBuf {
    let (name, version) = GOLDEN[which];
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/data/project/v{version}"))
        .join(format!("{name}.frontier.ron"))
}

fn golden(which: usize) -> String {
    fs::read_to_string(golden_path(which)).unwrap()
}

/// What an older version wrote, as today's writes it, which only adds to both.
fn golden_today(which: usize) -> String {
    let (_, version) = GOLDEN[which];
    golden(which)
        .replacen(&format!("version: {version}"), "version: 5", 1)
        // It is said of the file today, not of its columns.
        .replace(
            "Milliseconds, drop_failed: true)",
            "Milliseconds), drop_failed: true",
        )
}

fn worked_example() -> Project {
    load(&golden_path(0)).unwrap()
}

fn message(text: &str) -> String {
    parse(text, "f.ron").unwrap_err().to_string()
}

/// The worked example with one piece of its text replaced.
fn with(from: &str, to: &str) -> String {
    let text = golden(0);
    assert!(text.contains(from), "the example has no {from}");
    text.replacen(from, to, 1)
}

/// What version 1 could say of everything.
fn everything_of_version_1() -> Project {
    let mut project = everything();
    let workload = &mut project.workload;
    workload.sessions = None;
    workload.hidden = None;
    workload.priorities.clear();
    if let Some(file) = &mut workload.trace {
        let columns = file.options.columns.take().map(|own| ColumnMap {
            priority: None,
            session: None,
            blocks: None,
            ..own
        });
        file.options = TraceOptions {
            columns,
            drop_failed: file.options.drop_failed,
            ..TraceOptions::default()
        };
    }
    project
}

#[test]
fn files_of_every_version_open_and_are_written_alike() {
    for which in 0..GOLDEN.len() {
        let project = load(&golden_path(which)).unwrap();
        assert_eq!(
            to_text(&project).replace(env!("CARGO_PKG_VERSION"), "0.1.0"),
            golden_today(which)
        );
    }
    assert_eq!(load(&golden_path(1)).unwrap(), everything_of_version_1());
    assert_eq!(load(&golden_path(4)).unwrap(), everything());
    assert_eq!(load(&golden_path(2)).unwrap(), every_kind());
    assert_eq!(load(&golden_path(3)).unwrap(), every_setting());
    assert_eq!(load(&golden_path(5)).unwrap(), every_setting());
    assert_eq!(load(&golden_path(6)).unwrap(), everything());
    let project = worked_example();
    assert_eq!(project.designs.len(), 2);
    assert_eq!(project.designs[0].pools[0].gpus[0].to_string(), "n0/0/0-7");
    assert_eq!(
        project.workload,
        crate::workload::Workload::fixed(2048, 256, 2000)
    );
}

#[test]
fn a_bundle_is_a_line_and_a_move_changes_one() {
    let mut project = worked_example();
    let before = to_text(&project);
    let line = before
        .lines()
        .find(|line| line.contains("count: 8"))
        .unwrap();
    assert!(
        line.contains("n0-n1") && line.contains("Infiniband"),
        "{line}"
    );
    project.designs[0].cluster.groups[0].position.x += 33.333;
    let after = to_text(&project);
    let changed: Vec<_> = before
        .lines()
        .zip(after.lines())
        .filter(|(a, b)| a != b)
        .collect();
    assert_eq!(changed.len(), 1);
    assert!(
        changed[0].1.contains("x: 113.3, y: 80.0"),
        "{}",
        changed[0].1
    );
}

#[test]
fn places_that_are_none_are_saved_as_places() {
    let mut project = worked_example();
    project.designs[0].cluster.groups[0].position = crate::cluster::Position {
        x: f32::NAN,
        y: f32::INFINITY,
    };
    let position = parse(&to_text(&project), "x").unwrap().designs[0]
        .cluster
        .groups[0]
        .position;
    assert_eq!((position.x, position.y), (0.0, 0.0));
}

#[test]
fn newer_and_foreign_files_are_named() {
    let newer = with("version: 1", "version: 6")
        .replace("\"0.1.0\"", "\"0.9.4\"")
        .replace("project: (", "whatever: [(), Some(1)], project: (");
    let message_of_newer = message(&newer);
    assert!(
        message_of_newer.contains("version 6") && message_of_newer.contains("0.9.4"),
        "{message_of_newer}"
    );
    assert!(
        message_of_newer.contains("up to 5")
            && message_of_newer.contains(env!("CARGO_PKG_VERSION")),
        "{message_of_newer}"
    );
    assert!(matches!(
        parse(&with("version: 1", "version: 0"), "x"),
        Err(ProjectError::NoSuchVersion { .. })
    ));
    assert!(message(&with("frontier-project", "someone-else")).contains("“someone-else”"));
    assert!(matches!(
        parse("(a: 1)", "x"),
        Err(ProjectError::NotAProject { .. })
    ));
    assert!(parse("", "x").is_err());
    assert!(
        parse(&format!("\u{feff}{}", golden(0)), "x").is_ok(),
        "a byte order mark"
    );
}

#[test]
fn errors_have_file_line_column_and_field() {
    for (from, to, says) in [
        ("role: Prefill", "rule: Prefill", "rule"),
        ("role: Prefill", "role: Prefil", "Prefil"),
        (
            "kind: Infiniband",
            "kind: Infiniband, colour: Red",
            "colour",
        ),
        ("count: 8", "count: -8", "count"),
        ("rate: \"50 GB/s\"", "rate: \"50\"", "no unit"),
        ("rate: \"50 GB/s\"", "rate: \"0,5 GB/s\"", "decimal point"),
        (
            "gpus: [\"n0/0/0-7\"]",
            "gpus: [\"n0/0\"]",
            "group/instances/slots",
        ),
        ("attainment: 0.9", "attainment: 90", "0 to 1"),
        ("percentile: 95.0", "percentile: NaN", "0 to 100"),
        ("loads: []", "loads: [1.0, inf]", "inf"),
        ("x: 80.0", "x: NaN", "canvas"),
        ("x: 80.0", "x: 1e30", "canvas"),
        (
            "gpu_memory_utilization: 0.9",
            "gpu_memory_utilization: NaN",
            "gpu_memory_utilization: NaN is not a finite",
        ),
    ] {
        let text = with(from, to);
        let line = text
            .lines()
            .zip(golden(0).lines())
            .position(|(a, b)| a != b)
            .unwrap()
            + 1;
        let message = message(&text);
        assert!(
            message.starts_with(&format!("f.ron, line {line}, column ")),
            "{to}: {message}"
        );
        assert!(message.contains(says), "{to}: {message}");
    }
    let cut = golden(0);
    assert!(message(&cut[..cut.len() / 2]).contains("cut off"));
    assert!(message(&format!("{cut} more")).contains("line"));
}

#[test]
fn sizes_are_bounded() {
    let text = golden(0);
    let design = &text[text.find("      (\n        id: \"a\"").unwrap()
        ..text.find("      (\n        id: \"b\"").unwrap()];
    let many: String = (0..65)
        .map(|i| design.replace("id: \"a\"", &format!("id: \"d{i}\"")))
        .collect();
    assert!(message(&text.replacen(design, &many, 1)).contains("more than 64"));
    let twice = text.replacen(design, &design.repeat(2), 1);
    assert!(message(&twice).contains("“a”"));
    let loads = format!("loads: [{}]", "1.0,".repeat(2000));
    assert!(message(&text.replace("loads: []", &loads)).contains("more than 1024"));
    let name = format!("name: \"{}\"", "x".repeat(2000));
    assert!(message(&with("name: \"1P1D\"", &name)).contains("2000 bytes"));
    for (from, to, says) in [
        ("\"n0/0/0-7\"", "\"n0/0-100000/0-100000\"", "GPUs"),
        ("tp: 4", "tp: 4294967295", "at most"),
    ] {
        assert!(message(&with(from, to)).contains(says));
    }
    let wide = text.replace("count: 1,", "count: 16384,");
    assert!(
        message(&wide).contains("links"),
        "268 million links from a line"
    );
}

#[test]
fn depth_is_bounded() {
    for open in ["(", "[", "Some(", "{0:", "(a:"] {
        let deep = open.repeat(200_000);
        assert!(parse(&deep, "x").is_err());
        let text = with("project: (", &format!("project: {deep}("));
        assert!(parse(&text, "x").is_err());
    }
}

#[test]
fn a_huge_file_is_refused_by_its_size() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(2 << 30).unwrap();
    let started = std::time::Instant::now();
    assert!(matches!(
        load(file.path()),
        Err(ProjectError::TooLarge { .. })
    ));
    assert!(started.elapsed().as_millis() < 500);
    assert!(matches!(
        load(&std::env::temp_dir()),
        Err(ProjectError::Read { .. })
    ));
    fs::write(file.path(), b"(format: \"\xff\")").unwrap();
    assert!(matches!(
        load(file.path()),
        Err(ProjectError::NotText { byte: 10, .. })
    ));
}

#[test]
fn a_save_is_what_was_saved_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.frontier.ron");
    for project in [
        worked_example(),
        everything(),
        every_kind(),
        every_setting(),
    ] {
        save(&path, &project).unwrap();
        assert_eq!(load(&path).unwrap(), project);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_failed_save_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.frontier.ron");
    save(&path, &worked_example()).unwrap();
    let before = fs::read(&path).unwrap();
    // A project no document can hold.
    let mut absurd = worked_example();
    absurd.curve.loads = vec![f64::NAN];
    let error = save(&path, &absurd).unwrap_err();
    assert!(matches!(error, ProjectError::Write { .. }), "{error}");
    absurd = worked_example();
    absurd.designs.clear();
    assert!(save(&path, &absurd).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
    // Places that can't be written.
    let nowhere = folder.path().join("no such folder/x.frontier.ron");
    assert!(
        save(&nowhere, &worked_example())
            .unwrap_err()
            .to_string()
            .contains("can't save")
    );
    assert!(save(folder.path(), &worked_example()).is_err());
    assert!(save(&path.join("x.ron"), &worked_example()).is_err());
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert!(
        save(&path, &everything())
            .unwrap_err()
            .to_string()
            .contains("read-only")
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file is left"
    );
}

#[cfg(unix)]
#[test]
fn permissions_and_symbolic_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.ron");
    let link = folder.path().join("link.ron");
    symlink("real.ron", &link).unwrap();
    save(&link, &worked_example()).unwrap();
    assert!(real.is_file(), "a link to nothing yet");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    save(&link, &everything()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(load(&link).unwrap(), everything());
    let circle = folder.path().join("circle.ron");
    symlink("circle.ron", &circle).unwrap();
    assert!(save(&circle, &everything()).is_err());
}

#[test]
fn paths_in_a_document_start_at_its_folder() {
    let document = Path::new("/home/me/study/a.frontier.ron");
    assert_eq!(
        resolve(document, "traces/x.csv"),
        Path::new("/home/me/study/traces/x.csv")
    );
    assert_eq!(resolve(document, "/data/x.csv"), Path::new("/data/x.csv"));
    assert_eq!(resolve(Path::new("a.ron"), "x.csv"), Path::new("x.csv"));
}

#[test]
fn every_example_opens_and_runs() {
    let catalog = Catalog::embedded().unwrap();
    let models = Models::embedded().unwrap();
    let examples = examples();
    assert_eq!(examples[0].name, FIRST_EXAMPLE);
    let files = crate::catalog::preset_files("examples", None).unwrap();
    assert_eq!(
        examples.len(),
        files.len(),
        "one that can't be opened is left out"
    );
    assert!(examples.len() >= 4);
    for Example { name, title, story } in examples {
        assert!(!title.is_empty() && story.len() > 100, "{name}");
        let project = example(&name).unwrap();
        assert_eq!(parse(&to_text(&project), &name).unwrap(), project);
        for design in &project.designs {
            let longest_prompt = project.workload.input.longest();
            let demand = Demand {
                longest_context: longest_prompt + project.workload.output.longest(),
                longest_prompt,
            };
            let compiled = compile(design, &catalog, &models, demand);
            let worse: Vec<_> = compiled
                .findings
                .iter()
                .filter(|f| f.severity != Severity::Hint)
                .collect();
            assert!(worse.is_empty(), "{name}, {}: {worse:#?}", design.name);
            let plan = compiled.plan.unwrap();
            let painted: u64 = design
                .pools
                .iter()
                .flat_map(|pool| &pool.gpus)
                .map(|range| range.len())
                .sum();
            let replicas: usize = plan.pools.iter().map(|pool| pool.replicas.len()).sum();
            let (gpus, expected) = match (name.as_str(), design.id.as_str()) {
                ("colocated-1024-gpus", _) => (1024, 128),
                ("pdd-1024-gpus", _) => (1024, 128),
                ("deepseek-v3-h200", "a") => (8, 1),
                ("deepseek-v3-h200", _) => (16, 2),
                ("step-3-afd", "a") => (32, 17),
                ("step-3-afd", "b") => (40, 25),
                ("step-3-afd", _) => (32, 2),
                _ => (16, 4),
            };
            assert_eq!(
                (painted, replicas),
                (gpus, expected),
                "{name}, {}",
                design.name
            );
        }
    }
    let error = example("no-such").unwrap_err().to_string();
    assert!(error.contains(FIRST_EXAMPLE), "{error}");
}

/// Import, save, load: the same model, of every kind there is.
#[test]
fn imported_models_survive_saving() {
    let models = crate::model::published_models();
    assert!(models.len() > 100);
    let mut project = worked_example();
    for model in models {
        for design in &mut project.designs {
            design.model = crate::plan::ModelRef::Inline(Box::new(model.clone()));
        }
        let text = to_text(&project);
        assert_eq!(parse(&text, "f.ron").unwrap(), project, "{}", model.name);
    }
}

#[test]
fn a_split_is_written_where_it_is_chosen() {
    let mut project = example("step-3-afd").unwrap();
    let was = project.clone();
    for service in &mut project.designs[0].services {
        if let crate::plan::Service::Afd { split, .. } = service {
            split.micro_batches = 2;
            split.broadcast = false;
        }
    }
    assert_ne!(project, was);
    assert_eq!(parse(&to_text(&project), "f.ron").unwrap(), project);
}

#[test]
fn routing_is_written_where_it_is_chosen() {
    let mut project = worked_example();
    assert!(!to_text(&project).contains("routing"));
    project.designs[0].routing.handover = crate::plan::Rule::PowerOfTwo;
    let text = to_text(&project);
    assert!(text.contains("handover: PowerOfTwo"), "{text}");
    assert_eq!(parse(&text, "f.ron").unwrap(), project);
}
