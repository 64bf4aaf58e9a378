//! How an engine's loop runs, in parts that unfold: scheduler, caches, CUDA graphs, drafts, host.

use super::line::Line;
use super::{drafts, tiers};
use crate::app::command::Actions;
use crate::app::style;
use crate::app::theme::text;
use crate::plan::{
    AttentionBackend, EngineKind, GraphMode, MoeBackend, Part, QueueOrder, Scheduler, Setting,
};
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{CollapsingHeader, FontId, Ui};

/// The parts, each folded until it is asked for.
pub(super) fn parts_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    for part in Part::FOLDED {
        CollapsingHeader::new(heading(line, part))
            .id_salt((line.pool.id.as_str(), part.name()))
            .show_unindented(ui, |ui| match part {
                Part::Engine => {}
                Part::Scheduler => scheduler_ui(ui, line, actions),
                Part::Cache => cache_ui(ui, line, actions),
                Part::Graphs => graphs_ui(ui, line, actions),
                Part::Kernels => kernels_ui(ui, line, actions),
                Part::Speculation => drafts::drafts_ui(ui, line, actions),
                Part::Host => host_ui(ui, line, actions),
            });
    }
}

/// A part's name, and in small what it is set to.
fn heading(line: &Line<'_>, part: Part) -> LayoutJob {
    let theme = line.view.theme;
    let mut job = LayoutJob::default();
    let name = TextFormat::simple(FontId::new(text::BODY, style::semibold()), theme.text);
    // The space keeps the two apart where they are read out.
    job.append(&format!("{} ", part.name()), 0.0, name);
    let differs = line.defaults.is_some_and(|defaults| {
        let engine = line.engine();
        Setting::of(part).any(|setting| engine.value(setting) != defaults.value(setting))
    });
    let color = if differs {
        theme.accent
    } else {
        theme.text_muted
    };
    let small = TextFormat::simple(FontId::proportional(text::SMALL), color);
    job.append(&summary(line, part), 4.0, small);
    job
}

/// What a part is set to, in a few words.
fn summary(line: &Line<'_>, part: Part) -> String {
    let engine = line.engine();
    match part {
        Part::Engine => String::new(),
        Part::Scheduler => {
            let own = &engine.scheduling;
            format!("{} · {}", own.scheduler.name(), own.order.name())
        }
        Part::Cache => {
            let own = &engine.caching;
            let reuse = if own.prefix { "on" } else { "off" };
            match own.tiers.len() {
                0 => reuse.to_owned(),
                1 => format!("{reuse} · 1 tier"),
                more => format!("{reuse} · {more} tiers"),
            }
        }
        Part::Graphs => match engine.graphs.mode {
            GraphMode::None => "none".to_owned(),
            mode => format!("{} · {}", mode.name(), engine.graphs.max_size),
        },
        Part::Kernels => {
            let own = engine.kernels;
            format!("{} · {}", own.moe.name(), own.attention.name())
        }
        Part::Speculation => match &engine.speculation {
            None => "off".to_owned(),
            Some(own) => format!("{} · {}", drafts::name(Some(&own.draft)), own.steps),
        },
        Part::Host => if engine.host.overlap {
            "overlapped"
        } else {
            "not overlapped"
        }
        .to_owned(),
    }
}

fn scheduler_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let own = &line.engine().scheduling;
    line.pick(
        ui,
        actions,
        Setting::Scheduler,
        (own.scheduler, &Scheduler::ALL),
        Scheduler::name,
        |e, value| e.scheduling.scheduler = value,
    );
    line.pick(
        ui,
        actions,
        Setting::Order,
        (own.order, &QueueOrder::ALL),
        QueueOrder::name,
        |e, value| e.scheduling.order = value,
    );
    // Settings of one loop only take room where it runs, or where they are set.
    let sglang = own.scheduler == Scheduler::Sglang;
    if !sglang || own.long_prefill_token_threshold > 0 || own.max_num_partial_prefills > 0 {
        line.count(
            ui,
            actions,
            Setting::LongPrefill,
            own.long_prefill_token_threshold,
            0..=1_048_576,
            |e, n| e.scheduling.long_prefill_token_threshold = n,
        );
        line.count(
            ui,
            actions,
            Setting::PartialPrefills,
            own.max_num_partial_prefills,
            0..=65_536,
            |e, n| e.scheduling.max_num_partial_prefills = n,
        );
    }
    if sglang || own.mixed_chunk {
        line.flag(
            ui,
            actions,
            Setting::MixedChunk,
            own.mixed_chunk,
            |e, on| e.scheduling.mixed_chunk = on,
        );
    }
    if sglang {
        line.count(
            ui,
            actions,
            Setting::MaxPrefillTokens,
            own.max_prefill_tokens,
            0..=1_048_576,
            |e, n| e.scheduling.max_prefill_tokens = n,
        );
        line.number(
            ui,
            actions,
            Setting::Conservativeness,
            own.conservativeness,
            0.0..=10.0,
            |e, value| e.scheduling.conservativeness = value,
        );
    }
    line.number(
        ui,
        actions,
        Setting::Watermark,
        own.watermark,
        0.0..=0.99,
        |e, value| e.scheduling.watermark = value,
    );
}

fn cache_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let own = &line.engine().caching;
    line.flag(ui, actions, Setting::PrefixCaching, own.prefix, |e, on| {
        e.caching.prefix = on;
    });
    tiers::tiers_ui(ui, line, actions);
}

fn graphs_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let own = &line.engine().graphs;
    line.pick(
        ui,
        actions,
        Setting::GraphMode,
        (own.mode, &GraphMode::ALL),
        GraphMode::name,
        |e, mode| {
            // Graphs without a size are none.
            if mode != GraphMode::None && e.graphs.max_size == 0 {
                e.graphs.max_size = e.max_num_seqs.clamp(1, 512);
            }
            e.graphs.mode = mode;
        },
    );
    if own.mode != GraphMode::None {
        line.count(
            ui,
            actions,
            Setting::GraphSize,
            own.max_size,
            1..=65_536,
            |e, n| e.graphs.max_size = n,
        );
        // vLLM has no such setting.
        if line.engine().kind != EngineKind::Vllm || !own.padding {
            line.flag(ui, actions, Setting::GraphPadding, own.padding, |e, on| {
                e.graphs.padding = on;
            });
        }
    }
}

fn kernels_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let own = line.engine().kernels;
    line.pick(
        ui,
        actions,
        Setting::MoeBackend,
        (own.moe, &MoeBackend::ALL),
        MoeBackend::name,
        |e, backend| e.kernels.moe = backend,
    );
    line.pick(
        ui,
        actions,
        Setting::AttentionBackend,
        (own.attention, &AttentionBackend::ALL),
        AttentionBackend::name,
        |e, backend| e.kernels.attention = backend,
    );
}

fn host_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let engine = line.engine();
    let own = &engine.host;
    line.flag(ui, actions, Setting::Overlap, own.overlap, |e, on| {
        e.host.overlap = on;
    });
    line.time(
        ui,
        actions,
        Setting::StepTime,
        engine.host_step_time,
        |e, time| e.host_step_time = time,
    );
    line.time(
        ui,
        actions,
        Setting::SequenceTime,
        own.per_sequence,
        |e, time| e.host.per_sequence = time,
    );
    line.time(ui, actions, Setting::RequestTime, own.request, |e, time| {
        e.host.request = time;
    });
    line.time(ui, actions, Setting::OutputTime, own.output, |e, time| {
        e.host.output = time;
    });
    line.count(
        ui,
        actions,
        Setting::StreamInterval,
        own.stream_interval,
        1..=65_536,
        |e, n| {
            e.host.stream_interval = n;
        },
    );
    line.time(ui, actions, Setting::LaunchTime, own.launch, |e, time| {
        e.host.launch = time;
    });
    line.time(ui, actions, Setting::NetworkTime, own.network, |e, time| {
        e.host.network = time;
    });
    line.time(ui, actions, Setting::LaunchGap, own.gap, |e, time| {
        e.host.gap = time;
    });
}
