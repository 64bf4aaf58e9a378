//! The top bar: menus, the document's name, how the simulation is going; `tabs` are between.

use super::App;
use super::command::{Action, UiCommand};
use super::dialogs::primary;
use super::outcome::RunNote;
use super::style;
use super::theme::{RADIUS, Theme, space, text};
use super::tool::Tool;
use eframe::egui::{
    self, Align, Button, CornerRadius, FontId, Layout, RichText, ScrollArea, Sense, Ui, pos2, vec2,
};

/// The menus, top to bottom; none: a line between.
const FILE: [Option<UiCommand>; 8] = [
    Some(UiCommand::New),
    Some(UiCommand::Open),
    Some(UiCommand::Save),
    Some(UiCommand::SaveAs),
    None,
    Some(UiCommand::ImportModel),
    Some(UiCommand::ExportPlot),
    None,
];
const EDIT: [Option<UiCommand>; 9] = [
    Some(UiCommand::Undo),
    Some(UiCommand::Redo),
    None,
    Some(UiCommand::SelectAll),
    Some(UiCommand::DeleteSelection),
    None,
    Some(UiCommand::AddDesign),
    Some(UiCommand::DuplicateDesign),
    Some(UiCommand::DeleteDesign),
];
const VIEW: [Option<UiCommand>; 10] = [
    Some(UiCommand::ZoomToFit),
    None,
    Some(UiCommand::ToolSelect),
    Some(UiCommand::ToolHand),
    Some(UiCommand::ToolLink),
    Some(UiCommand::ToolBrush),
    None,
    Some(UiCommand::ThemeLight),
    Some(UiCommand::ThemeDark),
    Some(UiCommand::ThemeSystem),
];
const SIMULATE: [Option<UiCommand>; 2] = [Some(UiCommand::Run), Some(UiCommand::Cancel)];

impl App {
    pub(super) fn topbar_ui(&mut self, ui: &mut Ui, theme: &Theme) {
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            self.menus_ui(ui, theme);
            ui.add_space(space::S);
            self.name_ui(ui, theme);
            ui.add_space(space::M);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = space::S;
                self.run_ui(ui, theme);
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ScrollArea::horizontal()
                        .auto_shrink([false, true])
                        .scroll_bar_visibility(egui::scroll_area::ScrollBarVisibility::AlwaysHidden)
                        .show(ui, |ui| {
                            self.tabs_ui(ui, theme);
                        });
                });
            });
        });
    }

    fn menus_ui(&mut self, ui: &mut Ui, theme: &Theme) {
        let menus: [(&str, &[Option<UiCommand>]); 4] = [
            ("File", &FILE),
            ("Edit", &EDIT),
            ("View", &VIEW),
            ("Simulate", &SIMULATE),
        ];
        for (name, commands) in menus {
            let button = Button::new(name).frame_when_inactive(false);
            egui::containers::menu::MenuButton::from_button(button).ui(ui, |ui| {
                ui.set_min_width(240.0);
                for command in commands {
                    match command {
                        Some(command) => self.menu_item_ui(ui, theme, *command),
                        None => {
                            ui.separator();
                        }
                    }
                }
                if name == "File" {
                    self.examples_ui(ui);
                    ui.separator();
                    self.recent_ui(ui, theme);
                    self.menu_item_ui(ui, theme, UiCommand::Quit);
                }
            });
        }
    }

    pub(super) fn menu_item_ui(&mut self, ui: &mut Ui, theme: &Theme, command: UiCommand) {
        let words = match command {
            UiCommand::Undo => with_label(command, self.history.undo_label()),
            UiCommand::Redo => with_label(command, self.history.redo_label()),
            _ => command.text().to_owned(),
        };
        let mut button = Button::new(words).selected(self.is_on(ui.ctx(), command));
        if let Some(keys) = command.shortcut() {
            let keys = ui.ctx().format_shortcut(&keys);
            button = button.shortcut_text(RichText::new(keys).small().color(theme.text_muted));
        }
        let response = ui.add_enabled(self.can(command), button);
        if response.on_hover_text(command.tooltip()).clicked() {
            self.actions.command(command);
            ui.close();
        }
    }

    /// Whether a command's choice is the one in force.
    fn is_on(&self, ctx: &egui::Context, command: UiCommand) -> bool {
        let theme = ctx.options(|o| o.theme_preference);
        match command {
            UiCommand::ThemeLight => theme == egui::ThemePreference::Light,
            UiCommand::ThemeDark => theme == egui::ThemePreference::Dark,
            UiCommand::ThemeSystem => theme == egui::ThemePreference::System,
            UiCommand::ToolSelect => self.view.tool == Tool::Select,
            UiCommand::ToolHand => self.view.tool == Tool::Hand,
            UiCommand::ToolLink => matches!(self.view.tool, Tool::Link(_)),
            UiCommand::ToolBrush => matches!(self.view.tool, Tool::Brush(_)),
            _ => false,
        }
    }

    /// Whether a command has something to do now.
    fn can(&self, command: UiCommand) -> bool {
        match command {
            UiCommand::Undo => self.history.undo_label().is_some(),
            UiCommand::Redo => self.history.redo_label().is_some(),
            UiCommand::DeleteSelection => !self.view.selection.is_empty(),
            UiCommand::DeleteDesign => self.project().designs.len() > 1,
            UiCommand::Cancel => self.runner.is_busy(),
            UiCommand::Save => self.history.is_dirty() || self.path.is_none(),
            _ => true,
        }
    }

    fn examples_ui(&mut self, ui: &mut Ui) {
        let examples = &self.examples;
        let mut chosen = None;
        ui.menu_button("Examples", |ui| {
            ui.set_min_width(300.0);
            for example in examples {
                let row = ui.add(Button::new(&example.title).truncate());
                if row.on_hover_text(&example.story).clicked() {
                    chosen = Some(example.name.clone());
                    ui.close();
                }
            }
        });
        if let Some(name) = chosen {
            self.actions.push(Action::Example(name));
        }
    }

    fn recent_ui(&mut self, ui: &mut Ui, theme: &Theme) {
        if self.recent.paths().is_empty() {
            return;
        }
        ui.label(RichText::new("Recent").small().color(theme.text_muted));
        let mut chosen = None;
        for path in self.recent.paths() {
            let name = path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy();
            let row = ui.add(Button::new(name.into_owned()).truncate());
            if row.on_hover_text(path.display().to_string()).clicked() {
                chosen = Some(path.clone());
                ui.close();
            }
        }
        ui.separator();
        if let Some(path) = chosen {
            self.actions.push(Action::OpenPath(path));
        }
    }

    fn name_ui(&self, ui: &mut Ui, theme: &Theme) {
        let name = RichText::new(self.document_name())
            .family(style::semibold())
            .color(theme.text);
        ui.add(egui::Label::new(name).truncate())
            .on_hover_text(match &self.path {
                Some(path) => path.display().to_string(),
                None => "Not saved to a file yet".to_owned(),
            });
        let state = match (self.history.is_dirty(), &self.path) {
            (true, _) => " edited",
            (false, Some(_)) => " saved",
            (false, None) => "",
        };
        ui.label(RichText::new(state).small().color(theme.text_muted));
    }

    /// How the simulation is going, and the button that starts or stops it.
    fn run_ui(&mut self, ui: &mut Ui, theme: &Theme) {
        let busy = self.runner.is_busy();
        let button = if busy {
            ui.button("Cancel")
                .on_hover_text(UiCommand::Cancel.tooltip())
        } else {
            ui.add(primary(theme, "Simulate"))
                .on_hover_text("Every edit simulates by itself; this does it again (F5)")
        };
        if button.clicked() {
            self.actions.command(if busy {
                UiCommand::Cancel
            } else {
                UiCommand::Run
            });
        }
        let (color, words) = self.run_state(theme);
        let font = FontId::proportional(text::SMALL);
        let galley = ui.painter().layout_no_wrap(words, font, theme.text);
        let size = vec2(galley.size().x + 34.0, ui.spacing().interact_size.y);
        let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
        let fill = color.gamma_multiply(if theme.dark { 0.16 } else { 0.10 });
        ui.painter()
            .rect_filled(rect, CornerRadius::same(RADIUS), fill);
        ui.painter()
            .circle_filled(rect.left_center() + vec2(13.0, 0.0), 4.0, color);
        let at = pos2(rect.left() + 23.0, rect.center().y - galley.size().y / 2.0);
        ui.painter().galley(at, galley, theme.text);
    }

    /// `16 points in 0.42 s` or `Simulating 5 of 16…`, with its colour.
    pub(super) fn run_state(&self, theme: &Theme) -> (egui::Color32, String) {
        if let Some((done, total)) = self.runner.progress() {
            return (
                theme.accent,
                format!("Simulating {} of {total}…", (done + 1).min(total)),
            );
        }
        let blocked = self
            .outcome
            .design(&self.view.design)
            .is_some_and(|o| o.runnable == Some(false) || o.failure.is_some());
        if self.design().cluster.groups.is_empty() {
            return (theme.text_muted, "Nothing drawn yet".to_owned());
        }
        match self.outcome.note {
            _ if blocked => (theme.error, "Can't run yet".to_owned()),
            Some(RunNote::Done { points: 0, .. }) | None => self.known_state(theme),
            Some(RunNote::Done { points, took }) => {
                let seconds = took.as_secs_f64();
                let noun = if points == 1 { "point" } else { "points" };
                (theme.good, format!("{points} {noun} in {seconds:.2} s"))
            }
            Some(RunNote::Cancelled) => (theme.warning, "Cancelled".to_owned()),
        }
    }

    /// What is known of the design in view where the last run had nothing to do for it.
    fn known_state(&self, theme: &Theme) -> (egui::Color32, String) {
        let known = self.outcome.design(&self.view.design);
        match known.map_or(0, |o| o.shown().0.len()) {
            0 => (theme.text_muted, "Not simulated".to_owned()),
            1 => (theme.good, "1 point".to_owned()),
            n => (theme.good, format!("{n} points")),
        }
    }
}

fn with_label(command: UiCommand, label: Option<&str>) -> String {
    match label {
        Some(label) => format!("{}: {label}", command.text()),
        None => command.text().to_owned(),
    }
}
