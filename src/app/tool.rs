//! What the pointer does on the canvas, and what can be dragged out of the palette.

use crate::catalog::{NodeTypeId, SwitchTypeId};
use crate::cluster::LinkKind;
use crate::plan::Role;

/// What a press on the canvas does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tool {
    /// Select and move.
    #[default]
    Select,
    /// Move the view.
    Hand,
    /// Draw a link from one thing to another.
    Link(LinkKind),
    /// Paint a role on GPUs and nodes; none: make them idle.
    Brush(Option<Role>),
}

/// A part that can be dragged from the palette onto the canvas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A node of a type.
    Node(NodeTypeId),
    /// A switch of a type.
    Switch(SwitchTypeId),
    /// A link: dropped on a thing, it starts there; pressed, it makes [`Tool::Link`] active.
    Link(LinkKind),
}
