//! The palette: parts to drag onto the canvas, and the roles to paint with.

mod row;
mod tips;

use super::edits;
use super::icons;
use super::theme::{Theme, space};
use super::tool::{Part, Tool};
use crate::catalog::{Catalog, NodeType, NodeTypeId, SwitchTier, SwitchType, SwitchTypeId};
use crate::cluster::LinkKind;
use crate::plan::{Design, Role};
use eframe::egui::{
    self, CornerRadius, CursorIcon, Key, Rect, RichText, Stroke, StrokeKind, Ui, pos2, vec2,
};
use row::{ghost, part, row, row_marked};
use tips::{node_tip, switch_tip};

/// Node types shown without asking, in this order, where the catalog has them.
const USUAL_NODES: [&str; 6] = [
    "hgx-h800",
    "hgx-h20",
    "dgx-h100",
    "hgx-h200",
    "dgx-b200",
    "gb200-nvl72",
];
/// Switch types shown without asking.
const USUAL_SWITCHES: [&str; 2] = ["qm9700-64x400g", "qm9700-64x400g-spine"];
/// Links shown without asking.
const USUAL_LINKS: [LinkKind; 3] = [LinkKind::Infiniband, LinkKind::Roce, LinkKind::Ethernet];
/// Longest search that is looked at.
const LONGEST_SEARCH: usize = 100;

/// View state of the palette.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaletteState {
    /// What is searched for.
    pub search: String,
    /// Whether every node type is shown.
    pub all_nodes: bool,
    /// Whether every switch type is shown.
    pub all_switches: bool,
    /// Whether every kind of link is shown.
    pub all_links: bool,
}

/// What the palette shows.
pub struct PaletteView<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// The design in view, for the number of GPUs of each role.
    pub design: &'a Design,
    /// The tool in hand.
    pub tool: Tool,
    /// Colours.
    pub theme: &'a Theme,
}

/// What was asked for in the palette this frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaletteOutput {
    /// Draw this part in the middle of the view (double click, Enter).
    pub add: Option<Part>,
    /// The next click on the canvas puts this part there (click).
    pub arm: Option<Part>,
    /// Take this tool.
    pub tool: Option<Tool>,
}

/// Shows the palette in all the room there is.
pub fn palette_ui(ui: &mut Ui, state: &mut PaletteState, view: &PaletteView<'_>) -> PaletteOutput {
    let mut output = PaletteOutput::default();
    let theme = view.theme;
    search(ui, state, theme);
    ui.add_space(space::XS);
    egui::ScrollArea::vertical()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 3.0;
            let needle: String = state
                .search
                .trim()
                .chars()
                .take(LONGEST_SEARCH)
                .collect::<String>()
                .to_lowercase();
            let mut found = nodes(ui, state, view, &needle, &mut output);
            found |= switches(ui, state, view, &needle, &mut output);
            found |= links(ui, state, view, &needle, &mut output);
            found |= roles(ui, view, &needle, &mut output);
            if !found {
                ui.add_space(space::S);
                ui.label(
                    RichText::new("Nothing of that name. Try a GPU, such as H20.")
                        .color(theme.text_muted),
                );
            }
        });
    output
}

fn search(ui: &mut Ui, state: &mut PaletteState, theme: &Theme) {
    let response = ui.add(
        egui::TextEdit::singleline(&mut state.search)
            .hint_text("Find a part")
            .desired_width(f32::INFINITY)
            .margin(egui::Margin {
                left: 28,
                right: 8,
                top: 6,
                bottom: 6,
            }),
    );
    let edge = if response.has_focus() {
        theme.accent
    } else {
        theme.line
    };
    ui.painter().rect_stroke(
        response.rect,
        CornerRadius::same(super::theme::RADIUS),
        Stroke::new(1.0, edge),
        StrokeKind::Inside,
    );
    let icon = Rect::from_center_size(
        pos2(response.rect.left() + 15.0, response.rect.center().y),
        vec2(13.0, 13.0),
    );
    icons::search(ui.painter(), icon, theme.text_muted);
    if response.has_focus() && ui.input(|i| i.key_pressed(Key::Escape)) {
        state.search.clear();
    }
}

/// A section's heading; where it shows only the usual, with the way to all.
fn heading(ui: &mut Ui, words: &str, more: Option<(&mut bool, usize)>, theme: &Theme) {
    ui.add_space(space::XS);
    ui.horizontal(|ui| {
        ui.label(RichText::new(words).size(12.0).color(theme.text_muted));
        let Some((open, all)) = more else { return };
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let link = if *open {
                "Fewer".to_owned()
            } else {
                format!("All {all}…")
            };
            let link =
                egui::Button::new(RichText::new(link).size(12.0).color(theme.accent)).frame(false);
            let response = ui.add(link).on_hover_cursor(CursorIcon::PointingHand);
            if response.clicked() {
                *open = !*open;
            }
        });
    });
}

fn matches(needle: &str, words: &[&str]) -> bool {
    needle.is_empty() || {
        let all = words.join(" ").to_lowercase();
        needle.split_whitespace().all(|word| all.contains(word))
    }
}

fn nodes(
    ui: &mut Ui,
    state: &mut PaletteState,
    view: &PaletteView<'_>,
    needle: &str,
    output: &mut PaletteOutput,
) -> bool {
    let catalog = view.catalog;
    let usual = |id: &str| NodeTypeId::new(id).ok().and_then(|id| catalog.node(&id));
    let all = state.all_nodes || !needle.is_empty();
    let mut shown: Vec<&NodeType> = USUAL_NODES.iter().filter_map(|id| usual(id)).collect();
    let total = catalog.nodes().count();
    if all || shown.is_empty() {
        let rest: Vec<&NodeType> = catalog
            .nodes()
            .filter(|node| !shown.iter().any(|s| s.id == node.id))
            .collect();
        shown.extend(rest);
    }
    shown.retain(|node| {
        let gpu = catalog.gpu(&node.gpu).map_or("", |gpu| gpu.name.as_str());
        matches(needle, &[&node.name, node.id.as_str(), gpu])
    });
    if shown.is_empty() {
        return false;
    }
    let more = needle.is_empty() && total > USUAL_NODES.len();
    heading(
        ui,
        "Nodes",
        more.then_some((&mut state.all_nodes, total)),
        view.theme,
    );
    for node in shown {
        let detail = catalog.gpu(&node.gpu).map_or_else(String::new, |gpu| {
            format!("{} × {}", node.gpus, edits::gpu_memory(gpu))
        });
        let icon = if node.gpus > 16 {
            icons::rack
        } else {
            icons::node
        };
        // The detail says how many GPUs, and racks have an icon of their own.
        let counted = |tail: &str| tail.ends_with("GPUs") || tail.ends_with("NPUs");
        let name = match node.name.rsplit_once(", ") {
            Some((name, tail)) if counted(tail) => name,
            _ => &node.name,
        };
        let name = [" rack", " platform", " server"]
            .iter()
            .find_map(|sort| name.strip_suffix(sort))
            .unwrap_or(name);
        let response = row(ui, view.theme, name, &detail, icon);
        part(
            &response,
            Part::Node(node.id.clone()),
            &node.name,
            view.theme,
            output,
        );
        response.on_hover_ui(|ui| node_tip(ui, node, catalog, view.theme));
    }
    true
}

fn switches(
    ui: &mut Ui,
    state: &mut PaletteState,
    view: &PaletteView<'_>,
    needle: &str,
    output: &mut PaletteOutput,
) -> bool {
    let catalog = view.catalog;
    let usual = |id: &str| {
        SwitchTypeId::new(id)
            .ok()
            .and_then(|id| catalog.switch(&id))
    };
    let mut shown: Vec<&SwitchType> = USUAL_SWITCHES.iter().filter_map(|id| usual(id)).collect();
    let total = catalog.switches().count();
    if state.all_switches || !needle.is_empty() || shown.is_empty() {
        let rest: Vec<_> = catalog
            .switches()
            .filter(|switch| !shown.iter().any(|s| s.id == switch.id))
            .collect();
        shown.extend(rest);
    }
    shown.retain(|switch| {
        matches(
            needle,
            &[
                &switch.name,
                switch.id.as_str(),
                tier(switch.tier),
                "switch",
            ],
        )
    });
    if shown.is_empty() {
        return false;
    }
    let more = needle.is_empty() && total > USUAL_SWITCHES.len();
    heading(
        ui,
        "Network",
        more.then_some((&mut state.all_switches, total)),
        view.theme,
    );
    for switch in shown {
        // The name says ports, rate and tier again; the detail shows them in one form for all.
        let name = switch.name.split(',').next().unwrap_or(&switch.name);
        let name = name
            .rsplit_once(' ')
            .filter(|(_, last)| last.contains('×'))
            .map_or(name, |(name, _)| name);
        let name = ["Quantum-2 ", "Quantum ", "Spectrum-4 "]
            .iter()
            .find_map(|family| name.strip_prefix(family))
            .unwrap_or(name);
        let label = format!("{name} {}", tier(switch.tier));
        let gigabits = switch.port_rate.get() * 8e-9;
        let detail = format!("{}×{gigabits:.0}G", switch.ports);
        let response = row(ui, view.theme, &label, &detail, icons::switch);
        part(
            &response,
            Part::Switch(switch.id.clone()),
            &label,
            view.theme,
            output,
        );
        response.on_hover_ui(|ui| switch_tip(ui, switch, view.theme));
    }
    true
}

fn links(
    ui: &mut Ui,
    state: &mut PaletteState,
    view: &PaletteView<'_>,
    needle: &str,
    output: &mut PaletteOutput,
) -> bool {
    let all = state.all_links || !needle.is_empty();
    let shown: Vec<LinkKind> = LinkKind::ALL
        .into_iter()
        .filter(|kind| all || USUAL_LINKS.contains(kind))
        .filter(|kind| matches(needle, &[kind.name(), link_words(*kind), "link"]))
        .collect();
    if shown.is_empty() {
        return false;
    }
    let more = needle
        .is_empty()
        .then_some((&mut state.all_links, LinkKind::ALL.len()));
    heading(ui, "Links", more, view.theme);
    for kind in shown {
        let active = view.tool == Tool::Link(kind);
        let accent = active.then_some(view.theme.accent);
        let response = row_marked(
            ui,
            view.theme,
            kind.name(),
            link_words(kind),
            accent,
            icons::link,
        );
        response.dnd_set_drag_payload(Part::Link(kind));
        ghost(&response, &format!("{} link", kind.name()), view.theme);
        if response.clicked() {
            output.tool = Some(if active {
                Tool::Select
            } else {
                Tool::Link(kind)
            });
        }
        response.on_hover_text(
            "Click, then drag from one card to another; or drag it onto a card to start there.",
        );
    }
    true
}

fn roles(ui: &mut Ui, view: &PaletteView<'_>, needle: &str, output: &mut PaletteOutput) -> bool {
    let count = |role: Role| -> u64 {
        let pools = view.design.pools.iter().filter(|pool| pool.role == role);
        pools
            .flat_map(|pool| &pool.gpus)
            .map(crate::cluster::GpuRange::len)
            .sum()
    };
    let all = edits::gpu_count(&view.design.cluster, view.catalog);
    let idle = all.saturating_sub(Role::ALL.into_iter().map(count).sum());
    let shown: Vec<(Option<Role>, &str, u64)> = Role::ALL
        .into_iter()
        .map(|role| (Some(role), role.name(), count(role)))
        .chain([(None, "Idle", idle)])
        .filter(|(_, name, _)| matches(needle, &[name, "role"]))
        .collect();
    if shown.is_empty() {
        return false;
    }
    heading(ui, "Roles to paint", None, view.theme);
    for (role, name, gpus) in shown {
        let color = view.theme.role(role);
        let active = view.tool == Tool::Brush(role);
        let detail = if gpus == 1 {
            "1 GPU".to_owned()
        } else {
            format!("{gpus} GPUs")
        };
        let mark = active.then_some(color);
        let response = row_marked(ui, view.theme, name, &detail, mark, |painter, rect, _| {
            let swatch = rect.shrink(2.0);
            if role.is_some() {
                painter.rect_filled(swatch, CornerRadius::same(4), color);
            } else {
                painter.rect_stroke(
                    swatch,
                    CornerRadius::same(4),
                    Stroke::new(1.5, color),
                    StrokeKind::Inside,
                );
            }
        });
        if response.clicked() {
            output.tool = Some(if active {
                Tool::Select
            } else {
                Tool::Brush(role)
            });
        }
        response.on_hover_text(role_words(role));
    }
    ui.add_space(space::S);
    true
}

const fn tier(tier: SwitchTier) -> &'static str {
    match tier {
        SwitchTier::Leaf => "leaf",
        SwitchTier::Spine => "spine",
        SwitchTier::Core => "core",
    }
}

const fn link_words(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Infiniband | LinkKind::Roce => "RDMA",
        LinkKind::Ethernet => "TCP",
        LinkKind::NvLink | LinkKind::C2c => "scale-up",
        LinkKind::Pcie => "GPU to NIC",
        LinkKind::InterDc => "far",
    }
}

const fn role_words(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Colocated) => "Prefill and decode in the same steps.",
        Some(Role::Prefill) => "Reads prompts, computes the first token, hands the KV to decode.",
        Some(Role::Decode) => "Writes all further tokens from KV it was handed.",
        Some(Role::Attention) => "The attention half of an attention/FFN split; holds the KV.",
        Some(Role::Ffn) => "The FFN half; holds the experts, serves several attention pools.",
        None => "Takes GPUs out of their pool.",
    }
}
