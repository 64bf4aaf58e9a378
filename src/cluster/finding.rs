//! What is wrong with a drawing: each fault with its place and cause.

use super::group::GroupId;
use super::link::LinkId;
use crate::units::ByteRate;
use thiserror::Error;

/// Where a fault is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterPlace {
    /// A group.
    Group(GroupId),
    /// A link bundle.
    Link(LinkId),
    /// The drawing as a whole.
    Drawing,
}

/// A fault of the drawing.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ClusterFault {
    /// A group's type is not in the catalog.
    #[error("there is no {sort} type “{id}” in the catalog")]
    UnknownType {
        /// Node, GPU, NIC or switch.
        sort: &'static str,
        /// The id.
        id: String,
    },
    /// Two things of one id.
    #[error("two {sort}s are called “{id}”: ids must differ")]
    DuplicateId {
        /// Group or link.
        sort: &'static str,
        /// The id.
        id: String,
    },
    /// A group of none, or of too many.
    #[error(
        "a group has from 1 to {} instances, not {count}",
        super::MAX_INSTANCES
    )]
    Count {
        /// The count.
        count: u32,
    },
    /// More things than one drawing holds.
    #[error("{count} {sort}: a drawing holds at most {most}")]
    TooMany {
        /// What there are too many of.
        sort: &'static str,
        /// How many.
        count: u64,
        /// The limit.
        most: u64,
    },
    /// A link that ends at something not drawn.
    #[error("the link ends at “{group}”, which is not drawn")]
    Dangling {
        /// The group it names.
        group: String,
    },
    /// A link that ends at an instance beyond the group's count.
    #[error("the link ends at instance {instance} of “{group}”, which has {count}")]
    NoInstance {
        /// The group.
        group: String,
        /// The instance named.
        instance: u32,
        /// How many there are.
        count: u32,
    },
    /// No links, too many, or none of a rate.
    #[error(
        "a bundle has from 1 to {} links of a rate above 0",
        super::MAX_PARALLEL
    )]
    EmptyBundle,
    /// A latency that is no link's.
    #[error("the latency of a link is at most {} s", super::MAX_LATENCY_S)]
    SlowBundle,
    /// Pairwise wiring of groups of different size.
    #[error("pairwise links need as many instances at one end ({a}) as at the other ({b})")]
    Unpaired {
        /// Instances at one end.
        a: u32,
        /// Instances at the other.
        b: u32,
    },
    /// Two things this kind of link can't join.
    #[error("{kind} can't join {a} and {b}: {right}")]
    CannotJoin {
        /// The link's kind.
        kind: &'static str,
        /// One end.
        a: &'static str,
        /// The other.
        b: &'static str,
        /// What would be right.
        right: &'static str,
    },
    /// More links than NICs or ports.
    #[error("“{group}” has {have} {what} but {need} links are drawn to it")]
    OutOfPorts {
        /// The group.
        group: String,
        /// NICs or ports.
        what: &'static str,
        /// How many it has.
        have: u32,
        /// How many are needed.
        need: u32,
    },
    /// A link faster than the NIC or port it plugs into. Runs at the slower.
    #[error("links of {link} plug into {what} of {port}: they run at {port}")]
    Overrated {
        /// The link's rate.
        link: ByteRate,
        /// NICs or ports.
        what: &'static str,
        /// Their rate.
        port: ByteRate,
    },
    /// A kind of scale-up domain that can be drawn but not run yet.
    #[error("{what} can be drawn and saved; this version can't run it")]
    NotRunnable {
        /// What it is.
        what: &'static str,
    },
}

impl ClusterFault {
    /// Whether the drawing can't run with it.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        !matches!(self, Self::Overrated { .. })
    }
}
