//! stub
use crate::plan::SequenceKv;
use crate::workload::Segment;
use std::rc::Rc;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(u32);
impl NodeId {
    pub(super) const ROOT: Self = Self(0);
}
#[derive(Debug)]
pub(super) struct PrefixCache;
pub(super) struct Hit {
    pub(super) node: NodeId,
    pub(super) tokens: u32,
}
pub(super) struct Inserted {
    pub(super) node: NodeId,
    pub(super) tokens: u32,
    pub(super) shared_bytes: u64,
}
impl PrefixCache {
    pub(super) fn new(_: u32, _: Rc<SequenceKv>) -> Self {
        Self
    }
    pub(super) fn root(&self) -> NodeId {
        NodeId::ROOT
    }
    pub(super) fn find(&self, _: &[Segment], _: u32) -> Hit {
        Hit {
            node: NodeId::ROOT,
            tokens: 0,
        }
    }
    pub(super) fn pin(&mut self, _: NodeId) {}
    pub(super) fn unpin(&mut self, _: NodeId) {}
    pub(super) fn insert(&mut self, _: &[Segment], _: u32, node: NodeId, shared: u32) -> Inserted {
        Inserted {
            node,
            tokens: shared,
            shared_bytes: 0,
        }
    }
    pub(super) fn evictable(&self) -> u64 {
        0
    }
    pub(super) fn evict(&mut self, _: u64) -> u64 {
        0
    }
}
