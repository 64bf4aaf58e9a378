//! Tests of the whole window, driven as a user drives it: find by label, click, type, press keys.

use super::command::{Action, UiCommand};
use super::dialogs::Dialog;
use super::edit::Edit;
use super::files::{FileTask, Purpose};
use super::selection::{Item, Selection};
use super::*;
use crate::catalog::{ModelId, NodeTypeId};
use crate::cluster::{Cluster, Group, GroupId, GroupKind, Position};
use crate::model::Precision;
use crate::plan::{Engine, Layout, ModelRef, Pool, PoolId, Role};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use std::time::Instant;

fn group(id: &str) -> Group {
    Group {
        id: GroupId::from_label(id),
        name: id.to_owned(),
        kind: GroupKind::Node(NodeTypeId::from_label("hgx-h800")),
        count: 1,
        position: Position { x: 40.0, y: 40.0 },
        overrides: std::collections::BTreeMap::new(),
    }
}

fn example() -> Project {
    let mut project = starter::empty_project();
    let design = &mut project.designs[0];
    design.name = "One node".to_owned();
    design.cluster = Cluster {
        groups: vec![group("n0")],
        links: Vec::new(),
    };
    design.model = ModelRef::Preset(ModelId::from_label("qwen3-30b-a3b"));
    design.pools = vec![Pool {
        id: PoolId::from_label("serve"),
        name: "serve".to_owned(),
        role: Role::Colocated,
        gpus: vec!["n0/0/0-7".parse().unwrap()],
        layout: Layout {
            tp: 4,
            ..Layout::SINGLE
        },
        engine: Engine::vllm(true),
        precision: Precision::BF16,
    }];
    design.settle();
    project
}

fn window(project: Project) -> Harness<'static, App> {
    let mut harness = Harness::builder()
        .with_size([1280.0, 1600.0])
        .with_max_steps(60)
        .build_eframe(|cc| App::for_test(&cc.egui_ctx, project).unwrap());
    settle(&mut harness);
    harness
}

/// A few frames: queued actions are executed and what they changed is drawn.
fn settle(harness: &mut Harness<'static, App>) {
    harness.run_steps(4);
}

/// Frames until something has happened on another thread.
fn wait_for(harness: &mut Harness<'static, App>, what: &str, test: impl Fn(&App) -> bool) {
    let start = Instant::now();
    while !test(harness.state()) {
        assert!(start.elapsed().as_secs() < 20, "{what}");
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
    settle(harness);
}

fn ask(harness: &mut Harness<'static, App>, action: Action) {
    harness.state_mut().actions.push(action);
    settle(harness);
}

#[test]
fn typing_a_name_changes_the_document_and_undo_brings_it_back() {
    let mut harness = window(example());
    let before = harness.state().project().clone();
    let field = harness.get_by_label("Name");
    field.focus();
    settle(&mut harness);
    harness.key_combination_modifiers(egui::Modifiers::COMMAND, &[egui::Key::A]);
    settle(&mut harness);
    harness.get_by_label("Name").type_text("Better node");
    harness.step();
    assert_eq!(
        harness.state().project().designs[0].name,
        "One node",
        "not before Enter"
    );
    harness.key_press(egui::Key::Enter);
    settle(&mut harness);
    assert_eq!(harness.state().project().designs[0].name, "Better node");
    assert!(harness.state().history.is_dirty());

    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    settle(&mut harness);
    assert_eq!(*harness.state().project(), before);
    assert!(!harness.state().history.is_dirty());
}

#[test]
fn a_choice_in_the_inspector_changes_the_pool() {
    let mut harness = window(example());
    let pool = Item::Pool(PoolId::from_label("serve"));
    ask(&mut harness, Action::Select(Selection::one(pool)));
    harness
        .get_by_role_and_label(egui::accesskit::Role::ComboBox, "Weights")
        .click();
    settle(&mut harness);
    harness.get_by_label("FP8").click();
    settle(&mut harness);
    let weights = harness.state().project().designs[0].pools[0]
        .precision
        .weights;
    assert_eq!(weights, crate::catalog::Dtype::Fp8);
    assert_eq!(harness.state().history.undo_label(), Some("Weights in FP8"));
}

#[test]
fn a_unit_that_cannot_be_read_is_said_and_changes_nothing() {
    let mut harness = window(example());
    let before = harness.state().project().clone();
    harness.get_by_label("TPOT").focus();
    settle(&mut harness);
    harness.get_by_label("TPOT").type_text(" furlongs");
    harness.step();
    harness.key_press(egui::Key::Enter);
    settle(&mut harness);
    assert_eq!(*harness.state().project(), before);
    assert!(harness.query_by_label_contains("unknown unit").is_some());
}

#[test]
fn designs_are_added_renamed_and_deleted_as_tabs() {
    let mut harness = window(example());
    harness.get_by_label("Add a design").click();
    settle(&mut harness);
    harness.get_by_label_contains("Duplicate design").click();
    settle(&mut harness);
    let names = |harness: &Harness<'static, App>| -> Vec<String> {
        let designs = harness.state().project().designs.iter();
        designs.map(|d| d.name.clone()).collect()
    };
    assert_eq!(names(&harness), ["One node", "One node copy"]);
    assert_eq!(
        harness.state().design().name,
        "One node copy",
        "the new one is in view"
    );

    let id = harness.state().view.design.clone();
    harness.state_mut().view.renaming = Some((id, String::new()));
    settle(&mut harness);
    harness.get_by_label("Name of the design").type_text("TP 8");
    harness.step();
    harness.key_press(egui::Key::Enter);
    settle(&mut harness);
    assert_eq!(names(&harness), ["One node", "TP 8"]);

    harness.get_by_label("Delete TP 8").click();
    settle(&mut harness);
    assert_eq!(names(&harness), ["One node"]);
    assert!(harness.state().toasts.texts()[0].starts_with("Deleted TP 8"));
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    settle(&mut harness);
    assert_eq!(names(&harness), ["One node", "TP 8"]);
}

#[test]
fn keys_choose_tools_but_not_while_text_is_typed() {
    let mut harness = window(example());
    harness.key_press(egui::Key::H);
    settle(&mut harness);
    assert_eq!(harness.state().view.tool, Tool::Hand);
    harness.get_by_label("Name").focus();
    settle(&mut harness);
    harness.key_press(egui::Key::V);
    settle(&mut harness);
    assert_eq!(
        harness.state().view.tool,
        Tool::Hand,
        "V belongs to the text"
    );
}

#[test]
fn the_more_specific_shortcut_wins() {
    let mut harness = window(example());
    ask(
        &mut harness,
        Action::Edit(Edit::project("Seed", |p| p.workload.seed = 9)),
    );
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    settle(&mut harness);
    let redo = egui::Modifiers::COMMAND | egui::Modifiers::SHIFT;
    harness.key_press_modifiers(redo, egui::Key::Z);
    settle(&mut harness);
    assert_eq!(harness.state().project().workload.seed, 9);
}

#[test]
fn a_file_that_is_no_project_is_refused_with_its_path_and_cause() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.frontier.ron");
    std::fs::write(&path, "not a project").unwrap();
    let mut harness = window(example());
    let before = harness.state().project().clone();
    ask(&mut harness, Action::File(FileTask::Type(Purpose::Open)));
    assert!(harness.query_by_label("Open a project").is_some());
    ask(
        &mut harness,
        Action::File(FileTask::Chosen(Purpose::Open, path.clone())),
    );
    wait_for(&mut harness, "an error is shown", |app| {
        matches!(app.dialog, Some(Dialog::Error { .. }))
    });
    let shown = path.display().to_string();
    assert!(harness.query_all_by_label_contains(&shown).next().is_some());
    assert_eq!(*harness.state().project(), before, "nothing was lost");
    harness.get_by_label("OK").click();
    settle(&mut harness);
    assert!(harness.state().dialog.is_none());
}

#[test]
fn a_path_that_names_nothing_is_refused_in_the_field() {
    let mut harness = window(example());
    ask(&mut harness, Action::File(FileTask::Type(Purpose::Open)));
    harness
        .get_by_label_contains("Type a path, such as")
        .type_text("/no/such/file");
    harness.step();
    harness.get_by_label("Open").click();
    settle(&mut harness);
    assert!(
        harness
            .query_by_label_contains("There is no file")
            .is_some()
    );
}

#[test]
fn what_is_saved_is_clean_and_can_be_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut harness = window(example());
    ask(
        &mut harness,
        Action::Edit(Edit::project("Seed", |p| p.workload.seed = 9)),
    );
    assert!(harness.state().history.is_dirty());
    let path = dir.path().join("mine");
    ask(
        &mut harness,
        Action::File(FileTask::Chosen(Purpose::Save, path.clone())),
    );
    wait_for(&mut harness, "it is saved", |app| !app.history.is_dirty());
    assert!(dir.path().join("mine.frontier.ron").exists());
    assert_eq!(harness.state().document_name(), "mine.frontier.ron");
    let saved = harness.state().project().clone();
    ask(&mut harness, Action::Command(UiCommand::New));
    assert_ne!(*harness.state().project(), saved);
    let file = dir.path().join("mine.frontier.ron");
    ask(&mut harness, Action::OpenPath(file));
    wait_for(&mut harness, "it is opened", |app| *app.project() == saved);
}

#[test]
fn a_new_document_asks_before_changes_are_lost() {
    let mut harness = window(example());
    ask(
        &mut harness,
        Action::Edit(Edit::project("Seed", |p| p.workload.seed = 9)),
    );
    wait_for(&mut harness, "a run ends", |app| !app.runner.is_busy());
    ask(&mut harness, Action::Command(UiCommand::New));
    harness.get_by_label("Cancel").click();
    settle(&mut harness);
    assert_eq!(harness.state().project().workload.seed, 9);
    ask(&mut harness, Action::Command(UiCommand::New));
    harness.get_by_label("Discard").click();
    settle(&mut harness);
    assert_eq!(harness.state().project().name, "Untitled");
    assert!(harness.state().history.undo_label().is_none());
}

#[test]
fn a_simulation_starts_by_itself_and_ends() {
    let mut harness = window(example());
    wait_for(&mut harness, "a run ends", |app| app.outcome.note.is_some());
    let app = harness.state();
    let known = app.outcome.design(&app.view.design).unwrap();
    assert_eq!(known.runnable, Some(true), "{:?}", known.findings);
    assert!(known.shown().0.len() > 2);
    assert!(app.export_data().is_some());
}

#[test]
fn an_exported_plot_is_three_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut harness = window(example());
    wait_for(&mut harness, "a run ends", |app| app.outcome.note.is_some());
    let path = dir.path().join("curve.png");
    ask(
        &mut harness,
        Action::File(FileTask::Chosen(Purpose::Export, path)),
    );
    wait_for(&mut harness, "the files are written", |app| {
        app.toasts.texts().iter().any(|t| t.starts_with("Wrote"))
    });
    for end in ["png", "svg", "csv"] {
        assert!(dir.path().join(format!("curve.{end}")).exists(), "{end}");
    }
}

#[test]
fn a_model_is_looked_at_first_and_served_as_one_step() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    let config = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "max_position_embeddings": 8192, "tie_word_embeddings": false, "hidden_act": "silu"}"#;
    std::fs::write(&path, config).unwrap();
    let mut harness = window(example());
    ask(
        &mut harness,
        Action::File(FileTask::Chosen(Purpose::Model, path)),
    );
    wait_for(&mut harness, "the sheet is there", |app| {
        app.import.is_some()
    });
    assert!(matches!(
        harness.state().design().model,
        ModelRef::Preset(_)
    ));
    harness.get_by_label_contains("Serve it in A").click();
    settle(&mut harness);
    assert!(harness.state().import.is_none());
    assert!(matches!(
        harness.state().design().model,
        ModelRef::Inline(_)
    ));
    ask(&mut harness, Action::Command(UiCommand::Undo));
    assert!(matches!(
        harness.state().design().model,
        ModelRef::Preset(_)
    ));
}

mod engine;

/// A file let go over the window.
#[derive(Debug)]
struct Dropped(std::path::PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("it is read by its path".to_owned())
    }
}

#[test]
fn a_dropped_trace_is_replayed_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.JSONL");
    std::fs::write(
        &path,
        "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 9}\n",
    )
    .unwrap();
    let mut harness = window(example());
    let before = harness.state().project().designs.clone();
    let file = std::sync::Arc::new(Dropped(path.clone()));
    harness.input_mut().dropped_files.push(file);
    settle(&mut harness);
    let project = harness.state().project();
    assert_eq!(project.designs, before);
    assert_eq!(project.workload.arrivals, crate::workload::Arrivals::Trace);
    let trace = project.workload.trace.as_ref().unwrap();
    assert_eq!(trace.path, path.to_string_lossy());
    assert_eq!(harness.state().history.undo_label(), Some("Choose a trace"));
}
