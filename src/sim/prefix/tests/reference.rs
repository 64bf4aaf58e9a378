//! Any sequence of requests, against a pool of pages that knows nothing of trees.
//!
//! A page is named by all tokens up to its end. A request holds the pages of its text up to the end
//! of the segment it has come to; a page nobody holds waits since it was let go, a longer one
//! before a shorter one of the same moment; who waited longest goes first.

use super::tiered::tier;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Token = (u64, u32);

fn tokens(text: &[Segment]) -> Vec<Token> {
    let each = text.iter();
    each.flat_map(|segment| (0..segment.tokens).map(|index| (segment.id, index)))
        .collect()
}

/// The naive pool: pages, and since when each waits.
struct Pool {
    page: usize,
    kv: Rc<SequenceKv>,
    pages: BTreeMap<Vec<Token>, u64>,
    clock: u64,
    /// What each request holds: all pages that are prefixes of this.
    holds: Vec<Vec<Token>>,
}

impl Pool {
    fn weight(&self, name: &[Token]) -> u64 {
        let up_to = |tokens: usize| self.kv.bytes(tokens as u64);
        up_to(name.len()) - up_to(name.len() - self.page)
    }

    fn bytes(&self, mut which: impl FnMut(&[Token]) -> bool) -> u64 {
        let names = self.pages.keys().filter(|name| which(name));
        names.map(|name| self.weight(name)).sum()
    }

    fn is_held(&self, name: &[Token]) -> bool {
        self.holds.iter().any(|hold| hold.starts_with(name))
    }

    /// Whole pages from the start.
    fn found(&self, text: &[Token], limit: usize) -> usize {
        let most = text.len().min(limit) / self.page;
        (1..=most)
            .map(|pages| pages * self.page)
            .take_while(|tokens| self.pages.contains_key(&text[..*tokens]))
            .last()
            .unwrap_or(0)
    }

    /// What a request that has come to `at` tokens holds.
    fn hold(text: &[Segment], at: usize) -> Vec<Token> {
        let mut end = 0;
        for segment in text {
            if end >= at {
                break;
            }
            end += segment.tokens as usize;
        }
        tokens(text)[..end].to_vec()
    }

    /// Adds what is not there up to `to`; bytes new and had, of those beyond `from`.
    fn insert(&mut self, text: &[Token], from: usize, to: usize) -> (u64, u64) {
        let (mut new, mut shared) = (0, 0);
        for pages in from / self.page + 1..=to / self.page {
            let name = text[..pages * self.page].to_vec();
            let weight = self.weight(&name);
            if self.pages.insert(name, 0).is_some() {
                shared += weight;
            } else {
                new += weight;
            }
        }
        (new, shared)
    }

    fn release(&mut self, hold: &[Token]) {
        let index = self.holds.iter().position(|other| other == hold).unwrap();
        self.holds.remove(index);
        for tokens in (1..=hold.len()).rev() {
            let name = &hold[..tokens];
            if !self.is_held(name) && self.pages.contains_key(name) {
                self.clock += 1;
                self.pages.insert(name.to_vec(), self.clock);
            }
        }
    }

    fn evict(&mut self, need: u64) -> u64 {
        let mut freed = 0;
        while freed < need {
            let free = self.pages.iter().filter(|(name, _)| !self.is_held(name));
            let Some((name, _)) = free.min_by_key(|(_, since)| **since) else {
                break;
            };
            let name = name.clone();
            freed += self.weight(&name);
            self.pages.remove(&name);
        }
        freed
    }
}

/// A request under way in both.
struct Running {
    text: Vec<Segment>,
    place: Place,
    hold: Vec<Token>,
}

/// What happens next; numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    Start(Vec<usize>, u32),
    Advance(usize, u32),
    End(usize),
    Evict(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = prop::collection::vec(0_usize..6, 0..6);
    let step = prop_oneof![
        3 => (text, 0_u32..90).prop_map(|(text, limit)| Step::Start(text, limit)),
        4 => (any::<usize>(), 0_u32..90).prop_map(|(who, tokens)| Step::Advance(who, tokens)),
        2 => any::<usize>().prop_map(Step::End),
        2 => (0_u64..300).prop_map(Step::Evict),
    ];
    prop::collection::vec(step, 1..60)
}

/// Texts by name, and how long each is: none, less than a page, whole pages, neither.
const LENGTHS: [u32; 6] = [3, 16, 21, 1, 8, 0];

fn kv() -> impl Strategy<Value = SequenceKv> {
    let page = prop_oneof![Just(1_u64), Just(4), Just(16)];
    let windows = prop::collection::vec((1_u64..6, 1_u64..20), 0..2);
    (page, 0_u64..20, windows, 0_u64..50).prop_map(|(block_size, growing, windows, state)| {
        SequenceKv {
            block_size,
            growing,
            windows,
            state,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn it_is_a_pool_of_pages(kv in kv(), steps in steps()) {
        let page = kv.block_size as usize;
        let kv = Rc::new(kv);
        let mut cache = PrefixCache::new(page as u32, Rc::clone(&kv), &[]);
        let mut pool = Pool { page, kv, pages: BTreeMap::new(), clock: 0, holds: Vec::new() };
        let mut running: Vec<Running> = Vec::new();
        let mut evicted = 0;
        for step in steps {
            match step {
                Step::Start(names, limit) => {
                    let each = names.iter();
                    let text: Vec<Segment> = each.map(|n| segment(*n as u64, LENGTHS[*n])).collect();
                    let place = cache.find(&text, limit).place;
                    let found = pool.found(&tokens(&text), limit as usize);
                    prop_assert_eq!(place.tokens as usize, found);
                    let beside = cache.evictable_beside(place.node);
                    cache.admit(place, 0, 0);
                    prop_assert_eq!(cache.evictable(), beside);
                    let hold = Pool::hold(&text, found);
                    pool.holds.push(hold.clone());
                    running.push(Running { text, place, hold });
                }
                Step::Advance(who, more) if !running.is_empty() => {
                    let index = who % running.len();
                    let request = &mut running[index];
                    let all = tokens(&request.text);
                    let (from, to) = (request.place.tokens as usize, more as usize);
                    let done = cache.insert(&request.text, more, request.place);
                    if to.min(all.len()) / page * page > from {
                        let expected = pool.insert(&all, from, to.min(all.len()));
                        prop_assert_eq!((done.new_bytes, done.shared_bytes), expected);
                        let hold = Pool::hold(&request.text, done.place.tokens as usize);
                        pool.holds.push(hold.clone());
                        let old = std::mem::replace(&mut request.hold, hold);
                        pool.release(&old);
                    } else {
                        prop_assert_eq!((done.new_bytes, done.shared_bytes), (0, 0));
                        prop_assert_eq!(done.place, request.place);
                    }
                    request.place = done.place;
                }
                Step::End(who) if !running.is_empty() => {
                    let request = running.remove(who % running.len());
                    cache.unpin(request.place.node);
                    pool.release(&request.hold);
                }
                Step::Evict(need) => {
                    let freed = cache.evict(need);
                    prop_assert_eq!(freed, pool.evict(need));
                    evicted += freed;
                }
                _ => {}
            }
            cache.check();
            prop_assert_eq!(cache.held_bytes(), pool.bytes(|name| pool.is_held(name)));
            prop_assert_eq!(cache.evictable(), pool.bytes(|name| !pool.is_held(name)));
            prop_assert_eq!(cache.cached_bytes(), pool.bytes(|_| true));
            for request in &running {
                let found = cache.find(&request.text, u32::MAX).place.tokens as usize;
                prop_assert_eq!(found, pool.found(&tokens(&request.text), usize::MAX));
            }
        }
        prop_assert_eq!(cache.counts().evicted, evicted);
        // Who is gone holds nothing, and what nobody holds can go.
        for request in running {
            cache.unpin(request.place.node);
        }
        prop_assert_eq!(cache.held_bytes(), 0);
        prop_assert_eq!(cache.evict(u64::MAX), cache.counts().evicted - evicted);
        prop_assert_eq!((cache.cached_bytes(), cache.tree.len()), (0, 0));
    }

    #[test]
    fn texts_of_any_length_part_each_other(
        page in prop_oneof![Just(1_u32), Just(4), Just(16)],
        // Which text, how much of it; then how far each request gets at first, and what goes.
        requests in prop::collection::vec(
            (prop::collection::vec((0_u64..3, 0_u32..40), 0..5), 0_u32..99, any::<bool>()), 1..25),
        evicts in prop_oneof![Just(0_u64), 1_u64..200],
        tiers in prop::collection::vec(0_u64..200, 0..3),
    ) {
        let levels: Vec<Tier> = tiers.iter().map(|bytes| tier(*bytes)).collect();
        let mut cache = PrefixCache::new(page, plain(page, 10), &levels);
        let mut seen: BTreeMap<Vec<Token>, ()> = BTreeMap::new();
        let mut running = Vec::new();
        for (text, first, stays) in requests {
            // Two stretches of one text in a row are one text twice, not one longer.
            let text: Vec<Segment> = text.iter().map(|(id, n)| segment(*id, *n)).collect();
            let all = tokens(&text);
            let hit = cache.find(&text, u32::MAX);
            let place = hit.place;
            let known = (1..=all.len() / page as usize).map(|pages| pages * page as usize)
                .take_while(|tokens| seen.contains_key(&all[..*tokens])).last().unwrap_or(0);
            if evicts == 0 {
                prop_assert_eq!(place.tokens as usize, known);
            } else {
                prop_assert!((place.tokens + hit.below) as usize <= known);
            }
            cache.pin(place.node);
            let load = cache.load(&text, u32::MAX, 0);
            prop_assert_eq!(load.tokens, place.tokens + hit.below);
            prop_assert_eq!(load.bytes, u64::from(hit.below / page) * 10);
            let before = cache.cached_bytes();
            let part = cache.insert(&text, first, place);
            prop_assert_eq!(cache.cached_bytes() - before, part.new_bytes);
            running.push((text.clone(), part.place));
            cache.check();
            if !stays {
                // An older one ends, with all of its text.
                let (text, place) = running.remove(running.len() / 2);
                let before = cache.cached_bytes();
                let done = cache.insert(&text, u32::MAX, place);
                prop_assert_eq!(cache.cached_bytes() - before, done.new_bytes);
                let total = done.new_bytes + done.shared_bytes;
                prop_assert_eq!(total, u64::from((done.place.tokens - place.tokens) / page) * 10);
                cache.check();
                prop_assert_eq!(cache.find(&text, u32::MAX).place.tokens, done.place.tokens);
                cache.unpin(done.place.node);
                for end in 1..=tokens(&text).len() {
                    seen.insert(tokens(&text)[..end].to_vec(), ());
                }
            }
            for end in 1..=first.min(all.len() as u32) as usize {
                seen.insert(all[..end].to_vec(), ());
            }
            cache.evict(evicts);
            cache.check();
            for (text, place) in &running {
                prop_assert!(cache.find(text, u32::MAX).place.tokens >= place.tokens);
            }
        }
        for (_, place) in running {
            cache.unpin(place.node);
        }
        prop_assert_eq!(cache.held_bytes(), 0);
        cache.evict(u64::MAX);
        cache.check();
        prop_assert_eq!(cache.cached_bytes(), 0);
        prop_assert!(!tiers.is_empty() || cache.tree.len() == 0);
    }
}
