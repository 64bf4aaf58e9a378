//! Tooltips: the numbers behind what is under the pointer.

use super::CanvasView;
use super::hit::Hit;
use super::scene::{Card, Scene, layout_words};
use super::wire::WireKind;
use crate::app::edits;
use crate::app::inspector::kv_length;
use crate::plan::Place;
use eframe::egui::{self, PopupAnchor, RichText};

/// How long the pointer rests before a tooltip, seconds.
const REST: f64 = 0.45;

/// A tooltip's lines: the first is its title.
struct Lines(Vec<(String, Option<egui::Color32>)>);

/// Shows the tooltip of what is under the pointer, once it rests there.
pub fn show(ui: &egui::Ui, view: &CanvasView<'_>, scene: &Scene, hover: Hit, since: f64) {
    if matches!(hover, Hit::Empty | Hit::Handle { .. }) {
        return;
    }
    let rested = ui.input(|i| i.time) - since;
    if rested < REST {
        ui.ctx()
            .request_repaint_after_secs((REST - rested) as f32 + 0.02);
        return;
    }
    let lines = match hover {
        Hit::Card(card) => card_lines(view, scene, &scene.cards[card]),
        Hit::Gpu {
            card,
            instance,
            slot,
        } => gpu_lines(view, scene, &scene.cards[card], instance, slot),
        Hit::Cell { card, cell } => cell_lines(view, scene, &scene.cards[card], cell),
        Hit::Wire(wire) => wire_lines(view, scene, wire),
        Hit::Empty | Hit::Handle { .. } => return,
    };
    egui::Tooltip::always_open(
        ui.ctx().clone(),
        ui.layer_id(),
        ui.scope_id().with("canvas-tip"),
        PopupAnchor::Pointer,
    )
    .gap(14.0)
    .width(320.0)
    .show(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        for (number, (line, color)) in lines.0.iter().enumerate() {
            let color = color.unwrap_or(if number == 0 {
                view.theme.text
            } else {
                view.theme.text_muted
            });
            ui.label(
                RichText::new(line)
                    .size(if number == 0 { 13.0 } else { 12.0 })
                    .color(color),
            );
        }
    });
}

impl Lines {
    fn new(title: String) -> Self {
        Self(vec![(title, None)])
    }

    fn say(&mut self, line: String) {
        if !line.is_empty() {
            self.0.push((line, None));
        }
    }

    fn findings(&mut self, view: &CanvasView<'_>, is_here: impl Fn(&Place) -> bool) {
        for finding in view
            .findings
            .iter()
            .filter(|finding| is_here(&finding.place))
            .take(4)
        {
            let color = match finding.severity {
                crate::plan::Severity::Error => view.theme.error,
                crate::plan::Severity::Warning => view.theme.warning,
                crate::plan::Severity::Hint => view.theme.accent,
            };
            self.0.push((finding.cause.clone(), Some(color)));
        }
    }

    fn pools(&mut self, view: &CanvasView<'_>, scene: &Scene, gpus: impl Iterator<Item = u16>) {
        let mut counts: std::collections::BTreeMap<u16, u32> = std::collections::BTreeMap::new();
        for pool in gpus.filter(|gpu| *gpu != super::scene::ABSENT) {
            *counts.entry(pool).or_insert(0) += 1;
        }
        for (pool, count) in counts {
            match scene.pool(pool) {
                Some(pool) => self.0.push((
                    format!("{count} in {} · {}", pool.name, layout_words(pool.layout)),
                    Some(view.theme.role_ink(Some(pool.role))),
                )),
                None => self.say(format!("{count} idle")),
            }
        }
    }
}

fn card_lines(view: &CanvasView<'_>, scene: &Scene, card: &Card) -> Lines {
    let mut lines = Lines::new(if card.count > 1 {
        format!("{} × {}", card.name, card.count)
    } else {
        card.name.clone()
    });
    lines.say(card.detail.clone());
    if !card.domain.is_empty() {
        lines.say(format!("{} per GPU", card.domain));
    }
    if card.ports > 0 {
        let what = if card.stride > 0 { "NICs" } else { "ports" };
        lines.say(format!(
            "{} of {} {what} linked",
            card.ports_used, card.ports
        ));
    }
    lines.pools(view, scene, card.gpus.iter().copied());
    lines.findings(view, |place| *place == Place::Group(card.id.clone()));
    lines
}

fn gpu_lines(view: &CanvasView<'_>, scene: &Scene, card: &Card, instance: u32, slot: u32) -> Lines {
    let address = card.address(instance, slot);
    let mut lines = Lines::new(format!("GPU {address}"));
    let gpu = edits::gpu_type_of(&view.design.cluster, &address, view.catalog)
        .and_then(|id| view.catalog.gpu(id));
    if let Some(gpu) = gpu {
        lines.say(format!(
            "{} {} · {} · {:.0} TFLOPS BF16",
            edits::gpu_short(gpu),
            edits::gpu_memory(gpu),
            edits::byte_rate(gpu.bandwidth),
            gpu.peaks.bf16.get() * 1e-12
        ));
    }
    match scene.pool(card.gpu(instance, slot)) {
        Some(pool) => {
            lines.0.push((
                format!("{} · {}", pool.name, layout_words(pool.layout)),
                Some(view.theme.role_ink(Some(pool.role))),
            ));
            if let Some((_, memory)) = view.memory.iter().find(|(id, _)| *id == pool.id) {
                lines.say(match memory.shortfall {
                    Some(short) => format!("Memory: {:.1} GiB too little", short.gib()),
                    None => format!(
                        "{:.1} of {:.1} GiB for KV: {}",
                        memory.kv.gib(),
                        memory.capacity.gib(),
                        kv_length(memory)
                    ),
                });
            }
            lines.findings(view, |place| *place == Place::Pool(pool.id.clone()));
        }
        None => lines.say("Idle: in no pool".to_owned()),
    }
    lines
}

fn cell_lines(view: &CanvasView<'_>, scene: &Scene, card: &Card, cell: u32) -> Lines {
    let instances = card.cell_instances(cell);
    let mut lines = Lines::new(if instances.len() == 1 {
        format!("{} {}", card.name, instances.start)
    } else {
        format!("{} {}–{}", card.name, instances.start, instances.end - 1)
    });
    lines.say(card.detail.clone());
    let gpus = instances.flat_map(|instance| card.instance(instance).iter().copied());
    lines.pools(view, scene, gpus);
    lines
}

fn wire_lines(view: &CanvasView<'_>, scene: &Scene, wire: usize) -> Lines {
    let wire = &scene.wires[wire];
    let (a, b) = (&scene.cards[wire.a].name, &scene.cards[wire.b].name);
    let WireKind::Link(id) = &wire.kind else {
        return Lines::new(format!("KV: {a} → {b}"));
    };
    let mut lines = Lines::new(format!("{a} – {b}"));
    if let Some(link) = view.design.cluster.link(id) {
        let total = link.rate * f64::from(link.count);
        lines.say(format!(
            "{} × {} {}",
            link.count,
            edits::wire_rate(link.rate),
            link.kind.name()
        ));
        let whose = match link.wiring {
            crate::cluster::Wiring::All => "",
            crate::cluster::Wiring::Pairwise => " per pair",
            crate::cluster::Wiring::Rails => " per node, one rail per NIC",
        };
        lines.say(format!(
            "{} each way{whose} · {} latency",
            edits::byte_rate(total),
            link.latency
        ));
    }
    lines.findings(view, |place| *place == Place::Link(id.clone()));
    lines
}
