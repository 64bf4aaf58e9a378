//! Which engine a pool runs, and its settings by the engine's own names: budgets and memory in
//! sight, the loop's parts folded below.

mod drafts;
mod line;
mod parts;
mod tiers;

use super::{Inspected, pool::edit};
use crate::app::command::Actions;
use crate::app::theme::space;
use crate::app::totals::pool_gpu;
use crate::app::widgets::{Rows, choice, count_field, number_field, section, text_field};
use crate::plan::{
    Engine, EngineKind, ExpertExchange, FirstToken, KvTransfer, Pool, Role, Setting,
};
use eframe::egui::Ui;
use line::Line;

pub(super) fn engine_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, actions: &mut Actions) {
    let theme = view.theme;
    let engine = &pool.engine;
    section(ui, theme, "Engine");
    kind_ui(ui, view, pool, actions);
    let version = Rows::wide(theme).field(ui, "Version", "", |ui| {
        let typed = text_field(ui, theme, &format!("{}/version", pool.id), &engine.version);
        (typed.value, typed.response)
    });
    if let Some(version) = version {
        edit(
            view,
            pool,
            actions,
            format!("Version {version}"),
            move |p| p.engine.version = version,
        );
    }
    let gpu = pool_gpu(pool, &view.design.cluster, view.catalog);
    let defaults =
        gpu.map(|gpu| Engine::defaults_of(engine.kind, &engine.version, gpu, pool.layout));
    let line = Line {
        view,
        pool,
        defaults: defaults.as_ref(),
    };
    budgets_ui(ui, &line, actions);
    parts::parts_ui(ui, &line, actions);
    defaults_ui(ui, &line, actions);
}

/// Budgets, memory and blocks.
fn budgets_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let engine = line.engine();
    line.count(
        ui,
        actions,
        Setting::TokenBudget,
        engine.max_num_batched_tokens,
        1..=1_048_576,
        |e, n| e.max_num_batched_tokens = n,
    );
    line.count(
        ui,
        actions,
        Setting::MaxSequences,
        engine.max_num_seqs,
        1..=65_536,
        |e, n| e.max_num_seqs = n,
    );
    line.count(
        ui,
        actions,
        Setting::BlockSize,
        engine.block_size,
        1..=1024,
        |e, n| e.block_size = n,
    );
    let share = line.row(ui, Setting::MemoryFraction, |ui| {
        number_field(ui, engine.gpu_memory_utilization, 0.1..=1.0, 0.005, "")
    });
    if let Some(share) = share {
        line.scrub(actions, Setting::MemoryFraction, move |e| {
            e.gpu_memory_utilization = share;
        });
    }
    line.flag(
        ui,
        actions,
        Setting::ChunkedPrefill,
        engine.enable_chunked_prefill,
        |e, on| e.enable_chunked_prefill = on,
    );
    blocks_ui(ui, line, actions);
    if line.pool.layout.pp > 1 || !engine.stage_layers.is_empty() {
        line.text(ui, actions, Setting::StageLayers);
    }
    line.pick(
        ui,
        actions,
        Setting::FirstToken,
        (
            engine.first_token,
            &[FirstToken::DecodeAdmission, FirstToken::PrefillEnd],
        ),
        |first| match first {
            FirstToken::PrefillEnd => "end of prefill",
            FirstToken::DecodeAdmission => "decode admission",
        },
        |e, first| e.first_token = first,
    );
    if line.pool.role == Role::Prefill {
        line.pick(
            ui,
            actions,
            Setting::KvTransfer,
            (engine.kv_transfer, &KvTransfer::ALL),
            KvTransfer::name,
            |e, own| e.kv_transfer = own,
        );
    }
    exchange_ui(ui, line, actions);
}

/// How tokens reach their experts, where there are some.
fn exchange_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let engine = line.engine();
    let (kind, now) = (engine.kind, engine.expert_exchange);
    if line.view.model().is_none_or(|model| model.moe().is_none()) {
        return;
    }
    let mut all: Vec<ExpertExchange> = ExpertExchange::of(kind).collect();
    if !all.contains(&now) {
        all.push(now);
    }
    line.pick(
        ui,
        actions,
        Setting::ExpertExchange,
        (now, &all),
        |own| own.name(kind),
        |e, own| e.expert_exchange = own,
    );
}

/// Back to what the engine starts with, where something differs.
fn defaults_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let Some(defaults) = line.defaults else {
        return;
    };
    let engine = line.engine();
    let differences = engine.differences(defaults);
    if differences.is_empty() {
        return;
    }
    let called = format!("{} {}", engine.kind.name(), engine.version);
    let list: Vec<String> = differences
        .iter()
        .map(|own| format!("{}: {}, starts with {}", own.word, own.value, own.default))
        .collect();
    ui.add_space(space::XS);
    let reset = ui
        .button(format!("Defaults of {called}"))
        .on_hover_text(list.join("\n"));
    if reset.clicked() {
        let next = defaults.clone();
        let label = format!("Defaults of {called}");
        edit(line.view, line.pool, actions, label, move |pool| {
            pool.engine = next;
        });
    }
}

/// The engine itself; another one comes with its own defaults.
fn kind_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, actions: &mut Actions) {
    // A short label leaves room for a long name.
    let chosen = Rows::new(view.theme).field(
        ui,
        "Engine",
        "Its rule divides the memory; another engine comes with its own defaults",
        |ui| {
            choice(
                ui,
                format!("{}/engine", pool.id),
                &pool.engine.kind,
                &EngineKind::ALL,
                |kind| kind.name().to_owned(),
            )
        },
    );
    let Some(kind) = chosen else { return };
    let gpu = pool_gpu(pool, &view.design.cluster, view.catalog);
    let engine = gpu.map_or_else(
        || Engine::vllm(false),
        |gpu| Engine::defaults(kind, gpu, pool.layout),
    );
    let engine = Engine { kind, ..engine };
    edit(
        view,
        pool,
        actions,
        format!("Engine {}", kind.name()),
        move |p| p.engine = engine,
    );
}

/// Measured KV blocks instead of those worked out from memory.
fn blocks_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let derived = line
        .view
        .outcome
        .and_then(|o| o.memory.iter().find(|(id, _)| *id == line.pool.id))
        .map_or(10_000, |(_, budget)| budget.blocks.max(1));
    let measured = line.engine().num_gpu_blocks;
    let changed = line.row(ui, Setting::Blocks, |ui| {
        ui.horizontal(|ui| {
            let mut on = measured.is_some();
            let words = if on { "" } else { "from memory" };
            let check = ui
                .checkbox(&mut on, words)
                .on_hover_text("Tick to give the number your engine reports");
            if on != measured.is_some() {
                return (Some(on.then_some(derived)), check);
            }
            match measured {
                Some(now) => {
                    let (changed, field) = count_field(ui, now, 1..=100_000_000);
                    (changed.map(Some), field)
                }
                None => (None, check),
            }
        })
        .inner
    });
    if let Some(blocks) = changed {
        line.scrub(actions, Setting::Blocks, move |e| e.num_gpu_blocks = blocks);
    }
}
