//! A GPU's memory as a stacked bar with its legend: what weighs what, and how that was worked out.

use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::model::grouped;
use crate::plan::{BlockSource, MemoryBudget, MemoryTerm, Role};
use crate::units::Bytes;
use eframe::egui::{self, Color32, CornerRadius, Label, Rect, RichText, Sense, Ui, pos2, vec2};

/// The colour of the term at `index`: greys for what only takes room, so that KV stands out in its
/// role's colour.
fn term_color(theme: &Theme, index: usize, count: usize) -> Color32 {
    let (from, to) = (theme.text_muted, theme.line);
    let last = count.saturating_sub(1).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a handful of terms")]
    let t = index.min(last) as f32 / last as f32;
    from.lerp_to_gamma(to, 0.15 + 0.75 * t)
}

/// The bar.
pub fn bar_ui(ui: &mut Ui, theme: &Theme, role: Role, budget: &MemoryBudget, height: f32) {
    let width = ui.available_width();
    let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
    let used: Bytes = budget.terms.iter().map(|t| t.bytes).sum();
    let whole = budget.capacity.as_f64().max(used.as_f64()).max(1.0);
    #[expect(clippy::cast_possible_truncation, reason = "a share of a width")]
    let wide = |bytes: Bytes| (bytes.as_f64() / whole) as f32 * rect.width();
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect_filled(rect, CornerRadius::same(3), theme.canvas);
    let mut left = rect.left();
    let mut piece = |bytes: Bytes, color: Color32| {
        let right = left + wide(bytes);
        let part = Rect::from_min_max(pos2(left, rect.top()), pos2(right, rect.bottom()));
        painter.rect_filled(part, CornerRadius::ZERO, color);
        painter.vline(right, rect.y_range(), (1.0, theme.panel));
        left = right;
        part
    };
    let pointer = response.hover_pos();
    let mut under: Option<(String, String)> = None;
    for (index, term) in budget.terms.iter().enumerate() {
        let part = piece(term.bytes, term_color(theme, index, budget.terms.len()));
        if pointer.is_some_and(|p| part.contains(p)) {
            under = Some((format!("{} · {}", term.name, gib(term.bytes)), how(term)));
        }
    }
    let kv = piece(budget.kv, theme.role(Some(role)));
    if pointer.is_some_and(|p| kv.contains(p)) {
        under = Some((format!("KV cache · {}", gib(budget.kv)), kv_how(budget)));
    }
    if budget.shortfall.is_some() {
        let full = rect.left() + wide(budget.capacity);
        ui.painter()
            .vline(full, rect.y_range().expand(3.0), (2.0, theme.error));
    }
    if let Some((title, how)) = under {
        response.on_hover_ui_at_pointer(|ui| {
            ui.label(RichText::new(title).family(style::medium()));
            ui.label(RichText::new(how).small().color(theme.text_muted));
        });
    }
}

/// A term's arithmetic and on whose word.
fn how(term: &MemoryTerm) -> String {
    format!("{}\nSource: {}", term.formula, term.source)
}

fn gib(bytes: Bytes) -> String {
    format!("{:.1} GiB", bytes.gib())
}

fn kv_text(budget: &MemoryBudget) -> String {
    let from = match budget.source {
        BlockSource::Derived => "",
        BlockSource::Measured => " (measured)",
    };
    let length = kv_length(budget);
    if budget.blocks == 0 {
        // States alone: nothing is kept in blocks.
        return length;
    }
    format!("{} blocks{from} = {length}", grouped(budget.blocks))
}

/// Length of the longest sequence the cache holds. States and windows don't grow for ever: of them,
/// how many sequences there is room for.
pub fn kv_length(budget: &MemoryBudget) -> String {
    /// Longer than any window.
    const LONG: u64 = 1 << 40;
    if budget.kv_tokens < u64::MAX {
        return format!("{} tokens", grouped(budget.kv_tokens));
    }
    match budget.pool_bytes().checked_div(budget.sequence.bytes(LONG)) {
        Some(sequences) => format!("{} sequences of any length", grouped(sequences)),
        None => "any length".to_owned(),
    }
}

/// The arithmetic behind the cache's size and blocks.
fn kv_how(budget: &MemoryBudget) -> String {
    let taken: Bytes = budget.terms.iter().map(|term| term.bytes).sum();
    let blocks = match (budget.source, budget.block_bytes.get()) {
        (BlockSource::Measured, _) => "; blocks as your engine's log says".to_owned(),
        (BlockSource::Derived, 0) => String::new(),
        (BlockSource::Derived, block) => format!("; {} B a block on this GPU", grouped(block)),
    };
    format!(
        "{}\n{} less {} above{blocks}",
        kv_text(budget),
        gib(budget.capacity),
        gib(taken)
    )
}

/// Each term with its colour, size and, on hover, its arithmetic.
pub fn legend_ui(ui: &mut Ui, theme: &Theme, role: Role, budget: &MemoryBudget) {
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 16.0;
        let count = budget.terms.len();
        for (index, term) in budget.terms.iter().enumerate() {
            let color = term_color(theme, index, count);
            entry(ui, theme, color, term.name, &gib(term.bytes), &how(term));
        }
        entry(
            ui,
            theme,
            theme.role(Some(role)),
            "KV cache",
            &gib(budget.kv),
            &kv_how(budget),
        );
        ui.add_space(space::XS);
        match budget.shortfall {
            Some(missing) => {
                let words = format!("{} more than the GPU has", gib(missing));
                ui.label(
                    RichText::new(words)
                        .color(theme.error)
                        .family(style::medium()),
                );
            }
            None => {
                ui.label(
                    RichText::new(format!("= {}", kv_text(budget)))
                        .small()
                        .color(theme.accent),
                );
            }
        }
    });
}

fn entry(ui: &mut Ui, theme: &Theme, color: Color32, name: &str, size: &str, how: &str) {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        ui.painter().rect_filled(rect, CornerRadius::same(2), color);
        ui.add(
            Label::new(RichText::new(name).small().color(theme.text))
                .truncate()
                .sense(Sense::hover()),
        )
        .on_hover_text(how);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(RichText::new(size).small().color(theme.text_muted));
        });
    });
}
