//! Tiers below HBM.

use super::*;
use crate::plan::TierKind;
use crate::units::{ByteRate, Bytes, Seconds};
use proptest::prelude::*;

/// A tier that reads a byte a nanosecond after 50 ns.
pub(super) fn tier(capacity: u64) -> Tier {
    Tier {
        kind: TierKind::Host,
        capacity: Bytes::new(capacity),
        read: ByteRate::new(1e9),
        write: ByteRate::new(1e9),
        latency: Seconds::new(50e-9),
    }
}

/// Pages of 16 tokens, 100 bytes each.
fn cache(tiers: &[Tier]) -> PrefixCache {
    PrefixCache::new(16, plain(16, 100), tiers)
}

#[test]
fn what_the_host_has_is_found_though_hbm_has_room() {
    // T36, inference-sim#1586: evicted from HBM, then plenty of room.
    let mut cache = cache(&[tier(10_000)]);
    let text = [segment(1, 40), segment(2, 40)];
    cache.serve(&text);
    assert_eq!(cache.evict(250), 300);
    // Two of five pages are left; three are in host memory.
    let hit = cache.find(&text, 79);
    assert_eq!(
        (hit.place.tokens, hit.below),
        (32, 32),
        "79 tokens are 4 pages"
    );
    let hit = cache.find(&text, 80);
    assert_eq!((hit.place.tokens, hit.below), (32, 48));
    cache.admit(hit.place, 81, hit.below);
    let load = cache.load(&text, 80, 1000);
    // 300 bytes at 1 byte/ns, 50 ns of latency.
    assert_eq!((load.tokens, load.bytes, load.done), (80, 300, 1350));
    let inserted = cache.insert(&text, load.tokens, hit.place);
    assert_eq!((inserted.new_bytes, inserted.shared_bytes), (300, 0));
    assert_eq!(cache.find(&text, 80).place.tokens, 80);
    cache.check();
    // The copies stay, and going again costs no writing.
    cache.unpin(inserted.place.node);
    cache.evict(300);
    assert_eq!(cache.traffic().collect::<Vec<_>>(), [(300, 300)]);
    assert_eq!(cache.find(&text, 80).below, 48);
    let counts = cache.counts();
    assert_eq!((counts.queries, counts.hits, counts.below), (81, 32, 48));
    cache.check();
}

#[test]
fn a_full_tier_passes_its_oldest_on() {
    let mut cache = cache(&[tier(200), tier(300), tier(100)]);
    let (a, b) = ([segment(1, 48)], [segment(2, 64)]);
    cache.serve(&a);
    cache.evict(u64::MAX);
    // a's page 2 went first, then 1, then 0: the first tier has room for two.
    let tiers = |cache: &PrefixCache| {
        cache
            .traffic()
            .map(|(_, written)| written)
            .collect::<Vec<_>>()
    };
    assert_eq!(tiers(&cache), [300, 100, 0]);
    cache.serve(&b);
    // It was computed, not loaded, but it is above now.
    cache.evict(u64::MAX);
    // Four pages more: a's 1 and 0 go on, then b's 3 and 2; a's 2 goes on to the last tier, and then
    // a's 1, which pushes a's 2 out.
    assert_eq!(tiers(&cache), [700, 500, 200]);
    cache.check();
    assert_eq!(cache.find(&b, 64).below, 64);
    assert_eq!(cache.find(&a, 48).below, 32);
    // From the nearest that has it, side by side: b's pages 0 and 1 from the first, 2 and 3 from
    // the second.
    let load = cache.load(&b, 64, 0);
    assert_eq!((load.bytes, load.done), (400, 250));
    // a's page 0 waits for b's two in the second tier; its page 1 does not, in the third.
    let load = cache.load(&a, 48, 100);
    assert_eq!((load.tokens, load.bytes, load.done), (32, 200, 350));
    assert_eq!(cache.load(&a, 16, 1000).done, 1150);
    let read: Vec<u64> = cache.traffic().map(|(read, _)| read).collect();
    assert_eq!(read, [200, 400, 100]);
}

#[test]
fn a_tier_too_small_for_a_page_has_none() {
    let mut cache = cache(&[tier(99), tier(0), tier(150)]);
    cache.serve(&[segment(1, 48)]);
    cache.evict(u64::MAX);
    cache.check();
    assert_eq!(cache.find(&[segment(1, 48)], 48).below, 16);
    assert_eq!(cache.load(&[segment(1, 48)], 48, 0).bytes, 100);
    cache.serve(&[segment(2, 48)]);
    cache.evict(u64::MAX);
    assert_eq!(cache.find(&[segment(1, 48)], 48).below, 0);
    assert_eq!(cache.tree.len(), 1);
    cache.check();
}

#[test]
fn a_text_parted_midway_is_parted_in_the_tiers() {
    let mut cache = cache(&[tier(200), tier(900)]);
    let (whole, part) = ([segment(1, 80)], [segment(1, 40), segment(2, 40)]);
    cache.serve(&whole);
    cache.evict(u64::MAX);
    cache.serve(&part);
    cache.check();
    cache.evict(u64::MAX);
    cache.check();
    let below = |cache: &PrefixCache, text: &[Segment]| cache.find(text, 80).below;
    assert_eq!((below(&cache, &whole), below(&cache, &part)), (80, 80));
    assert_eq!(cache.load(&part, 80, 0).bytes, 500);
}

#[test]
fn a_slow_tier_and_a_long_read_end_some_time() {
    let slow = Tier {
        read: ByteRate::new(1e-300),
        latency: Seconds::new(1e300),
        ..tier(u64::MAX)
    };
    let mut cache = cache(&[slow]);
    let text = [segment(1, 1600)];
    cache.serve(&text);
    cache.evict(u64::MAX);
    let done = cache.load(&text, 1600, u64::MAX / 4).done;
    assert!(done >= 1 << 62);
    assert!(cache.load(&text, 1600, done).done >= done.min(1 << 63));
}

/// The pages used last, as many as fit, the beginning of a text younger than its end.
#[derive(Default)]
struct Recent(Vec<Vec<(u64, u32)>>);

impl Recent {
    /// Pages of a text in one piece, and how many from the start are there; then it is used.
    fn serve(&mut self, text: &[Segment], page: u32, capacity: usize) -> u32 {
        let tokens: Vec<(u64, u32)> = (text.iter())
            .flat_map(|s| (0..s.tokens).map(|index| (s.id, index)))
            .collect();
        let names = (1..=tokens.len() / page as usize).map(|n| &tokens[..n * page as usize]);
        let names: Vec<Vec<(u64, u32)>> = names.map(<[_]>::to_vec).collect();
        let found = names
            .iter()
            .take_while(|name| self.0.contains(name))
            .count();
        self.0.retain(|name| !names.contains(name));
        self.0.extend(names.into_iter().rev());
        let over = self.0.len().saturating_sub(capacity);
        self.0.drain(..over);
        found as u32 * page
    }
}

/// Serves texts one after another with so many pages in HBM and so many in each tier; checks that
/// together they are one list of the pages used last. Tokens found.
fn found(texts: &[Vec<Segment>], page: u32, hbm: u64, tiers: &[u64]) -> u64 {
    let levels: Vec<Tier> = tiers.iter().map(|pages| tier(pages * 10)).collect();
    let mut cache = PrefixCache::new(page, plain(page, 10), &levels);
    let mut recent = Recent::default();
    let capacity = (hbm + tiers.iter().sum::<u64>()) as usize;
    let mut sum = 0;
    for text in texts {
        let hit = cache.serve(text);
        cache.shrink_to(hbm * 10);
        cache.check();
        let found = hit.place.tokens + hit.below;
        assert_eq!(found, recent.serve(text, page, capacity));
        sum += u64::from(found);
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn more_hbm_never_finds_less(
        page in prop_oneof![Just(1_u32), Just(4), Just(16)],
        texts in prop::collection::vec(prop::collection::vec(0_usize..5, 0..4), 1..30),
        tiers in prop::collection::vec(0_u64..12, 0..3),
        hbm in 0_u64..12,
        more in 1_u64..4,
    ) {
        let lengths = [3_u32, 16, 21, 1, 8];
        let texts: Vec<Vec<Segment>> = (texts.iter())
            .map(|text| text.iter().map(|n| segment(*n as u64, lengths[*n])).collect())
            .collect();
        let less = found(&texts, page, hbm, &tiers);
        prop_assert!(found(&texts, page, hbm + more, &tiers) >= less);
    }
}
