//! What a lane does in a step, as far as its price depends on it.

/// One prefill chunk of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// New tokens.
    pub tokens: u32,
    /// Tokens of the sequence already in the cache.
    pub context: u32,
}

/// What one lane does in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneShape<'a> {
    /// Decoding sequences, one token each beside those drafted.
    pub decodes: u32,
    /// Tokens drafted for them, which the step verifies.
    pub drafted: u32,
    /// Sum of their contexts, the one new token included (the few drafted ones may be left out).
    pub context: u64,
    /// Sums of what they see of their contexts, for each of the model's [`reaches`] in order. One
    /// left out is taken as the whole context.
    ///
    /// [`reaches`]: crate::cost::reaches
    pub reached: &'a [u64],
    /// Prefill chunks.
    pub chunks: &'a [Chunk],
    /// Tokens sampled: decodes, what was drafted for them, and prompts that end in this step.
    pub sampled: u32,
}

impl LaneShape<'_> {
    /// Tokens of the lane.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.decodes + self.drafted + self.prompt_tokens()
    }

    /// Tokens of its prefill chunks.
    #[must_use]
    pub fn prompt_tokens(&self) -> u32 {
        self.chunks.iter().map(|chunk| chunk.tokens).sum()
    }

    /// Tokens one of `cp` ranks works on: its share of prompts, all of the decodes.
    pub(super) fn on_rank(&self, cp: u32) -> u32 {
        self.decodes + self.drafted + self.prompt_tokens().div_ceil(cp)
    }

    /// Sequences of the lane.
    pub(super) fn sequences(&self) -> u32 {
        let chunks = u32::try_from(self.chunks.len()).unwrap_or(u32::MAX);
        self.decodes.saturating_add(chunks)
    }

    /// Sequences that go on: decodes and prompts that end in this step.
    pub(super) const fn going_on(&self) -> u32 {
        self.sampled.saturating_sub(self.drafted)
    }

    /// Tokens of each decoding sequence: a whole number, and how far to the next, on average.
    pub(super) fn queries(&self) -> (u32, f64) {
        let decodes = self.decodes.max(1);
        let more = f64::from(self.drafted % decodes) / f64::from(decodes);
        (1 + self.drafted / decodes, more)
    }
}
