//! Tiles of queries walking over keys: how many, how far, how long together.

use super::super::kernel::hash;

/// A hold-out's key of these sizes. Families of heads differ in few bits (8/1, 16/2, 32/4 have the
/// same mantissas), and folds take few bits of a key: all of them must depend on all (finaliser of
/// MurmurHash3).
pub(super) fn key(sizes: &[f64]) -> u64 {
    let bits: Vec<u64> = sizes.iter().map(|size| size.to_bits()).collect();
    let mut state = hash(&bits);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        state = (state ^ state >> 33).wrapping_mul(factor);
    }
    state ^ state >> 33
}

/// Keys a CTA takes at a time; a tile's walk is rounded up by half of it on average.
const KEYS: f64 = 128.0;
/// Fewest keys worth an own CTA where a long prior context is split (flash decoding).
const SPLIT: f64 = 512.0;

/// What a core is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Walk {
    /// Sequences.
    pub(super) batch: f64,
    /// New tokens of each: its queries.
    pub(super) tokens: f64,
    /// Tokens in its cache before them.
    pub(super) prior: f64,
    /// Query heads on this GPU.
    pub(super) heads: f64,
    /// Heads of keys and values.
    pub(super) kv_heads: f64,
    /// Keys a query may see; infinite where it sees all before it.
    pub(super) window: f64,
}

/// How a kernel tiles. Fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tiling {
    /// Seconds a CTA takes whatever it does.
    pub(super) prologue: f64,
    /// Seconds to bring in and write out 128 rows.
    pub(super) load: f64,
    /// What halving a tile costs more per row.
    pub(super) small: f64,
    /// What a tile that packs the heads of a group costs, against one of a single head.
    pub(super) packed: f64,
    /// Share of a last, part-filled wave that is waited for.
    pub(super) tail: f64,
    /// Blocks of keys masked at a window's far edge.
    pub(super) edge: f64,
    /// Share of the keys outside the window visited all the same.
    pub(super) visited: f64,
}

/// Rows of a tile, and whether it packs the query heads of one KV head.
const TILES: [(f64, bool); 5] = [
    (128.0, false),
    (64.0, false),
    (128.0, true),
    (64.0, true),
    (16.0, true),
];

impl Walk {
    /// Keys in the cache at the end.
    pub(super) fn keys(&self) -> f64 {
        self.tokens + self.prior
    }

    /// Keys a query sees on average: `min(prior + i, window)` over `i = 1 … tokens`.
    pub(super) fn seen(&self) -> f64 {
        let Self {
            tokens,
            prior,
            window,
            ..
        } = *self;
        let free = (window - prior).clamp(0.0, tokens);
        let sum = free * prior + free * (free + 1.0) / 2.0;
        if free < tokens {
            (sum + (tokens - free) * window) / tokens
        } else {
            sum / tokens
        }
    }

    /// The same without the window.
    fn before(&self) -> f64 {
        self.prior + (self.tokens + 1.0) / 2.0
    }

    /// Keys of the cache that are read at all.
    pub(super) fn read(&self) -> f64 {
        self.keys().min(self.window + self.tokens)
    }

    /// Seconds of the cheapest tiling. `pair` is what one query and one key take of one SM.
    pub(super) fn core(&self, sms: f64, pair: f64, own: &Tiling) -> f64 {
        TILES.iter().fold(f64::INFINITY, |best, tile| {
            best.min(self.tiled(sms, pair, own, *tile))
        })
    }

    fn tiled(&self, sms: f64, pair: f64, own: &Tiling, (rows, packs): (f64, bool)) -> f64 {
        let (queries, lanes, price) = if packs {
            (
                self.tokens * self.heads / self.kv_heads,
                self.kv_heads,
                own.packed,
            )
        } else {
            (self.tokens, self.heads, 1.0)
        };
        let tiles = libm::ceil(queries / rows);
        let waves = self.batch * lanes * tiles / sms;
        // A tile's walk: what its queries see on average, and the rounding to blocks at both ends
        // of the diagonal.
        let rounding = (self.tokens / tiles + KEYS) / 2.0;
        let keys = self.keys();
        let whole = keys.min(self.before() + rounding);
        let edge = own.edge * KEYS * f64::from(u8::from(self.window < keys));
        let inside = whole.min(self.seen() + rounding + edge);
        let mean = inside + own.visited * (whole - inside);
        let near = keys.min(self.window + self.tokens.min(rows) + KEYS + edge);
        let farthest = near + own.visited * (keys - near);
        // Idle SMs share out a long prior context.
        let prior = self.prior.min(farthest);
        let splits = (1.0 / waves).clamp(1.0, (prior / SPLIT).max(1.0));
        let longest = farthest - prior * (1.0 - 1.0 / splits);
        let key = pair * rows * (1.0 + own.small * (128.0 / rows - 1.0));
        let start = own.prologue + own.load * rows / 128.0;
        let each = mean * key + start;
        let last = if waves > 1.0 {
            own.tail * (libm::ceil(waves) - waves) * each
        } else {
            0.0
        };
        price * ((waves * each).max(longest * key + start) + last)
    }
}

/// What traffic takes of its time where the bytes a call touches lie in L2 from the call before,
/// as they do in a benchmark: `share` well inside L2, 1 well outside, half way at `size` times L2.
pub(super) fn hot(bytes: f64, l2: f64, size: f64, share: f64) -> f64 {
    let x = bytes / (l2 * size);
    let cube = x * x * x;
    1.0 - (1.0 - share) / (1.0 + cube * cube)
}
