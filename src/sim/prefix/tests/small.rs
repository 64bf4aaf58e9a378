//! Trees small enough to draw.

use super::*;

/// Pages of 16 tokens, 100 bytes each.
fn cache() -> PrefixCache {
    PrefixCache::new(16, plain(16, 100), &[])
}

#[test]
fn a_prompt_is_found_in_whole_pages() {
    let mut cache = cache();
    let text = [segment(1, 100)];
    let hit = cache.find(&text, 99);
    assert_eq!((hit.place.tokens, hit.below), (0, 0));
    cache.admit(hit.place, 100, 0);
    // 100 tokens are 6 pages and 4 tokens, which stay the request's own.
    let inserted = cache.insert(&text, 100, hit.place);
    assert_eq!((inserted.new_bytes, inserted.shared_bytes), (600, 0));
    assert_eq!(inserted.place.tokens, 96);
    assert_eq!((cache.held_bytes(), cache.evictable()), (600, 0));
    assert_eq!(cache.evict(1), 0, "held");
    cache.check();
    cache.unpin(inserted.place.node);
    assert_eq!((cache.held_bytes(), cache.evictable()), (0, 600));
    assert_eq!(cache.find(&text, 99).place.tokens, 96);
    // At most 95: the sixth page ends after that.
    assert_eq!(cache.find(&text, 95).place.tokens, 80);
    assert_eq!(cache.find(&text, 15).place.tokens, 0);
    // A shorter piece of the same text.
    assert_eq!(cache.find(&[segment(1, 50)], 50).place.tokens, 48);
    assert_eq!(cache.find(&[segment(2, 100)], 99).place.tokens, 0);
    let counts = cache.counts();
    assert_eq!((counts.queries, counts.hits), (100, 0));
    cache.check();
}

#[test]
fn a_page_over_two_segments_is_the_later_ones() {
    let mut cache = cache();
    let (system, a, b) = (segment(1, 40), segment(2, 40), segment(3, 40));
    cache.serve(&[system, a]);
    // Pages 0 and 1 are the system prompt's, 2 to 4 that of `a`: 80 tokens are 5 pages.
    assert_eq!(cache.cached_bytes(), 500);
    // Its last 8 tokens are in a page that goes on with `a`, so `b` has that page of its own.
    assert_eq!(cache.find(&[system, b], 79).place.tokens, 32);
    cache.serve(&[system, b]);
    assert_eq!(cache.cached_bytes(), 800);
    assert_eq!(cache.find(&[system, a], 80).place.tokens, 80);
    assert_eq!(cache.find(&[system, b], 80).place.tokens, 80);
    cache.check();
}

#[test]
fn segments_shorter_than_a_page_lead_to_one() {
    let mut cache = cache();
    // 5 + 5 + 10 tokens: one page, complete in the third; nothing until it comes.
    let text = [segment(1, 5), segment(2, 0), segment(3, 5), segment(4, 10)];
    cache.serve(&text[..3]);
    assert_eq!((cache.cached_bytes(), cache.tree.len()), (0, 0));
    cache.serve(&text);
    assert_eq!((cache.cached_bytes(), cache.tree.len()), (100, 3));
    assert_eq!(cache.find(&text, 20).place.tokens, 16);
    let other = [segment(1, 5), segment(5, 5), segment(4, 10)];
    assert_eq!(cache.find(&other, 20).place.tokens, 0);
    cache.check();
    // With the page goes the way to it.
    assert_eq!(cache.evict(1), 100);
    assert_eq!(cache.tree.len(), 0);
    cache.check();
}

#[test]
fn the_oldest_goes_first_and_the_end_before_the_beginning() {
    let mut cache = cache();
    let (system, a, b) = (segment(1, 32), segment(2, 32), segment(3, 32));
    cache.serve(&[system, a]);
    cache.serve(&[system, b]);
    // In order: a's pages 3, 2; b's 3, 2; the system prompt's 1, 0 (released again with b).
    assert_eq!(cache.cached_bytes(), 600);
    // 150 bytes are two pages.
    assert_eq!(cache.evict(50), 100);
    assert_eq!(cache.find(&[system, a], 64).place.tokens, 48);
    assert_eq!(cache.evict(101), 200, "the rest of a, one of b");
    assert_eq!(cache.find(&[system, a], 64).place.tokens, 32);
    assert_eq!(cache.find(&[system, b], 64).place.tokens, 48);
    // Used again, it is younger than the system prompt, which is used with it.
    cache.serve(&[system, a]);
    assert_eq!(cache.evict(100), 100);
    assert_eq!(cache.find(&[system, b], 64).place.tokens, 32);
    assert_eq!(cache.find(&[system, a], 64).place.tokens, 64);
    assert_eq!(cache.evict(u64::MAX), 400);
    assert_eq!((cache.cached_bytes(), cache.tree.len()), (0, 0));
    assert_eq!(cache.counts().evicted, 800);
    cache.check();
}

#[test]
fn what_a_running_request_uses_stays() {
    let mut cache = cache();
    let (system, a, b) = (segment(1, 32), segment(2, 32), segment(3, 32));
    cache.serve(&[system, a]);
    let hit = cache.find(&[system, b], 63);
    assert_eq!(hit.place.tokens, 32);
    assert_eq!(cache.evictable(), 400);
    assert_eq!(cache.evictable_beside(hit.place.node), 200);
    cache.admit(hit.place, 64, 0);
    assert_eq!((cache.evictable(), cache.held_bytes()), (200, 200));
    assert_eq!(cache.evict(u64::MAX), 200, "a alone");
    assert_eq!(cache.find(&[system], 32).place.tokens, 32);
    // Pinned twice, it is released once both are gone.
    cache.pin(hit.place.node);
    cache.unpin(hit.place.node);
    assert_eq!(cache.evictable(), 0);
    cache.unpin(hit.place.node);
    assert_eq!(cache.evictable(), 200);
    let counts = cache.counts();
    assert_eq!((counts.queries, counts.hits), (64, 32));
    cache.check();
}

#[test]
fn two_that_compute_the_same_keep_one_copy() {
    let mut cache = cache();
    let text = [segment(1, 64)];
    let (first, second) = (cache.find(&text, 63).place, cache.find(&text, 63).place);
    cache.pin(first.node);
    cache.pin(second.node);
    let first = cache.insert(&text, 32, first);
    assert_eq!((first.new_bytes, first.shared_bytes), (200, 0));
    // The second has three pages; two are there.
    let second = cache.insert(&text, 48, second);
    assert_eq!((second.new_bytes, second.shared_bytes), (100, 200));
    // The first's third is there now; its fourth is new.
    let first = cache.insert(&text, 64, first.place);
    assert_eq!((first.new_bytes, first.shared_bytes), (100, 100));
    let again = cache.insert(&text, 64, first.place);
    assert_eq!((again.new_bytes, again.shared_bytes), (0, 0));
    assert_eq!(cache.held_bytes(), 400);
    cache.unpin(first.place.node);
    assert_eq!(cache.held_bytes(), 400);
    cache.unpin(second.place.node);
    assert_eq!(cache.evictable(), 400);
    cache.check();
}

#[test]
fn an_answer_is_the_beginning_of_the_next_turn() {
    // T27: rounds of 10 new tokens and 5 answered; prompts 10, 25, 40. The last token of an answer
    // was never an input, so its key and value are not there.
    let mut cache = PrefixCache::new(1, plain(1, 7), &[]);
    let (mut text, mut found) = (Vec::new(), Vec::new());
    for turn in 0..3 {
        text.push(segment(2 * turn, 10));
        let input: u32 = text.iter().map(|s| s.tokens).sum();
        let hit = cache.find(&text, input - 1).place;
        cache.admit(hit, input, 0);
        let prompt = cache.insert(&text, input, hit).place;
        text.push(segment(2 * turn + 1, 5));
        let end = cache.insert(&text, input + 4, prompt).place;
        cache.unpin(end.node);
        found.push((input, hit.tokens));
        cache.check();
    }
    assert_eq!(found, [(10, 0), (25, 14), (40, 29)]);
    assert_eq!((cache.counts().queries, cache.counts().hits), (75, 43));
    assert_eq!(cache.cached_bytes(), 44 * 7);
}

#[test]
fn names_are_64_bits() {
    // T20, ai-dynamo/dynamo#12046: these differ only above bit 31.
    let mut cache = cache();
    cache.serve(&[segment(1, 512)]);
    assert_eq!(
        cache.find(&[segment(4_294_967_297, 512)], 512).place.tokens,
        0
    );
    cache.serve(&[segment(4_294_967_297, 512)]);
    assert_eq!(cache.cached_bytes(), 6400);
    assert_eq!(cache.find(&[segment(1, 512)], 512).place.tokens, 512);
    cache.check();
}

#[test]
fn a_text_that_leaves_another_midway_parts_it() {
    let mut cache = cache();
    let (whole, part, other) = (segment(1, 64), segment(1, 40), segment(2, 40));
    let found = cache.find(&[whole], 64).place;
    cache.pin(found.node);
    let long = cache.insert(&[whole], 64, found);
    // 40 of the 64 tokens: pages 0 and 1. Page 2 goes on with other text here.
    let hit = cache.find(&[part, other], 79).place;
    assert_eq!(hit.tokens, 32);
    cache.admit(hit, 80, 0);
    let short = cache.insert(&[part, other], 80, hit);
    assert_eq!((short.new_bytes, short.shared_bytes), (300, 0));
    assert_eq!(cache.held_bytes(), 700);
    cache.check();
    cache.unpin(long.place.node);
    assert_eq!((cache.held_bytes(), cache.evictable()), (500, 200));
    assert_eq!(cache.find(&[whole], 64).place.tokens, 64);
    assert_eq!(cache.evict(u64::MAX), 200);
    assert_eq!(cache.find(&[whole], 64).place.tokens, 32);
    // The longer one again, below the shorter.
    cache.serve(&[whole, other]);
    assert_eq!(cache.find(&[whole, other], 104).place.tokens, 96);
    assert_eq!(cache.find(&[part, other], 80).place.tokens, 80);
    cache.unpin(short.place.node);
    cache.check();
    cache.evict(u64::MAX);
    assert_eq!((cache.cached_bytes(), cache.tree.len()), (0, 0));
}

#[test]
fn a_request_goes_on_where_its_text_does_after_another_parted_its_node() {
    let mut cache = cache();
    cache.serve(&[segment(1, 64)]);
    // Found to its end at 40, in the node of 64.
    let text = [segment(1, 40), segment(2, 40)];
    let place = cache.find(&text[..1], 40).place;
    cache.pin(place.node);
    // Meanwhile another parts the node there: its name is now that of the lower part.
    cache.serve(&[segment(1, 40), segment(3, 40)]);
    let inserted = cache.insert(&text, 80, place);
    assert_eq!((inserted.place.tokens, inserted.new_bytes), (80, 300));
    cache.check();
    cache.unpin(inserted.place.node);
    assert_eq!(cache.held_bytes(), 0);
    assert_eq!(cache.find(&text, 80).place.tokens, 80);
    cache.check();
}

#[test]
fn a_pin_left_on_a_part_without_pages_leaves_nothing_behind() {
    let mut cache = cache();
    let long = [segment(1, 26), segment(2, 38)];
    cache.serve(&long);
    // Found to its end at 16; then parted there: tokens 16 to 26 complete no page, but lead to
    // those of the second segment.
    let place = cache.find(&[segment(1, 16)], 16).place;
    cache.pin(place.node);
    cache.serve(&[segment(1, 16), segment(3, 16)]);
    assert_eq!((cache.tree.len(), cache.held_bytes()), (4, 100));
    assert_eq!(cache.evict(u64::MAX), 400);
    // The first page is held by way of the part without.
    assert_eq!((cache.tree.len(), cache.held_bytes()), (2, 100));
    cache.unpin(place.node);
    cache.check();
    assert_eq!((cache.tree.len(), cache.evict(u64::MAX)), (1, 100));
    assert_eq!(cache.tree.len(), 0);
}

#[test]
fn pages_beyond_a_window_weigh_less() {
    // 10 bytes a page for layers that see all, 5 for a window of three pages, 99 of state: pages
    // of 15, 15, 15, 10, 10 bytes; the state is nobody's prefix.
    let kv = SequenceKv {
        block_size: 16,
        growing: 10,
        windows: vec![(3, 5)],
        state: 99,
    };
    let mut cache = PrefixCache::new(16, Rc::new(kv), &[]);
    cache.serve(&[segment(1, 40), segment(2, 40)]);
    assert_eq!(cache.cached_bytes(), 65);
    assert_eq!(cache.evict(11), 20);
    assert_eq!(cache.evict(11), 15);
    assert_eq!(cache.evict(16), 30);
    assert_eq!(cache.cached_bytes(), 0);
    cache.check();
}
