//! Which engine a pool runs, and its settings by the engine's own names.

use super::{Inspected, pool::edit};
use crate::app::command::Actions;
use crate::app::totals::pool_gpu;
use crate::app::widgets::{
    Rows, choice, count_field, number_field, section, sentence, text_field, typed_field,
};
use crate::plan::{Engine, EngineKind, FirstToken, Pool, Setting};
use crate::units::Seconds;
use eframe::egui::{Response, Ui};
use std::ops::RangeInclusive;

pub(super) fn engine_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::wide(theme);
    let engine = &pool.engine;
    section(ui, theme, "Engine");
    let key = |what: &str| format!("{}/{what}", pool.id);
    kind_ui(ui, view, pool, actions);

    let version = rows.field(ui, "Version", "", |ui| {
        let typed = text_field(ui, theme, &key("version"), &engine.version);
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
    let mut count = |ui: &mut Ui, name: &'static str, help, now: u32, range, set: Set| {
        let changed = rows.field(ui, name, help, |ui| small_count(ui, now, range));
        if let Some(n) = changed {
            scrub(view, pool, actions, name, move |engine| set(engine, n));
        }
    };
    count(
        ui,
        engine.word(Setting::TokenBudget),
        "Token budget of a step",
        engine.max_num_batched_tokens,
        1..=1_048_576,
        |e, n| e.max_num_batched_tokens = n,
    );
    count(
        ui,
        engine.word(Setting::MaxSequences),
        "Most requests running in one scheduler",
        engine.max_num_seqs,
        1..=65_536,
        |e, n| e.max_num_seqs = n,
    );
    count(
        ui,
        engine.word(Setting::BlockSize),
        "Tokens of a KV block",
        engine.block_size,
        1..=1024,
        |e, n| e.block_size = n,
    );
    let share = rows.field(
        ui,
        engine.word(Setting::MemoryFraction),
        engine.kind.fraction_means(),
        |ui| number_field(ui, engine.gpu_memory_utilization, 0.1..=1.0, 0.005, ""),
    );
    if let Some(share) = share {
        let word = engine.word(Setting::MemoryFraction);
        scrub(view, pool, actions, word, move |e| {
            e.gpu_memory_utilization = share;
        });
    }
    let chunked = rows.field(
        ui,
        &setting_label(engine, Setting::ChunkedPrefill),
        "Whether a prompt may be cut to fit the budget",
        |ui| {
            let mut on = engine.enable_chunked_prefill;
            let words = if on { "on" } else { "off" };
            let response = ui.checkbox(&mut on, words);
            (
                (on != engine.enable_chunked_prefill).then_some(on),
                response,
            )
        },
    );
    if let Some(on) = chunked {
        let word = engine.word(Setting::ChunkedPrefill);
        edit(view, pool, actions, word, move |p| {
            p.engine.enable_chunked_prefill = on;
        });
    }
    blocks_ui(ui, view, pool, &rows, actions);
    let host = rows.field(ui, "Host step time", "Host time added to each step", |ui| {
        let typed = typed_field::<Seconds>(ui, theme, &key("host"), engine.host_step_time);
        (typed.value, typed.response)
    });
    if let Some(time) = host {
        edit(
            view,
            pool,
            actions,
            format!("Host step time {time}"),
            move |p| {
                p.engine.host_step_time = time;
            },
        );
    }
    // A short label leaves room for long words.
    let first = Rows::new(theme).field(
        ui,
        "First token",
        "When a disaggregated request's first token reaches the client",
        |ui| {
            choice(
                ui,
                key("first-token"),
                &engine.first_token,
                &[FirstToken::DecodeAdmission, FirstToken::PrefillEnd],
                |f| match f {
                    FirstToken::PrefillEnd => "end of prefill".to_owned(),
                    FirstToken::DecodeAdmission => "decode admission".to_owned(),
                },
            )
        },
    );
    if let Some(first) = first {
        edit(view, pool, actions, "First token", move |p| {
            p.engine.first_token = first
        });
    }
}

/// The engine's own name of a setting; where it has none, words like those of other rows.
fn setting_label(engine: &Engine, setting: Setting) -> String {
    let word = engine.word(setting);
    if word.contains('_') {
        word.to_owned()
    } else {
        sentence(word)
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

type Set = fn(&mut Engine, u32);

/// A number being scrubbed: one step however far it goes.
fn scrub(
    view: &Inspected<'_>,
    pool: &Pool,
    actions: &mut Actions,
    name: &'static str,
    set: impl FnOnce(&mut Engine) + 'static,
) {
    let id = pool.id.clone();
    let key = format!("{id}/{name}");
    view.edit(
        actions,
        format!("Change {name}"),
        Some(key),
        move |design| {
            if let Some(pool) = design.pool_mut(&id) {
                set(&mut pool.engine);
            }
        },
    );
}

fn small_count(ui: &mut Ui, now: u32, range: RangeInclusive<u32>) -> (Option<u32>, Response) {
    let wide = u64::from(*range.start())..=u64::from(*range.end());
    let (changed, response) = count_field(ui, u64::from(now), wide);
    (changed.and_then(|n| u32::try_from(n).ok()), response)
}

/// Measured KV blocks instead of those worked out from memory.
fn blocks_ui(
    ui: &mut Ui,
    view: &Inspected<'_>,
    pool: &Pool,
    rows: &Rows<'_>,
    actions: &mut Actions,
) {
    let derived = view
        .outcome
        .and_then(|o| o.memory.iter().find(|(id, _)| *id == pool.id))
        .map_or(10_000, |(_, budget)| budget.blocks.max(1));
    let measured = pool.engine.num_gpu_blocks;
    let changed = rows.field(
        ui,
        &setting_label(&pool.engine, Setting::Blocks),
        "KV blocks of one scheduler: worked out from memory, or as your engine's log says",
        |ui| {
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
        },
    );
    if let Some(blocks) = changed {
        let word = pool.engine.word(Setting::Blocks);
        scrub(view, pool, actions, word, move |e| {
            e.num_gpu_blocks = blocks
        });
    }
}
