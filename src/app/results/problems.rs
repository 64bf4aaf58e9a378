//! Findings of all designs: a click goes to the culprit, a button mends it.

use super::{Line, Shown, empty_ui};
use crate::app::command::{Action, Actions};
use crate::app::edit::Edit;
use crate::app::selection::{Item, Selection};
use crate::app::starter;
use crate::app::widgets::finding_card;
use crate::plan::{Design, Finding, Place, Severity};
use eframe::egui::{self, ScrollArea, Sense, Ui, UiBuilder};
use std::borrow::Cow;

/// Findings by how bad they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// What keeps a design from running.
    pub errors: usize,
    /// What it does not run well with.
    pub warnings: usize,
    /// What is worth knowing.
    pub hints: usize,
}

impl Counts {
    /// Errors and warnings.
    #[must_use]
    pub const fn problems(self) -> usize {
        self.errors + self.warnings
    }

    /// `1 error, 2 warnings`.
    #[must_use]
    pub fn words(self) -> String {
        let part = |n: usize, noun: &str| match n {
            0 => None,
            1 => Some(format!("1 {noun}")),
            n => Some(format!("{n} {noun}s")),
        };
        let parts: Vec<String> = [
            part(self.errors, "error"),
            part(self.warnings, "warning"),
            part(self.hints, "hint"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.is_empty() {
            "No problems".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

/// Counts the findings of all designs.
#[must_use]
pub fn problem_counts(shown: &Shown<'_>) -> Counts {
    let mut counts = Counts::default();
    let known = || shown.lines.iter().filter_map(|l| l.outcome);
    counts.errors += known().filter(|o| o.failure.is_some()).count();
    for finding in known().flat_map(|o| &o.findings) {
        match finding.severity {
            Severity::Error => counts.errors += 1,
            Severity::Warning => counts.warnings += 1,
            Severity::Hint => counts.hints += 1,
        }
    }
    counts
}

pub(super) fn problems_ui(ui: &mut Ui, shown: &Shown<'_>, actions: &mut Actions) {
    let theme = shown.theme();
    let mut rows: Vec<(&Line<'_>, Cow<'_, Finding>)> = Vec::new();
    for line in &shown.lines {
        let Some(outcome) = line.outcome else {
            continue;
        };
        rows.extend(outcome.findings.iter().map(|f| (line, Cow::Borrowed(f))));
        let failed = outcome.failure.as_ref().map(|cause| Finding {
            severity: Severity::Error,
            place: Place::Design,
            cause: cause.clone(),
            repair: None,
            further: Vec::new(),
        });
        rows.extend(failed.map(|f| (line, Cow::Owned(f))));
    }
    rows.sort_by_key(|(line, finding)| (finding.severity, line.index));
    if rows.is_empty() {
        empty_ui(
            ui,
            theme,
            "No problems",
            "Every design can run as it is drawn.",
        );
        return;
    }
    ScrollArea::vertical()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            for (line, finding) in rows {
                let letter = starter::letter(line.index);
                let place = format!("{letter} · {}", place_name(line.design, &finding.place));
                let row = ui.scope_builder(UiBuilder::new().sense(Sense::click()), |ui| {
                    finding_card(ui, theme, &finding, Some(&place))
                });
                let response = row.response.on_hover_cursor(egui::CursorIcon::PointingHand);
                response.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Go to {place}"))
                });
                if let Some(repair) = row.inner {
                    actions.edit(Edit::design(
                        repair.label.clone(),
                        line.design.id.clone(),
                        move |design| repair.apply(design),
                    ));
                } else if response.clicked() {
                    actions.push(Action::Show(line.design.id.clone()));
                    actions.push(Action::Select(culprit(line.design, &finding.place)));
                }
            }
        });
}

/// What to select so that the inspector shows the place.
fn culprit(design: &Design, place: &Place) -> Selection {
    match place {
        Place::Group(id) => Selection::one(Item::Group(id.clone())),
        Place::Link(id) => Selection::one(Item::Link(id.clone())),
        Place::Pool(id) => Selection::one(Item::Pool(id.clone())),
        Place::Service(id) => design
            .pools
            .iter()
            .find(|p| {
                design
                    .services
                    .iter()
                    .any(|s| s.id() == id && s.uses(&p.id))
            })
            .map_or_else(Selection::default, |p| {
                Selection::one(Item::Pool(p.id.clone()))
            }),
        Place::Design | Place::Model | Place::Workload => Selection::default(),
    }
}

fn place_name(design: &Design, place: &Place) -> String {
    match place {
        Place::Design => design.name.clone(),
        Place::Group(id) => design
            .cluster
            .group(id)
            .map_or_else(|| id.to_string(), |g| g.name.clone()),
        Place::Link(id) => design.cluster.link(id).map_or_else(
            || id.to_string(),
            |link| {
                let name = |id| {
                    let group = design.cluster.group(id);
                    group.map_or_else(|| id.to_string(), |g| g.name.clone())
                };
                format!("link {} – {}", name(&link.a.group), name(&link.b.group))
            },
        ),
        Place::Pool(id) => design
            .pool(id)
            .map_or_else(|| id.to_string(), |p| format!("pool {}", p.name)),
        Place::Service(id) => {
            let service = design.services.iter().find(|s| s.id() == id);
            let pools = design.pools.iter();
            let names: Vec<&str> = pools
                .filter(|pool| service.is_some_and(|s| s.uses(&pool.id)))
                .map(|pool| pool.name.as_str())
                .collect();
            if names.is_empty() {
                format!("service {id}")
            } else {
                names.join(" + ")
            }
        }
        Place::Model => "model".to_owned(),
        Place::Workload => "workload".to_owned(),
    }
}
