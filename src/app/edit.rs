//! A change to the document: a label for the undo menu, a merge key so that one gesture is one
//! undo step, and what to do. Widgets make edits; only `history` applies them.

use crate::plan::{Design, DesignId};
use crate::project::Project;

/// Edits of equal key that follow each other are one undo step (a drag, a typed number).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeKey(pub String);

/// A change to the document.
pub struct Edit {
    /// What the undo menu says: `Move 3 nodes`.
    pub label: String,
    /// See [`MergeKey`]; none: a step of its own.
    pub merge: Option<MergeKey>,
    apply: Box<dyn FnOnce(&mut Project)>,
}

impl Edit {
    /// A change to the whole project.
    pub fn project(label: impl Into<String>, apply: impl FnOnce(&mut Project) + 'static) -> Self {
        Self {
            label: label.into(),
            merge: None,
            apply: Box::new(apply),
        }
    }

    /// A change to one design; services and feeds are settled after it.
    pub fn design(
        label: impl Into<String>,
        design: DesignId,
        apply: impl FnOnce(&mut Design) + 'static,
    ) -> Self {
        Self::project(label, move |project| {
            if let Some(design) = project.designs.iter_mut().find(|d| d.id == design) {
                apply(design);
                design.settle();
            }
        })
    }

    /// The same, merged with its like.
    #[must_use]
    pub fn merged(mut self, key: impl Into<String>) -> Self {
        self.merge = Some(MergeKey(key.into()));
        self
    }

    /// Makes the change.
    pub fn apply(self, project: &mut Project) {
        (self.apply)(project);
    }
}
