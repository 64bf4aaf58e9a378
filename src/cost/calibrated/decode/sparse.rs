//! DeepSeek sparse attention (DSA) in decode, the whole block: that of MLA whose core sees the
//! tokens an indexer chose. The indexer scores every token of the context with a few narrow heads
//! and keeps the best (DeepSeek-V3.2-Exp report §2). As long as all tokens fit its choice, engines
//! leave it out.

use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
use super::block::{AROUND, MlaDecodeBlock};
use super::mla::{CORE, MlaDecode, with};

/// A sparse block's decode on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DsaDecodeBlock {
    /// The block; its core's entries are those attended to: at most [`Self::chosen`] of a sequence.
    pub block: MlaDecodeBlock,
    /// Tokens of all contexts, of which it chooses.
    pub context: f64,
    /// Scoring heads.
    pub index_heads: f64,
    /// Width of a scoring head and of an index key.
    pub index_dim: f64,
    /// Most tokens chosen of a sequence.
    pub chosen: f64,
}

/// Parameters of the indexer.
const INDEXER: [Parameter; 4] = [
    Parameter {
        name: "indexer_us",
        about: "launches where it chooses",
        start: 30.0,
        low: 0.5,
        high: 400.0,
    },
    Parameter {
        name: "scoring",
        about: "share of FP8 peak scores reach",
        start: 0.3,
        low: 0.005,
        high: 1.0,
    },
    Parameter {
        name: "index_keys",
        about: "share of memory bandwidth reading index keys",
        start: 0.6,
        low: 0.05,
        high: 1.0,
    },
    Parameter {
        name: "choosing",
        about: "passes over scores, times their bytes",
        start: 4.0,
        low: 0.1,
        high: 200.0,
    },
];

impl DsaDecodeBlock {
    fn tokens(&self) -> f64 {
        self.context / self.block.core.sequences.max(1.0)
    }

    fn chooses(&self) -> bool {
        self.tokens() > self.chosen
    }
}

impl Kernel for DsaDecodeBlock {
    const PARAMETERS: &'static [Parameter] =
        &with::<9, 14, 23>(with::<4, 5, 9>(INDEXER, AROUND), CORE);
    const FEATURES: &'static [&'static str] = &[
        "sequences",
        "context",
        "contexts",
        "heads",
        "items",
        "queries",
        "tiles",
        "fill",
        "attended",
        "chooses",
        "model",
    ];
    const SIZES: usize = 3;
    const ANSWERS: usize = 320;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let Some((&[start, scoring, index_keys, choosing], rest)) = p.split_first_chunk::<4>()
        else {
            return Parts::default();
        };
        let Some((around, core)) = rest.split_first_chunk::<5>() else {
            return Parts::default();
        };
        let Ok(core) = core.try_into() else {
            return Parts::default();
        };
        let widths = self.block.core.widths;
        // Index queries from the query latent, index keys and head weights from the hidden state.
        let indexer = widths.query_latent * self.index_heads * self.index_dim
            + widths.hidden * (self.index_dim + self.index_heads);
        let (products, reading, outside) = self.block.around(hardware, around, indexer);
        let (compute, memory, inside) = self.block.core.core(hardware, core);
        let launch = around[0] * 1e-6;
        let mut parts = Parts {
            compute: compute + products,
            memory: memory + reading,
            link: 0.0,
            launch,
            seconds: inside + outside + launch,
        };
        if self.chooses() {
            let scores =
                2.0 * self.context * self.index_heads * self.index_dim / (hardware.fp8 * scoring);
            let keys = self.context * (self.index_dim + 4.0) / (hardware.bandwidth * index_keys);
            let choice = self.context * 4.0 * choosing / hardware.bandwidth;
            parts.compute += scores;
            parts.memory += keys + choice;
            parts.launch += start * 1e-6;
            parts.seconds += soft_max(scores, keys) + choice + start * 1e-6;
        }
        parts
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let core = &self.block.core;
        let whole = MlaDecode {
            entries: self.context,
            ..*core
        };
        whole.core_features(hardware, out);
        out.log(core.tokens());
        out.push(if self.chooses() { 1.0 } else { 0.0 });
        out.log(core.widths.hidden);
    }

    fn key(&self) -> u64 {
        hash(&[self.block.core.core_key(), self.index_heads.to_bits()])
    }

    fn size(&self) -> f64 {
        self.context
    }
}
