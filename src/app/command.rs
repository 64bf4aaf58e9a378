//! Everything a menu, a button or a key can ask for: [`UiCommand`] (no data, one table of texts and
//! shortcuts) and [`Action`] (with data). Widgets only queue; `handle` executes.

use super::edit::Edit;
use super::files::FileTask;
use super::results::ResultsTab;
use super::selection::Selection;
use super::tool::Tool;
use crate::cluster::LinkKind;
use crate::jobs::FidelityChoice;
use crate::model::Checkpoint;
use crate::plan::DesignId;
use eframe::egui::{self, Key, KeyboardShortcut, Modifiers};
use std::path::PathBuf;

/// A command without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UiCommand {
    /// A new document.
    New,
    /// Open a document.
    Open,
    /// Save the document.
    Save,
    /// Save it under another name.
    SaveAs,
    /// Read a model's `config.json` into the design.
    ImportModel,
    /// Write the curve as PNG, SVG and CSV.
    ExportPlot,
    /// End the program.
    Quit,
    /// Take the last step back.
    Undo,
    /// Make it again.
    Redo,
    /// Select everything drawn.
    SelectAll,
    /// Delete what is selected.
    DeleteSelection,
    /// A new empty design.
    AddDesign,
    /// A copy of the design in view.
    DuplicateDesign,
    /// Remove the design in view.
    DeleteDesign,
    /// Simulate again.
    Run,
    /// Stop simulating.
    Cancel,
    /// Show the whole drawing.
    ZoomToFit,
    /// Light colours.
    ThemeLight,
    /// Dark colours.
    ThemeDark,
    /// The system's choice.
    ThemeSystem,
    /// The select tool.
    ToolSelect,
    /// The hand tool.
    ToolHand,
    /// The link tool.
    ToolLink,
    /// The role brush.
    ToolBrush,
}

impl UiCommand {
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::New,
        Self::Open,
        Self::Save,
        Self::SaveAs,
        Self::ImportModel,
        Self::ExportPlot,
        Self::Quit,
        Self::Undo,
        Self::Redo,
        Self::SelectAll,
        Self::DeleteSelection,
        Self::AddDesign,
        Self::DuplicateDesign,
        Self::DeleteDesign,
        Self::Run,
        Self::Cancel,
        Self::ZoomToFit,
        Self::ThemeLight,
        Self::ThemeDark,
        Self::ThemeSystem,
        Self::ToolSelect,
        Self::ToolHand,
        Self::ToolLink,
        Self::ToolBrush,
    ];

    /// What menus call it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Open => "Open…",
            Self::Save => "Save",
            Self::SaveAs => "Save as…",
            Self::ImportModel => "Import model config.json…",
            Self::ExportPlot => "Export plot…",
            Self::Quit => "Quit",
            Self::Undo => "Undo",
            Self::Redo => "Redo",
            Self::SelectAll => "Select all",
            Self::DeleteSelection => "Delete selection",
            Self::AddDesign => "Add empty design",
            Self::DuplicateDesign => "Duplicate design",
            Self::DeleteDesign => "Delete design",
            Self::Run => "Simulate again",
            Self::Cancel => "Cancel simulation",
            Self::ZoomToFit => "Zoom to fit",
            Self::ThemeLight => "Light theme",
            Self::ThemeDark => "Dark theme",
            Self::ThemeSystem => "System theme",
            Self::ToolSelect => "Select tool",
            Self::ToolHand => "Hand tool",
            Self::ToolLink => "Link tool",
            Self::ToolBrush => "Role brush",
        }
    }

    /// What it does, for a tooltip.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::New => "Start an empty project",
            Self::Open => "Open a project (*.frontier.ron)",
            Self::Save => "Write the project to its file",
            Self::SaveAs => "Write the project to another file",
            Self::ImportModel => "Look at a Hugging Face config.json, then serve it in this design",
            Self::ExportPlot => "Write what is plotted as PNG, SVG and CSV",
            Self::Quit => "Close the window",
            Self::Undo => "Take the last change back",
            Self::Redo => "Make the change again",
            Self::SelectAll => "Select everything drawn",
            Self::DeleteSelection => "Delete what is selected",
            Self::AddDesign => "Add a design with nothing drawn",
            Self::DuplicateDesign => "Copy this design into a new tab to compare",
            Self::DeleteDesign => "Remove this design",
            Self::Run => "Simulate all designs again",
            Self::Cancel => "Stop simulating; keep what is done",
            Self::ZoomToFit => "Show the whole drawing",
            Self::ThemeLight => "Light colours",
            Self::ThemeDark => "Dark colours",
            Self::ThemeSystem => "Follow the system's colours",
            Self::ToolSelect => "Select and move things",
            Self::ToolHand => "Move the view",
            Self::ToolLink => "Draw a link",
            Self::ToolBrush => "Paint a role on GPUs",
        }
    }

    /// Its keys, if it has any.
    #[must_use]
    pub const fn shortcut(self) -> Option<KeyboardShortcut> {
        let ctrl = Modifiers::COMMAND;
        let ctrl_shift = Modifiers::COMMAND.plus(Modifiers::SHIFT);
        let plain = Modifiers::NONE;
        let (modifiers, key) = match self {
            Self::New => (ctrl, Key::N),
            Self::Open => (ctrl, Key::O),
            Self::Save => (ctrl, Key::S),
            Self::SaveAs => (ctrl_shift, Key::S),
            Self::ExportPlot => (ctrl, Key::E),
            Self::Quit => (ctrl, Key::Q),
            Self::Undo => (ctrl, Key::Z),
            Self::Redo => (ctrl_shift, Key::Z),
            Self::SelectAll => (ctrl, Key::A),
            Self::DeleteSelection => (plain, Key::Delete),
            Self::AddDesign => (ctrl_shift, Key::N),
            Self::DuplicateDesign => (ctrl_shift, Key::D),
            Self::Run => (plain, Key::F5),
            Self::Cancel => (plain, Key::Escape),
            Self::ZoomToFit => (plain, Key::F),
            Self::ToolSelect => (plain, Key::V),
            Self::ToolHand => (plain, Key::H),
            Self::ToolLink => (plain, Key::L),
            Self::ToolBrush => (plain, Key::B),
            Self::ImportModel
            | Self::DeleteDesign
            | Self::ThemeLight
            | Self::ThemeDark
            | Self::ThemeSystem => return None,
        };
        Some(KeyboardShortcut::new(modifiers, key))
    }

    /// The tool a tool command chooses.
    #[must_use]
    pub const fn tool(self) -> Option<Tool> {
        match self {
            Self::ToolSelect => Some(Tool::Select),
            Self::ToolHand => Some(Tool::Hand),
            Self::ToolLink => Some(Tool::Link(LinkKind::Infiniband)),
            Self::ToolBrush => Some(Tool::Brush(Some(crate::plan::Role::Colocated))),
            _ => None,
        }
    }

    /// The commands whose keys were pressed. None while text is being typed, because there the
    /// same keys belong to the text.
    #[must_use]
    pub fn pressed(ctx: &egui::Context) -> Vec<Self> {
        if ctx.text_edit_focused() || egui::Popup::is_any_open(ctx) {
            return Vec::new();
        }
        let mut keyed: Vec<(Self, KeyboardShortcut)> = Self::ALL
            .into_iter()
            .filter_map(|command| command.shortcut().map(|keys| (command, keys)))
            .collect();
        // `consume_shortcut` overlooks extra Shift, so the longest combinations are asked first.
        keyed.sort_by_key(|(_, keys)| std::cmp::Reverse(weight(keys.modifiers)));
        ctx.input_mut(|input| {
            // Escape also closes dialogs and ends drags: it is left for them to see.
            let escape = input.key_pressed(Key::Escape);
            keyed
                .into_iter()
                .filter(|(command, keys)| {
                    if *command == Self::Cancel {
                        escape
                    } else if keys.modifiers.is_none() && input.modifiers.any() {
                        false
                    } else {
                        input.consume_shortcut(keys)
                    }
                })
                .map(|(command, _)| command)
                .collect()
        })
    }
}

fn weight(modifiers: Modifiers) -> u32 {
    u32::from(modifiers.shift) + u32::from(modifiers.alt) + u32::from(modifiers.command)
}

/// Something to do with calibrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationTask {
    /// Stop reading the prices of a fidelity.
    CancelPrices,
    /// Stop comparing or fitting.
    CancelWork,
    /// Write the new fit into the user's presets and price by it.
    Keep,
    /// Forget the new fit.
    Discard,
}

/// Something to do with measured rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationTask {
    /// Stop predicting them.
    Cancel,
    /// Ask how to open one as a design, by its place among the predicted.
    AskOpen(usize),
}

/// A request with data.
pub enum Action {
    /// A command.
    Command(UiCommand),
    /// A change to the document.
    Edit(Edit),
    /// Select exactly this.
    Select(Selection),
    /// Bring a design into view.
    Show(DesignId),
    /// Remove a design.
    Remove(DesignId),
    /// Choose a tool.
    Tool(Tool),
    /// Turn to a tab of the results.
    Results(ResultsTab),
    /// Open the file.
    OpenPath(PathBuf),
    /// Show an example, by its name.
    Example(String),
    /// Price runs by this.
    Prices(FidelityChoice),
    /// Do something with calibrations.
    Calibration(CalibrationTask),
    /// Do something with measured rows.
    Validation(ValidationTask),
    /// Do something with a file.
    File(FileTask),
    /// Read a model's files and show what they say.
    Import(Checkpoint),
}

/// Where widgets queue what they want done.
#[derive(Default)]
pub struct Actions(Vec<Action>);

impl Actions {
    /// Queues.
    pub fn push(&mut self, action: Action) {
        self.0.push(action);
    }

    /// Queues a command.
    pub fn command(&mut self, command: UiCommand) {
        self.push(Action::Command(command));
    }

    /// Queues an edit.
    pub fn edit(&mut self, edit: Edit) {
        self.push(Action::Edit(edit));
    }

    /// Takes everything out.
    pub fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once_and_no_two_share_keys() {
        for (i, a) in UiCommand::ALL.iter().enumerate() {
            for b in &UiCommand::ALL[i + 1..] {
                assert_ne!(a, b);
                assert_ne!(a.text(), b.text());
                if let (Some(x), Some(y)) = (a.shortcut(), b.shortcut()) {
                    assert_ne!(x, y, "{a:?} and {b:?}");
                }
            }
        }
    }
}
