//! Which lane was sent which beginning of a prompt last: what a router knows of the caches behind it,
//! as SGLang router's tree of texts. It does not know what a lane has evicted. A beginning is named
//! by a hash of the names of its segments; one collision in 2⁶⁴ sends a request to another lane, no more.

use crate::workload::Segment;
use std::collections::BTreeMap;

/// Most beginnings kept before the older half is forgotten.
const MOST: usize = 1 << 20;

/// Lanes by beginnings.
#[derive(Default)]
pub(super) struct Prefixes {
    /// Named since the last time half of them was forgotten, and before that.
    young: BTreeMap<u64, u32>,
    old: BTreeMap<u64, u32>,
}

/// A bijective mix (the finaliser of `SplitMix64`).
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Names of all beginnings of a text, shortest first, with their tokens.
fn beginnings(text: &[Segment]) -> impl Iterator<Item = (u64, u32)> {
    text.iter().scan((0_u64, 0_u32), |(name, tokens), segment| {
        *name = mix(*name ^ mix(segment.id.wrapping_add(0x9E37_79B9_7F4A_7C15)))
            .wrapping_add(u64::from(segment.tokens));
        *tokens = tokens.saturating_add(segment.tokens);
        Some((*name, *tokens))
    })
}

impl Prefixes {
    /// Tokens of the longest beginning sent before, and to which lane; none: none was.
    pub(super) fn longest(&self, text: &[Segment]) -> Option<(u32, u32)> {
        let lane = |name| self.young.get(&name).or_else(|| self.old.get(&name));
        // Whoever was sent a beginning was sent all shorter ones.
        beginnings(text)
            .map_while(|(name, tokens)| lane(name).map(|lane| (tokens, *lane)))
            .last()
    }

    /// Notes that a lane was sent a text.
    pub(super) fn sent(&mut self, text: &[Segment], lane: u32) {
        for (name, _) in beginnings(text) {
            self.young.insert(name, lane);
        }
        if self.young.len() > MOST {
            self.old = std::mem::take(&mut self.young);
        }
    }
}
