//! What the network between attention and FFN GPUs must carry (Step-3, arXiv 2507.19427 §4–§5).
//!
//! Micro-batches pass attention, network and FFN in `stages` stages, so each has `TPOT / stages`
//! for all layers. Experts reach a high MFU when a token is multiplied often enough per weight
//! byte read: a dense FFN with `B = w·FLOPs / (2·BW)` tokens, `w` bytes a weight, an MoE of
//! sparsity `S` with `B / S`. Each of those tokens crosses the network twice, `H` values there in
//! FP8 and back in BF16, within a layer's share of the stage:
//!
//! ```text
//! 3·H·B / S ≤ Net · (TPOT / stages) / L
//! S ≥ H · FLOPs · L / (Net · BW · 11.1 ms)      at 50 ms, three stages, 8-bit weights
//! ```

use super::price::decode_time;
use super::{DecodeWork, Hardware, Terms};
use crate::model::{Model, Moe};
use crate::units::real;
use crate::units::{ByteRate, Bytes, Seconds};

/// How a decode step is cut into stages, and what crosses between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pipeline {
    /// Time per output token to hold.
    pub tpot: Seconds,
    /// Stages that overlap: three (attention, network, FFN), or four with a network each way.
    pub stages: u32,
    /// Bytes of a value on the way to the experts (FP8).
    pub dispatch: f64,
    /// Bytes of a value on the way back (BF16).
    pub combine: f64,
}

impl Default for Pipeline {
    /// Step-3's: 50 ms, three stages, FP8 there and BF16 back.
    fn default() -> Self {
        Self {
            tpot: Seconds::from_ms(50.0),
            stages: 3,
            dispatch: 1.0,
            combine: 2.0,
        }
    }
}

impl Pipeline {
    /// What a stage has for all layers: `TPOT / stages`, 16.7 ms.
    #[must_use]
    pub fn stage(&self) -> Seconds {
        Seconds::new(self.tpot.get() / f64::from(self.stages.max(1)))
    }

    /// What a stage has for one layer: 273 µs of 61 layers.
    #[must_use]
    pub fn layer(&self, layers: u32) -> Seconds {
        Seconds::new(self.stage().get() / f64::from(layers.max(1)))
    }
}

/// The share of an MoE's experts a token visits, shared ones counted on both sides: `9 / 257` of
/// DeepSeek-V3. None: the model has no experts.
#[must_use]
pub fn sparsity(model: &Model) -> Option<f64> {
    let moe = model.moe().filter(|moe| moe.experts > 0)?;
    let shared = shared_experts(moe);
    Some((real(moe.top_k) + shared) / (real(moe.experts) + shared))
}

/// Shared experts, in routed experts of the same width.
fn shared_experts(moe: &Moe) -> f64 {
    real(moe.shared_intermediate) / real(moe.intermediate.max(1))
}

/// The smallest sparsity at which this GPU's FFN servers reach a high MFU before their NICs are
/// full. None: the server has no NICs in the catalog.
#[must_use]
pub fn sparsity_floor(
    model: &Model,
    hardware: &Hardware,
    terms: Terms,
    pipeline: &Pipeline,
) -> Option<f64> {
    let network = hardware.network?;
    let weight = real(terms.gemm.bits()) / 8.0;
    let flops_per_byte = hardware.gemm_peak(terms).get() / hardware.bandwidth.get();
    let dense_batch = weight * flops_per_byte / 2.0;
    let bytes = (pipeline.dispatch + pipeline.combine) * real(model.hidden) * dense_batch;
    Some(bytes / (network.get() * pipeline.layer(model.layer_count()).get()))
}

/// Routed experts a token would have to visit at that sparsity, the model's others and its shared
/// ones as they are; more than there are: the network is too slow for any. None: no experts.
#[must_use]
pub fn routed_experts_for(model: &Model, floor: f64) -> Option<u64> {
    let moe = model.moe().filter(|moe| moe.experts > 0)?;
    let shared = shared_experts(moe);
    let needed = floor * (real(moe.experts) + shared) - shared;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    Some(needed.ceil().max(1.0) as u64)
}

/// Attention and FFN instances of a split: `2A2F`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Attention instances.
    pub attention: u32,
    /// FFN instances, as many GPUs each.
    pub ffn: u32,
    /// Tokens of one micro-batch on each attention GPU.
    pub tokens: f64,
}

/// What one layer of a micro-batch moves over the NICs of a split.
///
/// Every attention GPU sends its tokens to its peer in each FFN instance and gets partial sums
/// back from each (Step-3 broadcasts; the experts of an instance share tokens over scale-up links).
/// So an FFN GPU sees `A · tokens`, an attention GPU `F · tokens`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitTraffic {
    /// Bytes to one FFN GPU, a layer.
    pub to_ffn: Bytes,
    /// Bytes back from it.
    pub back: Bytes,
    /// Rate one FFN GPU needs for both within the layer's time.
    pub ffn_gpu: ByteRate,
    /// Rate one attention GPU needs.
    pub attention_gpu: ByteRate,
}

impl SplitTraffic {
    /// Of a split that has `time` for a layer.
    #[must_use]
    pub fn of(hidden: u64, split: Split, pipeline: &Pipeline, time: Seconds) -> Self {
        let values = split.tokens * real(hidden);
        let side = |peers: u32| f64::from(peers) * values;
        let rate = |values: f64| {
            ByteRate::new(values * (pipeline.dispatch + pipeline.combine) / time.get())
        };
        Self {
            to_ffn: Bytes::from_f64_ceil(side(split.attention) * pipeline.dispatch),
            back: Bytes::from_f64_ceil(side(split.attention) * pipeline.combine),
            ffn_gpu: rate(side(split.attention)),
            attention_gpu: rate(side(split.ffn)),
        }
    }
}

/// Tokens whose attention one GPU finishes in a stage at best: the micro-batch an attention GPU
/// can hold up with. None: attention costs it nothing.
#[must_use]
pub fn micro_batch(
    work: &DecodeWork,
    hardware: &Hardware,
    terms: Terms,
    pipeline: &Pipeline,
) -> Option<f64> {
    let [attention, _] = decode_time(work, hardware, terms);
    (attention.get() > 0.0).then(|| (pipeline.stage().get() / attention.get()).floor())
}
