//! Puts the tokens of [`Theme`] into egui: colours, spaces, type scale and the Inter fonts.

use super::theme::{RADIUS, Theme, space, text};
use crate::report::{Rgb, fonts, palette};
use eframe::egui::{
    self, Color32, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Margin, Shadow,
    Stroke, TextStyle, Vec2, Visuals,
    style::{ScrollStyle, Selection, WidgetVisuals, Widgets},
};
use std::sync::Arc;

/// Family of words that carry weight: names, values.
#[must_use]
pub fn medium() -> FontFamily {
    FontFamily::Name("Inter Medium".into())
}

/// Family of headings.
#[must_use]
pub fn semibold() -> FontFamily {
    FontFamily::Name("Inter SemiBold".into())
}

/// A heading's font.
#[must_use]
pub fn heading(size: f32) -> FontId {
    FontId::new(size, semibold())
}

/// Sets fonts and both themes' styles; once, before the first frame.
pub fn apply(ctx: &egui::Context) {
    ctx.set_fonts(font_definitions());
    ctx.options_mut(|options| {
        options.zoom_with_keyboard = false;
        options.fallback_theme = egui::Theme::Light;
    });
    for (egui_theme, theme) in [
        (egui::Theme::Light, Theme::light()),
        (egui::Theme::Dark, Theme::dark()),
    ] {
        let mut style = (*ctx.style_of(egui_theme)).clone();
        style.visuals = visuals(&theme);
        style.text_styles = [
            (TextStyle::Small, FontId::proportional(text::SMALL)),
            (TextStyle::Body, FontId::proportional(text::BODY)),
            (TextStyle::Button, FontId::proportional(text::BODY)),
            (TextStyle::Heading, heading(text::HEADING)),
            (TextStyle::Monospace, FontId::monospace(text::BODY - 1.0)),
        ]
        .into();
        let spacing = &mut style.spacing;
        spacing.item_spacing = Vec2::new(space::S, 6.0);
        spacing.button_padding = Vec2::new(10.0, 4.0);
        spacing.interact_size = Vec2::new(32.0, 26.0);
        spacing.menu_margin = Margin::same(6);
        spacing.window_margin = Margin::same(16);
        spacing.combo_height = 320.0;
        spacing.icon_width = 16.0;
        spacing.icon_width_inner = 9.0;
        spacing.tooltip_width = 360.0;
        spacing.scroll = ScrollStyle::thin();
        style.interaction.selectable_labels = false;
        style.interaction.tooltip_delay = 0.35;
        style.animation_time = 0.08;
        ctx.set_style_of(egui_theme, style);
    }
}

/// The tokens that go with the theme in use.
#[must_use]
pub fn theme_of(ctx: &egui::Context) -> Theme {
    match ctx.theme() {
        egui::Theme::Dark => Theme::dark(),
        egui::Theme::Light => Theme::light(),
    }
}

/// A colour of the report palette.
#[must_use]
pub const fn color(rgb: Rgb) -> Color32 {
    Color32::from_rgb(rgb.0, rgb.1, rgb.2)
}

/// The colour of the design at `index`, as its curve has it.
#[must_use]
pub fn design_color(theme: &Theme, index: usize) -> Color32 {
    let tone = palette::series(index).tone;
    color(if theme.dark {
        tone.on_dark
    } else {
        tone.on_light
    })
}

fn font_definitions() -> FontDefinitions {
    let mut definitions = FontDefinitions::default();
    let fallbacks = definitions
        .families
        .get(&FontFamily::Proportional)
        .cloned()
        .unwrap_or_default();
    for (name, bytes, family) in [
        ("Inter", fonts::INTER_REGULAR, FontFamily::Proportional),
        ("Inter Medium", fonts::INTER_MEDIUM, medium()),
        ("Inter SemiBold", fonts::INTER_SEMIBOLD, semibold()),
    ] {
        definitions
            .font_data
            .insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
        let mut stack = vec![name.to_owned()];
        stack.extend(fallbacks.iter().cloned());
        definitions.families.insert(family, stack);
    }
    definitions
}

fn visuals(theme: &Theme) -> Visuals {
    let mut visuals = if theme.dark {
        Visuals::dark()
    } else {
        Visuals::light()
    };
    let radius = CornerRadius::same(RADIUS);
    let widget = |fill: Color32, line: Color32, ink: Color32| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, line),
        corner_radius: radius,
        fg_stroke: Stroke::new(1.0, ink),
        expansion: 0.0,
    };
    visuals.widgets = Widgets {
        noninteractive: widget(theme.panel, theme.line, theme.text),
        inactive: widget(theme.card, theme.line, theme.text),
        hovered: widget(theme.card_hover, theme.line, theme.text),
        active: widget(theme.accent_soft, theme.accent, theme.text),
        open: widget(theme.card_hover, theme.accent, theme.text),
    };
    visuals.selection = Selection {
        bg_fill: theme.accent_soft,
        stroke: Stroke::new(1.0, theme.accent),
    };
    visuals.weak_text_color = Some(theme.text_muted);
    visuals.hyperlink_color = theme.accent;
    visuals.faint_bg_color = theme.canvas;
    visuals.extreme_bg_color = theme.canvas;
    visuals.text_edit_bg_color = Some(theme.card);
    visuals.code_bg_color = theme.canvas;
    visuals.warn_fg_color = theme.warning;
    visuals.error_fg_color = theme.error;
    visuals.panel_fill = theme.panel;
    visuals.window_fill = theme.panel;
    visuals.window_stroke = Stroke::new(1.0, theme.line);
    visuals.window_corner_radius = CornerRadius::same(RADIUS + 4);
    visuals.menu_corner_radius = CornerRadius::same(RADIUS + 2);
    let shadow = |blur, alpha| Shadow {
        offset: [0, 4],
        blur,
        spread: 0,
        color: Color32::from_black_alpha(if theme.dark { alpha * 3 } else { alpha }),
    };
    visuals.window_shadow = shadow(24, 36);
    visuals.popup_shadow = shadow(14, 28);
    visuals.text_cursor.stroke = Stroke::new(1.5, theme.accent);
    // A blinking cursor would repaint an idle window twice a second.
    visuals.text_cursor.blink = false;
    visuals.striped = false;
    visuals
}
