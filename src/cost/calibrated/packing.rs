//! Packing of small decisions into bytes: an adaptive binary range coder.
//!
//! Every yes or no is coded with what the same decision was before (Krichevsky–Trofimov's estimate
//! from counts), so that nothing has to be said about how often anything occurs, and decisions that
//! always fall the same way take next to nothing. The coder is LZMA's (carry kept in a cache of one
//! byte), with counts in place of shifted probabilities.
//!
//! A number of a few bits is a walk down a binary tree of decisions, highest bit first: numbers that
//! occurred before, and their neighbours, become short.

/// Bits of a probability.
const PRECISION: u32 = 12;
/// Counts are halved there, so that what is learnt can change.
const MOST: u8 = 250;
/// Below this the range is widened.
const NARROW: u32 = 1 << 24;

/// What a decision was before: noes, yeses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decision(u8, u8);

impl Decision {
    /// Probability of no, out of 2¹².
    fn no(self) -> u32 {
        let (no, yes) = (u32::from(self.0), u32::from(self.1));
        // (n + 0.4) / (n + m + 0.8).
        ((5 * no + 2) << PRECISION) / (5 * (no + yes) + 4)
    }

    const fn learn(&mut self, yes: bool) {
        if yes {
            self.1 += 1;
        } else {
            self.0 += 1;
        }
        if self.0 >= MOST || self.1 >= MOST {
            self.0 /= 2;
            self.1 /= 2;
        }
    }
}

/// Numbers of a fixed width, met before or not: a tree of decisions that grows as it is walked.
#[derive(Debug, Default)]
pub(super) struct Numbers(Vec<(Decision, [u32; 2])>);

impl Numbers {
    /// Codes a number of `width` bits, or reads one where `coder` reads.
    pub(super) fn code(&mut self, coder: &mut impl Coder, value: u32, width: u32) -> u32 {
        let mut read = 0;
        let mut at = self.child(None, false);
        for bit in (0..width).rev() {
            let own = coder.code(&mut self.0[at].0, value >> bit & 1 == 1);
            read = read << 1 | u32::from(own);
            if bit > 0 {
                at = self.child(Some(at), own);
            }
        }
        read
    }

    fn child(&mut self, parent: Option<usize>, side: bool) -> usize {
        let known = match parent {
            Some(parent) => self.0[parent].1[usize::from(side)] as usize,
            None => 0,
        };
        if known > 0 || (parent.is_none() && !self.0.is_empty()) {
            return known;
        }
        let new = self.0.len();
        self.0.push((Decision::default(), [0; 2]));
        if let Some(parent) = parent {
            self.0[parent].1[usize::from(side)] = u32::try_from(new).unwrap_or(0);
        }
        new
    }
}

/// Writes decisions, or reads them: one code for both ways keeps them the same.
pub(super) trait Coder {
    /// Codes a decision; a reader ignores what it is given and returns what it reads.
    fn code(&mut self, model: &mut Decision, yes: bool) -> bool;
}

/// Writes.
#[derive(Debug)]
pub(super) struct Packer {
    low: u64,
    range: u32,
    cache: u8,
    /// Bytes held back until it is known whether a carry changes them.
    held: usize,
    out: Vec<u8>,
}

impl Packer {
    pub(super) const fn new() -> Self {
        Self {
            low: 0,
            range: u32::MAX,
            cache: 0,
            held: 0,
            out: Vec::new(),
        }
    }

    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > 0xffff_ffff {
            let carry = u8::from(self.low > 0xffff_ffff);
            self.out.push(self.cache.wrapping_add(carry));
            self.out
                .extend(std::iter::repeat_n(0xff_u8.wrapping_add(carry), self.held));
            self.held = 0;
            self.cache = self.low.to_le_bytes()[3];
        } else {
            self.held += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    /// The bytes. What follows reads as zeros, so zeros at the end are left away.
    pub(super) fn bytes(mut self) -> Vec<u8> {
        for _ in 0..5 {
            self.shift();
        }
        // The first byte is the empty cache.
        let mut out = self.out.split_off(1);
        while out.last() == Some(&0) {
            out.pop();
        }
        out
    }
}

impl Coder for Packer {
    fn code(&mut self, model: &mut Decision, yes: bool) -> bool {
        let bound = (self.range >> PRECISION) * model.no();
        if yes {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        while self.range < NARROW {
            self.range <<= 8;
            self.shift();
        }
        model.learn(yes);
        yes
    }
}

/// Reads.
#[derive(Debug)]
pub(super) struct Unpacker<'a> {
    code: u32,
    range: u32,
    rest: &'a [u8],
    /// Bytes read beyond the end.
    beyond: usize,
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut own = Self {
            code: 0,
            range: u32::MAX,
            rest: bytes,
            beyond: 0,
        };
        for _ in 0..4 {
            own.next();
        }
        own
    }

    fn next(&mut self) {
        let byte = if let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            byte
        } else {
            self.beyond += 1;
            0
        };
        self.code = self.code << 8 | u32::from(byte);
    }

    /// Whether more was read than was ever written.
    pub(super) const fn overrun(&self) -> bool {
        self.beyond > 8
    }

    /// Whether everything written was read.
    pub(super) const fn done(&self) -> bool {
        self.rest.is_empty()
    }
}

impl Coder for Unpacker<'_> {
    fn code(&mut self, model: &mut Decision, _: bool) -> bool {
        let bound = (self.range >> PRECISION) * model.no();
        let yes = self.code >= bound;
        if yes {
            self.code -= bound;
            self.range -= bound;
        } else {
            self.range = bound;
        }
        while self.range < NARROW {
            self.range <<= 8;
            self.next();
        }
        model.learn(yes);
        yes
    }
}
