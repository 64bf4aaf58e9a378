//! Recorded prompts, and how long they take.

use super::*;
use crate::plan::TierKind;
use crate::units::{ByteRate, Bytes, Seconds};
use serde_json::Value;
use std::path::Path;

/// Tokens of a block of the Mooncake traces.
const BLOCK: u32 = 512;

/// The texts of a Mooncake trace, a segment for each block; none: it is not here.
fn mooncake(name: &str) -> Option<Vec<Vec<Segment>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/data/traces")
        .join(name);
    let Ok(file) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    };
    let text = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let mut left = row["input_length"].as_u64().unwrap() as u32;
        let ids = row["hash_ids"].as_array().unwrap().iter();
        ids.map(|id| {
            let tokens = left.min(BLOCK);
            left -= tokens;
            segment(id.as_u64().unwrap(), tokens)
        })
        .collect()
    };
    Some(file.lines().map(text).collect())
}

/// Blocks, and blocks found, with room for everything.
fn ideal_hits(texts: &[Vec<Segment>]) -> (u64, u64) {
    let mut cache = PrefixCache::new(1, plain(1, 1), &[]);
    let (mut blocks, mut hits) = (0, 0);
    for text in texts {
        let mut end = 0;
        let found = cache.serve(text).place.tokens;
        for segment in text {
            end += segment.tokens;
            blocks += 1;
            hits += u64::from(end <= found);
        }
    }
    (blocks, hits)
}

#[test]
fn the_mooncake_conversation_trace_finds_its_36_6_percent() {
    let Some(texts) = mooncake("mooncake_conversation.jsonl") else {
        return;
    };
    assert_eq!(texts.len(), 12_031);
    let (blocks, hits) = ideal_hits(&texts);
    assert_eq!((blocks, hits), (288_500, 105_710));
    assert_eq!((1000 * hits + blocks / 2) / blocks, 366);
}

/// Tokens found in HBM and below, of a 70-billion model's KV (320 kB a token) with so much memory.
fn served(texts: &[Vec<Segment>], hbm: u64, host: u64) -> (u64, u64) {
    let token = 327_680;
    let tier = Tier {
        kind: TierKind::Host,
        capacity: Bytes::new(host),
        read: ByteRate::new(50e9),
        write: ByteRate::new(50e9),
        latency: Seconds::new(10e-6),
    };
    let mut cache = PrefixCache::new(16, plain(16, 16 * token), &[tier]);
    for text in texts {
        let input: u32 = text.iter().map(|segment| segment.tokens).sum();
        let hit = cache.find(text, input - 1);
        cache.admit(hit.place, input, hit.below);
        let load = cache.load(text, input - 1, 0);
        assert_eq!(load.tokens, hit.place.tokens + hit.below);
        let room = u64::from(input - hit.place.tokens + 16) * token;
        cache.evict((cache.cached_bytes() + room).saturating_sub(hbm));
        let end = cache.insert(text, input, hit.place).place;
        cache.unpin(end.node);
    }
    cache.check_sums();
    (cache.counts().hits, cache.counts().below)
}

#[test]
fn with_a_host_tier_the_share_found_does_not_fall_as_hbm_grows() {
    // T36: HBM from 50 GB (a prompt of 126,195 tokens takes 41) to 800, with and without 500 GB of
    // host memory.
    let Some(mut texts) = mooncake("mooncake_conversation.jsonl") else {
        return;
    };
    texts.truncate(3000);
    let mut last = (0, 0);
    for hbm in [50, 100, 200, 400, 800] {
        let (alone, none) = served(&texts, hbm * 1_000_000_000, 0);
        let (hits, below) = served(&texts, hbm * 1_000_000_000, 500_000_000_000);
        assert_eq!(none, 0);
        assert!(alone >= last.0 && hits + below >= last.1, "{hbm} GB");
        assert!(hits + below >= alone);
        eprintln!("{hbm} GB: {alone} alone, {hits} + {below} with a host tier");
        last = (alone, hits + below);
    }
}

#[test]
fn equal_runs_are_equal() {
    let texts: Vec<Vec<Segment>> = (0..3000_u64)
        .map(|n| {
            (0..n % 7)
                .map(|k| segment(n * k % 50, 100 + k as u32))
                .collect()
        })
        .filter(|text: &Vec<Segment>| !text.is_empty())
        .collect();
    let run = || served(&texts, 3_000_000_000, 5_000_000_000);
    let first = run();
    assert!(first.0 > 0 && first.1 > 0);
    assert_eq!(run(), first);
}
