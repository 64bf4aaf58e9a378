//! Designs as tabs: their letter, name and colour; add, rename by double click, delete.

use super::App;
use super::command::{Action, UiCommand};
use super::edit::Edit;
use super::theme::{RADIUS, Theme, space, text};
use super::{starter, style};
use crate::plan::{Design, DesignId};
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{
    self, Button, CornerRadius, FontFamily, FontId, Key, Rect, RichText, Sense, Stroke, StrokeKind,
    TextEdit, Ui, pos2, vec2,
};

impl App {
    pub(super) fn tabs_ui(&mut self, ui: &mut Ui, theme: &Theme) {
        ui.spacing_mut().item_spacing.x = space::XS;
        let project = std::sync::Arc::clone(self.history.project());
        for (index, design) in project.designs.iter().enumerate() {
            let renaming = matches!(&self.view.renaming, Some((id, _)) if *id == design.id);
            if renaming {
                self.rename_ui(ui, &design.id);
            } else {
                self.tab_ui(ui, theme, index, design, project.designs.len() > 1);
            }
        }
        let add = Button::new(RichText::new("+").size(16.0).color(theme.text_muted)).frame(false);
        let add = ui.add(add).on_hover_text("Add a design to compare");
        add.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Add a design"));
        egui::Popup::menu(&add).show(|ui| {
            ui.set_min_width(220.0);
            self.menu_item_ui(ui, theme, UiCommand::DuplicateDesign);
            self.menu_item_ui(ui, theme, UiCommand::AddDesign);
        });
    }

    fn tab_ui(
        &mut self,
        ui: &mut Ui,
        theme: &Theme,
        index: usize,
        design: &Design,
        closable: bool,
    ) {
        let on = design.id == self.view.design;
        let color = style::design_color(theme, index);
        let letter = starter::letter(index);
        let family = if on {
            style::medium()
        } else {
            FontFamily::Proportional
        };
        let mut job = LayoutJob::simple_singleline(
            format!("{letter} {}", design.name),
            FontId::new(text::BODY, family),
            theme.text,
        );
        job.wrap = TextWrapping::truncate_at_width(200.0);
        let galley = ui.painter().layout_job(job);
        let closable_here = closable && on;
        let width = 36.0 + galley.size().x + if closable_here { 20.0 } else { 0.0 };
        let (rect, response) = ui.allocate_exact_size(vec2(width, 30.0), Sense::click());
        let fill = match (on, response.contains_pointer()) {
            (true, _) => theme.accent_soft,
            (false, true) => theme.card_hover,
            (false, false) => egui::Color32::TRANSPARENT,
        };
        let edge = if on {
            theme.accent
        } else {
            egui::Color32::TRANSPARENT
        };
        ui.painter().rect(
            rect,
            CornerRadius::same(RADIUS),
            fill,
            Stroke::new(1.0, edge),
            StrokeKind::Inside,
        );
        ui.painter()
            .circle_filled(rect.left_center() + vec2(15.0, 0.0), 5.0, color);
        let at = pos2(rect.left() + 26.0, rect.center().y - galley.size().y / 2.0);
        ui.painter().galley(at, galley, theme.text);
        if closable_here {
            let spot =
                Rect::from_center_size(rect.right_center() - vec2(15.0, 0.0), vec2(18.0, 18.0));
            if close_ui(ui, theme, spot, &design.name) {
                self.actions.push(Action::Remove(design.id.clone()));
            }
        }
        let words = format!("Design {letter} {}", design.name);
        response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, on, &words));
        if response.double_clicked() {
            self.view.renaming = Some((design.id.clone(), design.name.clone()));
        } else if response.clicked() {
            self.actions.push(Action::Show(design.id.clone()));
        }
        response.context_menu(|ui| {
            ui.set_min_width(180.0);
            if ui.button("Rename").clicked() {
                self.view.renaming = Some((design.id.clone(), design.name.clone()));
                ui.close();
            }
            if ui.button("Duplicate").clicked() {
                self.actions.push(Action::Show(design.id.clone()));
                self.actions.command(UiCommand::DuplicateDesign);
                ui.close();
            }
            if ui.add_enabled(closable, Button::new("Delete")).clicked() {
                self.actions.push(Action::Remove(design.id.clone()));
                ui.close();
            }
        });
    }

    /// A field in place of the tab.
    fn rename_ui(&mut self, ui: &mut Ui, id: &DesignId) {
        let Some((_, name)) = &mut self.view.renaming else {
            return;
        };
        let field = ui.add(
            TextEdit::singleline(name)
                .id_salt(("rename", id.as_str()))
                .desired_width(160.0)
                .char_limit(80),
        );
        field.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Name of the design")
        });
        if field.lost_focus() {
            let name = name.trim().to_owned();
            let id = id.clone();
            let kept = !name.is_empty() && !ui.input(|i| i.key_pressed(Key::Escape));
            self.view.renaming = None;
            if kept {
                self.actions.edit(Edit::design(
                    format!("Name the design {name}"),
                    id,
                    move |design| design.name = name,
                ));
            }
        } else if !field.has_focus() {
            field.request_focus();
        }
    }
}

/// The cross of a tab.
fn close_ui(ui: &mut Ui, theme: &Theme, spot: Rect, name: &str) -> bool {
    let response = ui
        .interact(spot, ui.scope_id().with(("close", name)), Sense::click())
        .on_hover_text("Delete this design (undo brings it back)");
    let color = if response.hovered() {
        theme.text
    } else {
        theme.text_muted
    };
    let (centre, arm) = (spot.center(), 3.5);
    for way in [vec2(arm, arm), vec2(arm, -arm)] {
        ui.painter()
            .line_segment([centre - way, centre + way], Stroke::new(1.3, color));
    }
    let words = format!("Delete {name}");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &words));
    response.clicked()
}
