//! Dialogs over the window: type a path, wait for the system's dialog, unsaved changes, an error.

use super::command::{Action, Actions};
use super::files::{FileTask, Purpose, typed_path};
use super::style;
use super::theme::{Theme, space, text};
use eframe::egui::{self, Frame, Id, Key, Margin, Modal, RichText, TextEdit, Ui};
use std::path::PathBuf;

/// What to do once unsaved changes are dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// Close the window.
    Close,
    /// Start an empty document.
    New,
    /// Ask for a document to open.
    AskOpen,
    /// Open this one.
    Open(PathBuf),
    /// Show the example of that name.
    Example(String),
}

/// A dialog on show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog {
    /// A path is being typed.
    Path {
        /// What for.
        purpose: Purpose,
        /// What is typed.
        text: String,
        /// What was wrong with it.
        error: Option<String>,
        /// Whether the field had focus already.
        focused: bool,
    },
    /// The system's dialog is open.
    Waiting {
        /// What for.
        purpose: Purpose,
    },
    /// The document has unsaved changes.
    Unsaved {
        /// What the user wanted.
        after: After,
    },
    /// A measured row is about to be opened as a design.
    Measured {
        /// Its place among the predicted.
        index: usize,
        /// Its name in the file.
        name: String,
        /// What its client sent.
        load: String,
    },
    /// Something failed; nothing was lost.
    Error {
        /// What was attempted.
        title: String,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        cause: String,
        /// What the path was wanted for: it can be corrected.
        purpose: Option<Purpose>,
    },
}

/// What a dialog's buttons ask for beside queued actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The dialog stays.
    None,
    /// It goes.
    Closed,
    /// It goes; save, then do it.
    SaveThen(After),
    /// It goes; do it without saving.
    DiscardThen(After),
    /// It goes; open the measured row.
    OpenMeasured {
        /// Its place among the predicted.
        index: usize,
        /// With its client's load in place of the document's.
        with_workload: bool,
    },
}

impl Dialog {
    /// A field for a path.
    #[must_use]
    pub const fn path(purpose: Purpose, text: String) -> Self {
        Self::Path {
            purpose,
            text,
            error: None,
            focused: false,
        }
    }

    /// Draws it; what was answered.
    pub fn ui(
        &mut self,
        ctx: &egui::Context,
        theme: &Theme,
        document: &str,
        actions: &mut Actions,
    ) -> Answer {
        let width = 440.0_f32.min(ctx.content_rect().width() - 64.0);
        let mut answer = Answer::None;
        let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20));
        let modal = Modal::new(Id::unique("dialog"))
            .frame(frame)
            .show(ctx, |ui| {
                ui.set_width(width);
                answer = match self {
                    Self::Path {
                        purpose,
                        text,
                        error,
                        focused,
                    } => path_ui(ui, theme, *purpose, text, error, focused, actions),
                    Self::Waiting { purpose } => waiting_ui(ui, theme, *purpose, actions),
                    Self::Unsaved { after } => unsaved_ui(ui, theme, document, after),
                    Self::Measured { index, name, load } => {
                        measured_ui(ui, theme, *index, name, load)
                    }
                    Self::Error {
                        title,
                        path,
                        cause,
                        purpose,
                    } => error_ui(ui, theme, title, path, cause, *purpose, actions),
                };
            });
        if answer == Answer::None && modal.should_close() && !matches!(self, Self::Waiting { .. }) {
            return Answer::Closed;
        }
        answer
    }
}

fn title_ui(ui: &mut Ui, title: &str) {
    ui.label(RichText::new(title).font(style::heading(text::TITLE - 1.0)));
    ui.add_space(space::XS);
}

fn muted(theme: &Theme, words: impl Into<String>) -> RichText {
    RichText::new(words).color(theme.text_muted)
}

/// Buttons at the right edge, the one that goes on last.
fn buttons(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    ui.add_space(space::M);
    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), add);
}

/// The button that goes on.
pub fn primary(theme: &Theme, words: &str) -> egui::Button<'static> {
    egui::Button::new(
        RichText::new(words)
            .color(theme.on_accent)
            .family(style::medium()),
    )
    .fill(theme.accent)
    .stroke(egui::Stroke::NONE)
}

fn path_ui(
    ui: &mut Ui,
    theme: &Theme,
    purpose: Purpose,
    text: &mut String,
    error: &mut Option<String>,
    focused: &mut bool,
    actions: &mut Actions,
) -> Answer {
    let mut answer = Answer::None;
    title_ui(ui, purpose.title());
    let label = ui.label(muted(theme, purpose.hint()));
    ui.add_space(space::XS);
    let field = ui
        .add(
            TextEdit::singleline(text)
                .id_salt("path")
                .desired_width(f32::INFINITY)
                .margin(Margin::symmetric(8, 6)),
        )
        .labelled_by(label.id);
    if !*focused {
        field.request_focus();
        select_stem(ui, field.id, text);
        *focused = true;
    }
    if field.changed() {
        *error = None;
    }
    if let Some(cause) = error {
        ui.label(RichText::new(cause.as_str()).color(theme.error));
    }
    let enter = field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
    buttons(ui, |ui| {
        let replaces = error.as_deref().is_some_and(|cause| cause.ends_with(AGAIN));
        let verb = if replaces { "Replace" } else { purpose.verb() };
        let go = ui.add(primary(theme, verb)).clicked() || enter;
        if ui.button("Cancel").clicked() {
            answer = Answer::Closed;
        } else if go {
            let path = typed_path(text);
            let refusal = refuse(purpose, &path).or_else(|| {
                let there = purpose.written(&path).into_iter().find(|p| p.exists());
                // Said once: going on without another path means it.
                there
                    .filter(|_| !replaces)
                    .map(|p| format!("{} exists already; {AGAIN}", p.display()))
            });
            match refusal {
                Some(cause) => {
                    *error = Some(cause);
                    *focused = false;
                }
                None => {
                    actions.push(Action::File(FileTask::Chosen(purpose, path)));
                    answer = Answer::Closed;
                }
            }
        }
    });
    answer
}

/// How a warning ends that going on overrules.
const AGAIN: &str = "go on to replace it";

/// Selects the file's name without folder and ending: what one most likely types anew.
fn select_stem(ui: &Ui, id: Id, text: &str) {
    use egui::text::{CCursor, CCursorRange};
    let name = text.rfind(['/', '\\']).map_or(0, |at| at + 1);
    let end = text[name..].find('.').map_or(text.len(), |at| name + at);
    let chars = |bytes: usize| CCursor::new(text[..bytes].chars().count());
    let mut state = egui::text_edit::TextEditState::load(ui.ctx(), id).unwrap_or_default();
    state
        .cursor
        .set_char_range(Some(CCursorRange::two(chars(name), chars(end))));
    state.store(ui.ctx(), id);
}

/// What can be said against a path at once.
fn refuse(purpose: Purpose, path: &std::path::Path) -> Option<String> {
    if path.as_os_str().is_empty() {
        return Some("Type a path first".to_owned());
    }
    if purpose.is_folder() && !path.is_dir() {
        return Some(format!("There is no folder {}", path.display()));
    }
    if path.is_dir() && !purpose.is_folder() {
        return Some(format!("{} is a folder", path.display()));
    }
    if purpose.reads() && !path.exists() {
        return Some(format!("There is no file {}", path.display()));
    }
    None
}

fn waiting_ui(ui: &mut Ui, theme: &Theme, purpose: Purpose, actions: &mut Actions) -> Answer {
    let mut answer = Answer::None;
    title_ui(ui, purpose.title());
    ui.label(muted(
        theme,
        "Waiting for the system dialog… If none appears, type a path instead.",
    ));
    buttons(ui, |ui| {
        if ui.add(primary(theme, "Type a path…")).clicked() {
            actions.push(Action::File(FileTask::Type(purpose)));
            answer = Answer::Closed;
        }
        if ui.button("Cancel").clicked() {
            answer = Answer::Closed;
        }
    });
    answer
}

fn unsaved_ui(ui: &mut Ui, theme: &Theme, document: &str, after: &After) -> Answer {
    let mut answer = Answer::None;
    title_ui(ui, &format!("Save changes to {document}?"));
    ui.label(muted(theme, "Changes that are not saved are lost."));
    buttons(ui, |ui| {
        if ui.add(primary(theme, "Save")).clicked() {
            answer = Answer::SaveThen(after.clone());
        }
        if ui.button("Cancel").clicked() {
            answer = Answer::Closed;
        }
        if ui
            .button(RichText::new("Discard").color(theme.error))
            .clicked()
        {
            answer = Answer::DiscardThen(after.clone());
        }
    });
    answer
}

fn measured_ui(ui: &mut Ui, theme: &Theme, index: usize, name: &str, load: &str) -> Answer {
    let mut answer = Answer::None;
    title_ui(ui, "Open a measured row as a design");
    ui.add(egui::Label::new(muted(theme, name)).wrap());
    ui.add_space(space::XS);
    ui.label("Take over its client’s load, too?");
    ui.add(egui::Label::new(muted(theme, load)).wrap());
    let words = "All designs of the project share one workload. One undo takes both back.";
    ui.add(egui::Label::new(muted(theme, words).small()).wrap());
    buttons(ui, |ui| {
        let both = ui.add(primary(theme, "Design and load")).clicked();
        if ui.button("Design alone").clicked() || both {
            answer = Answer::OpenMeasured {
                index,
                with_workload: both,
            };
        }
        if ui.button("Cancel").clicked() {
            answer = Answer::Closed;
        }
    });
    answer
}

fn error_ui(
    ui: &mut Ui,
    theme: &Theme,
    title: &str,
    path: &std::path::Path,
    cause: &str,
    purpose: Option<Purpose>,
    actions: &mut Actions,
) -> Answer {
    let mut answer = Answer::None;
    title_ui(ui, title);
    ui.add(egui::Label::new(muted(theme, path.display().to_string())).selectable(true));
    egui::ScrollArea::vertical()
        .max_height(220.0)
        .show(ui, |ui| {
            ui.add(egui::Label::new(RichText::new(cause).color(theme.error)).selectable(true));
        });
    ui.label(muted(theme, "Your document is as it was."));
    buttons(ui, |ui| {
        if ui.add(primary(theme, "OK")).clicked() {
            answer = Answer::Closed;
        }
        if let Some(purpose) = purpose
            && ui.button("Another path…").clicked()
        {
            actions.push(Action::File(FileTask::Type(purpose)));
            answer = Answer::Closed;
        }
    });
    answer
}
