//! An engine's parts in the inspector: unfold, change, undo.

use super::*;
use crate::plan::{Draft, EngineKind, GraphMode, Scheduler, TierKind};
use crate::units::Seconds;
use egui::accesskit::Role as Widget;

/// The pool, as its engine starts, in view.
fn with(kind: EngineKind) -> Harness<'static, App> {
    let mut project = example();
    // Every change is simulated; little will do here.
    project.workload.requests = 8;
    project.curve.points = 1;
    project.curve.loads = vec![1.0];
    let catalog = Catalog::embedded().unwrap();
    let gpu = catalog.gpu(&"h800-sxm".parse().unwrap()).unwrap();
    let pool = &mut project.designs[0].pools[0];
    pool.engine = Engine::defaults(kind, gpu, pool.layout);
    let mut harness = window(project);
    let pool = Item::Pool(PoolId::from_label("serve"));
    ask(&mut harness, Action::Select(Selection::one(pool)));
    quiet(&mut harness);
    harness
}

/// Until no run is under way: what comes in would move things while they are clicked.
fn quiet(harness: &mut Harness<'static, App>) {
    settle(harness);
    wait_for(harness, "runs end", |app| !app.runner.is_busy());
}

fn engine(harness: &Harness<'static, App>) -> Engine {
    harness.state().project().designs[0].pools[0].engine.clone()
}

fn unfold(harness: &mut Harness<'static, App>, part: &str) {
    harness
        .get_by(|node| {
            node.role() == Widget::DisclosureTriangle
                && node.label().is_some_and(|own| own.starts_with(part))
        })
        .click();
    // The part opens over a few frames.
    harness.run_steps(20);
    quiet(harness);
}

fn choose(harness: &mut Harness<'static, App>, field: &str, value: &str) {
    harness
        .get_by_role_and_label(Widget::ComboBox, field)
        .click();
    quiet(harness);
    harness.get_by_label(value).click();
    quiet(harness);
}

fn tick(harness: &mut Harness<'static, App>, field: &str) {
    let label = harness.get_by_role_and_label(Widget::CheckBox, field);
    label.click();
    quiet(harness);
}

fn replace(harness: &mut Harness<'static, App>, field: &str, text: &str) {
    harness.get_by_label(field).focus();
    quiet(harness);
    harness.key_combination_modifiers(egui::Modifiers::COMMAND, &[egui::Key::A]);
    quiet(harness);
    harness.get_by_label(field).type_text(text);
    harness.step();
    harness.key_press(egui::Key::Enter);
    quiet(harness);
}

/// The change has that name, and undo takes it back.
fn undo(harness: &mut Harness<'static, App>, label: &str, before: &Engine) {
    assert_eq!(harness.state().history.undo_label(), Some(label));
    assert_ne!(engine(harness), *before);
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    quiet(harness);
    assert_eq!(engine(harness), *before);
}

#[test]
fn the_scheduler_is_chosen_and_the_defaults_come_back_at_a_click() {
    let mut harness = with(EngineKind::Vllm);
    let before = engine(&harness);
    assert!(harness.query_by_label_contains("Defaults of").is_none());
    unfold(&mut harness, "Scheduler");
    choose(&mut harness, "Scheduler", "Sarathi");
    assert_eq!(engine(&harness).scheduling.scheduler, Scheduler::Sarathi);
    harness.get_by_label("Defaults of vLLM 0.11.0").click();
    quiet(&mut harness);
    assert_eq!(engine(&harness), before);
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    quiet(&mut harness);
    undo(&mut harness, "scheduler Sarathi", &before);
}

#[test]
fn a_flag_means_what_the_engines_own_name_says() {
    let mut harness = with(EngineKind::Sglang);
    let before = engine(&harness);
    assert!(before.caching.prefix && before.host.overlap);
    unfold(&mut harness, "Prefix cache & tiers");
    tick(&mut harness, "disable_radix_cache");
    assert!(!engine(&harness).caching.prefix);
    undo(&mut harness, "disable_radix_cache on", &before);
    unfold(&mut harness, "Host");
    tick(&mut harness, "disable_overlap_schedule");
    assert!(!engine(&harness).host.overlap);
    undo(&mut harness, "disable_overlap_schedule on", &before);
}

#[test]
fn tiers_are_added_changed_and_removed() {
    let mut harness = with(EngineKind::Vllm);
    let before = engine(&harness);
    unfold(&mut harness, "Prefix cache & tiers");
    harness
        .get_by_role_and_label(Widget::Button, "KV tiers")
        .click();
    quiet(&mut harness);
    harness.get_by_label("Host memory").click();
    quiet(&mut harness);
    let tiers = engine(&harness).caching.tiers;
    assert_eq!(tiers.len(), 1);
    assert_eq!(tiers[0].kind, TierKind::Host);
    let added = engine(&harness);
    replace(&mut harness, "Capacity", "1 TiB");
    assert_eq!(engine(&harness).caching.tiers[0].capacity.gib(), 1024.0);
    undo(&mut harness, "Tier 1: capacity 1 TiB", &added);
    undo(&mut harness, "Add KV tier Host memory", &before);
}

#[test]
fn graphs_drafts_and_host_times_are_set() {
    let mut harness = with(EngineKind::Vllm);
    let before = engine(&harness);
    unfold(&mut harness, "CUDA graphs");
    choose(&mut harness, "cudagraph_mode", "piecewise");
    assert_eq!(engine(&harness).graphs.mode, GraphMode::Piecewise);
    undo(&mut harness, "cudagraph_mode piecewise", &before);

    unfold(&mut harness, "Speculative decoding");
    choose(&mut harness, "speculative_config", "MTP or EAGLE");
    let own = engine(&harness).speculation.unwrap();
    assert_eq!(own.draft, Draft::Mtp { layers: 1 });
    let drafting = engine(&harness);
    replace(&mut harness, "Acceptance", "0.9, 0.7");
    let own = engine(&harness).speculation.unwrap();
    assert_eq!(own.acceptance, [0.9, 0.7]);
    undo(&mut harness, "acceptance 0.9,0.7", &drafting);
    undo(&mut harness, "speculative_config MTP or EAGLE", &before);

    unfold(&mut harness, "Host");
    replace(&mut harness, "Host step time", "350 us");
    assert_eq!(engine(&harness).host_step_time, Seconds::from_us(350.0));
    undo(&mut harness, "host step time 350 us", &before);
}
