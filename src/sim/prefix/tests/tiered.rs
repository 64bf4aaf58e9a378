//! Tiers below HBM.

use super::*;
use crate::plan::TierKind;
use crate::units::{ByteRate, Bytes, Seconds};

/// A tier that reads a byte a nanosecond after 100 ns.
fn tier(capacity: u64) -> Tier {
    Tier {
        kind: TierKind::Host,
        capacity: Bytes::new(capacity),
        read: ByteRate::new(1e9),
        write: ByteRate::new(1e9),
        latency: Seconds::new(100e-9),
    }
}
