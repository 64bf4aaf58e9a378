//! Tooltips of the palette: datasheet numbers with their sources.

use crate::app::edits;
use crate::app::theme::{Theme, space, text};
use crate::catalog::{Catalog, NodeType, Source, SwitchType};
use eframe::egui::{RichText, Ui};

fn tip_lines(ui: &mut Ui, title: &str, lines: &[String], sources: &[Source], theme: &Theme) {
    ui.set_max_width(320.0);
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.label(RichText::new(title).size(text::BODY).color(theme.text));
    for line in lines {
        ui.label(RichText::new(line).size(12.0).color(theme.text));
    }
    for source in sources.iter().take(3) {
        let words = format!("{}: {}", source.covers, source.cite);
        ui.label(
            RichText::new(words)
                .size(text::SMALL)
                .color(theme.text_muted),
        );
    }
    ui.add_space(space::XS);
    let how = "Drag onto the canvas, click to place, double-click to add in the middle.";
    ui.label(RichText::new(how).size(text::SMALL).color(theme.text_muted));
}

/// A node's numbers and where they come from.
pub fn node_tip(ui: &mut Ui, node: &NodeType, catalog: &Catalog, theme: &Theme) {
    let mut lines = vec![edits::node_detail(node, catalog)];
    if let Some(gpu) = catalog.gpu(&node.gpu) {
        let mut peaks = format!("{:.0} TFLOPS BF16", gpu.peaks.bf16.get() * 1e-12);
        if let Some(fp8) = gpu.peaks.fp8 {
            peaks.push_str(&format!(", {:.0} FP8", fp8.get() * 1e-12));
        }
        if let Some(fp4) = gpu.peaks.fp4 {
            peaks.push_str(&format!(", {:.0} FP4", fp4.get() * 1e-12));
        }
        lines.push(format!("{peaks} (dense)"));
        lines.push(format!(
            "HBM {} · scale-up {} each way",
            edits::byte_rate(gpu.bandwidth),
            edits::byte_rate(gpu.scale_up)
        ));
        lines.push(format!(
            "{} per GPU · {} ({})",
            gpu.power, gpu.price.per_hour, gpu.price.date
        ));
    }
    if let Some(nic) = catalog.nic(&node.nic).filter(|_| node.nics > 0) {
        lines.push(format!(
            "{} × {} ({})",
            node.nics,
            edits::wire_rate(nic.rate),
            nic.name
        ));
    }
    let gpu_sources = catalog.gpu(&node.gpu).map_or(&[][..], |gpu| &gpu.sources);
    let sources: Vec<Source> = node
        .sources
        .iter()
        .take(1)
        .chain(gpu_sources.iter().take(2))
        .cloned()
        .collect();
    tip_lines(ui, &node.name, &lines, &sources, theme);
}

/// A switch's numbers and where they come from.
pub fn switch_tip(ui: &mut Ui, switch: &SwitchType, theme: &Theme) {
    let lines = [
        format!(
            "{} ports of {}",
            switch.ports,
            edits::wire_rate(switch.port_rate)
        ),
        format!("{} port to port · {}", switch.latency, switch.power),
    ];
    tip_lines(ui, &switch.name, &lines, &switch.sources, theme);
}
