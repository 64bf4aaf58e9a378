//! Undo and redo without limit: labelled snapshots of the document, shared by `Arc`, so that no
//! inverse of an edit can be wrong. Edits of one gesture (a drag, a scrubbed number) are one step.

use super::edit::{Edit, MergeKey};
use crate::project::Project;
use std::sync::Arc;

/// A document before a step (in `past`) or after it (in `future`).
struct Step {
    label: String,
    project: Arc<Project>,
}

/// The document and how it came to be.
pub struct History {
    past: Vec<Step>,
    present: Arc<Project>,
    future: Vec<Step>,
    /// The gesture that the last step belongs to, while it lasts.
    gesture: Option<MergeKey>,
    revision: u64,
    saved: Arc<Project>,
}

impl History {
    /// Of a document that is as it is on disk.
    #[must_use]
    pub fn new(project: Project) -> Self {
        let present = Arc::new(project);
        Self {
            past: Vec::new(),
            saved: Arc::clone(&present),
            present,
            future: Vec::new(),
            gesture: None,
            revision: 0,
        }
    }

    /// The document.
    #[must_use]
    pub const fn project(&self) -> &Arc<Project> {
        &self.present
    }

    /// Grows with every change, undo and redo included.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether the document differs from what was last saved. Undoing back to that is clean again.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        !Arc::ptr_eq(&self.present, &self.saved)
    }

    /// The given snapshot is on disk now.
    pub fn mark_saved(&mut self, project: &Arc<Project>) {
        self.saved = Arc::clone(project);
    }

    /// Starts anew with another document; the revision goes on, so that nothing computed for the
    /// old one is taken for the new one's.
    pub fn replace(&mut self, project: Project) {
        let revision = self.revision + 1;
        *self = Self::new(project);
        self.revision = revision;
    }

    /// Applies an edit; true: the document changed. An edit that changes nothing, or leaves no
    /// design, is no step.
    pub fn apply(&mut self, edit: Edit) -> bool {
        let label = edit.label.clone();
        let merge = edit.merge.clone();
        let mut project = Project::clone(&self.present);
        edit.apply(&mut project);
        // The window always has a design in view.
        if project == *self.present || project.designs.is_empty() {
            return false;
        }
        let before = std::mem::replace(&mut self.present, Arc::new(project));
        let continues = merge.is_some() && merge == self.gesture;
        if !continues {
            self.past.push(Step {
                label,
                project: before,
            });
        }
        self.future.clear();
        self.gesture = merge;
        self.revision += 1;
        true
    }

    /// Ends the gesture: the next edit is a step of its own, whatever its key.
    pub fn end_gesture(&mut self) {
        self.gesture = None;
    }

    /// What undo would undo.
    #[must_use]
    pub fn undo_label(&self) -> Option<&str> {
        self.past.last().map(|step| step.label.as_str())
    }

    /// What redo would redo.
    #[must_use]
    pub fn redo_label(&self) -> Option<&str> {
        self.future.last().map(|step| step.label.as_str())
    }

    /// Takes the last step back; its label.
    pub fn undo(&mut self) -> Option<String> {
        let step = self.past.pop()?;
        Some(self.travel(step, true))
    }

    /// Makes the step undone last again; its label.
    pub fn redo(&mut self) -> Option<String> {
        let step = self.future.pop()?;
        Some(self.travel(step, false))
    }

    fn travel(&mut self, step: Step, back: bool) -> String {
        let left = std::mem::replace(&mut self.present, step.project);
        let trail = if back {
            &mut self.future
        } else {
            &mut self.past
        };
        trail.push(Step {
            label: step.label.clone(),
            project: left,
        });
        self.gesture = None;
        self.revision += 1;
        step.label
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::starter;
    use crate::units::Seconds;
    use proptest::prelude::*;

    fn named(name: &str) -> Edit {
        let name = name.to_owned();
        Edit::project(format!("Name it {name}"), move |p| p.name = name)
    }

    #[test]
    fn a_gesture_is_one_step() {
        let mut history = History::new(starter::empty_project());
        for name in ["a", "ab", "abc"] {
            history.apply(named(name).merged("drag"));
        }
        history.end_gesture();
        history.apply(named("x").merged("drag"));
        assert_eq!(history.undo().as_deref(), Some("Name it x"));
        assert_eq!(history.project().name, "abc");
        history.undo();
        assert_eq!(**history.project(), starter::empty_project());
        assert!(history.undo().is_none());
    }

    #[test]
    fn an_edit_that_changes_nothing_is_no_step() {
        let mut history = History::new(starter::empty_project());
        let name = history.project().name.clone();
        assert!(!history.apply(named(&name)));
        assert!(history.undo_label().is_none());
        assert_eq!(history.revision(), 0);
    }

    #[test]
    fn going_back_to_what_was_saved_is_clean() {
        let mut history = History::new(starter::empty_project());
        history.apply(named("a"));
        let saved = Arc::clone(history.project());
        history.mark_saved(&saved);
        assert!(!history.is_dirty());
        history.apply(named("b"));
        assert!(history.is_dirty());
        history.undo();
        assert!(!history.is_dirty());
        history.undo();
        assert!(history.is_dirty());
    }

    #[test]
    fn a_new_edit_forgets_what_was_undone() {
        let mut history = History::new(starter::empty_project());
        history.apply(named("a"));
        history.undo();
        history.apply(named("b"));
        assert!(history.redo().is_none());
        assert_eq!(history.project().name, "b");
    }

    /// Adds, renames and removes designs, changes numbers; some merged, some not.
    fn edit_of(kind: u8, n: u8) -> Edit {
        let edit = match kind {
            0 => Edit::project("Seed", move |p| p.workload.seed = u64::from(n)),
            1 => Edit::project("TTFT", move |p| {
                p.slo.ttft = Seconds::from_ms(f64::from(n) + 1.0);
            }),
            2 => Edit::project("Add", |p| {
                let copy = starter::empty_design(&p.designs);
                p.designs.push(copy);
            }),
            3 => Edit::project("Remove", |p| {
                if p.designs.len() > 1 {
                    p.designs.pop();
                }
            }),
            _ => Edit::project("Name", move |p| p.designs[0].name = format!("d{n}")),
        };
        if n.is_multiple_of(2) {
            edit.merged(format!("{kind}"))
        } else {
            edit
        }
    }

    proptest! {
        #[test]
        fn undoing_everything_is_the_start_and_redoing_everything_the_end(
            edits in proptest::collection::vec((0u8..5, any::<u8>(), any::<bool>()), 0..40)
        ) {
            let mut history = History::new(starter::empty_project());
            let start = crate::project::to_text(history.project());
            for (kind, n, ends) in edits {
                history.apply(edit_of(kind, n));
                if ends {
                    history.end_gesture();
                }
            }
            let end = crate::project::to_text(history.project());
            while history.undo().is_some() {}
            prop_assert_eq!(crate::project::to_text(history.project()), start);
            prop_assert!(!history.is_dirty());
            while history.redo().is_some() {}
            prop_assert_eq!(crate::project::to_text(history.project()), end);
        }
    }
}
