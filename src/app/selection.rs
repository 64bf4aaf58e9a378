//! What is selected: view state, never part of the document.

use crate::cluster::{GpuAddress, GroupId, LinkId};
use crate::plan::PoolId;
use std::collections::BTreeSet;

/// One selectable thing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// A group, all its instances.
    Group(GroupId),
    /// One GPU.
    Gpu(GpuAddress),
    /// A link bundle.
    Link(LinkId),
    /// A pool.
    Pool(PoolId),
}

/// The selected things of the design in view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// The things.
    pub items: BTreeSet<Item>,
}

impl Selection {
    /// Exactly one thing.
    #[must_use]
    pub fn one(item: Item) -> Self {
        Self {
            items: BTreeSet::from([item]),
        }
    }

    /// Whether nothing is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether the thing is selected.
    #[must_use]
    pub fn has(&self, item: &Item) -> bool {
        self.items.contains(item)
    }

    /// Adds the thing, or takes it away if it is there.
    pub fn toggle(&mut self, item: Item) {
        if !self.items.remove(&item) {
            self.items.insert(item);
        }
    }
}
