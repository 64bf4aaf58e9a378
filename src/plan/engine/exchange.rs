//! How tokens reach the ranks that hold their experts, and results come back: the engines' own
//! choices, what each engine makes of one in a layout, and what a kernel takes at once.
//!
//! Within one lane (DP 1) every rank has every token already: each computes the experts it holds and
//! the lane sums the results over TP, so nothing is exchanged, whatever EP is. Lanes have their own
//! tokens; there an exchange is made. Sources:
//!
//! - vLLM 0.11 `config/parallel.py` (`all2all_backend`, `use_sequence_parallel_moe`),
//!   `fused_moe/config.py` (`use_all2all_kernels`: DP > 1 with expert parallelism),
//!   `fused_moe/layer.py` (pieces of `VLLM_MOE_DP_CHUNK_SIZE` = 256 tokens),
//!   `distributed/device_communicators/all2all.py`.
//! - SGLang 0.5 `srt/server_args.py` (`moe_a2a_backend`, `deepep_mode`), `layers/dp_attention.py`
//!   (decodes are padded and gathered, prompts summed into one buffer), `layers/communicator.py`.
//! - TensorRT-LLM 1.0 to 1.2 `fused_moe_wide_ep.py` (`select_alltoall_method_type`), 1.3
//!   `fused_moe/communication/communication_factory.py`.

use super::defaults::Version;
use super::{Engine, EngineKind, GraphMode};
use crate::plan::pool::Layout;
use serde::{Deserialize, Serialize};

/// How tokens reach their experts' ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ExpertExchange {
    /// Every rank gathers the tokens of all lanes, and results are reduced and scattered.
    #[default]
    AllGather,
    /// The engine looks at the layout and the links (TensorRT-LLM).
    Automatic,
    /// Each lane broadcasts its tokens in turn, and results are all-reduced (vLLM before 0.11).
    Broadcast,
    /// DeepEP: its normal mode where there are prompts, low latency for decodes (SGLang's `auto`).
    Deepep,
    /// DeepEP's normal, high-throughput mode.
    DeepepNormal,
    /// DeepEP's low-latency mode.
    DeepepLowLatency,
    /// TensorRT-LLM's exchange over NVLink that both sides take part in.
    NvlinkTwoSided,
    /// The later one that writes into peers' memory.
    NvlinkOneSided,
    /// Perplexity's kernels.
    Pplx,
}

/// A choice's name where the engine has none, and in vLLM, SGLang and TensorRT-LLM.
type Names = (&'static str, [Option<&'static str>; 3]);

impl ExpertExchange {
    /// All, in the order shown.
    pub const ALL: [Self; 9] = [
        Self::AllGather,
        Self::Automatic,
        Self::Broadcast,
        Self::Deepep,
        Self::DeepepNormal,
        Self::DeepepLowLatency,
        Self::NvlinkTwoSided,
        Self::NvlinkOneSided,
        Self::Pplx,
    ];

    const fn names(self) -> Names {
        match self {
            Self::AllGather => (
                "all-gather",
                [
                    Some("allgather_reducescatter"),
                    Some("none"),
                    Some("ALLGATHER"),
                ],
            ),
            Self::Automatic => ("automatic", [None, None, Some("automatic")]),
            Self::Broadcast => ("broadcast", [Some("naive"), None, None]),
            Self::Deepep => ("deepep", [None, Some("deepep"), None]),
            Self::DeepepNormal => (
                "deepep normal",
                [
                    Some("deepep_high_throughput"),
                    Some("deepep normal"),
                    Some("DEEPEP"),
                ],
            ),
            Self::DeepepLowLatency => (
                "deepep low_latency",
                [
                    Some("deepep_low_latency"),
                    Some("deepep low_latency"),
                    Some("DEEPEPLOWLATENCY"),
                ],
            ),
            Self::NvlinkTwoSided => (
                "NVLink two-sided",
                [Some("flashinfer_all2allv"), None, Some("NVLINK_TWO_SIDED")],
            ),
            Self::NvlinkOneSided => (
                "NVLink one-sided",
                [
                    Some("flashinfer_nvlink_one_sided"),
                    Some("flashinfer"),
                    Some("NVLINK_ONE_SIDED"),
                ],
            ),
            Self::Pplx => ("pplx", [Some("pplx"), None, None]),
        }
    }

    const fn own_name(self, kind: EngineKind) -> Option<&'static str> {
        let (_, [vllm, sglang, tensorrt_llm]) = self.names();
        match kind {
            EngineKind::Vllm => vllm,
            EngineKind::Sglang => sglang,
            EngineKind::TensorRtLlm => tensorrt_llm,
        }
    }

    /// Its name in an engine, or ours where the engine has no such choice.
    #[must_use]
    pub fn name(self, kind: EngineKind) -> &'static str {
        self.own_name(kind).unwrap_or(self.names().0)
    }

    /// Whether an engine has it.
    #[must_use]
    pub const fn known_to(self, kind: EngineKind) -> bool {
        self.own_name(kind).is_some()
    }

    /// An engine's choices, in the order shown.
    pub fn of(kind: EngineKind) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |own| own.known_to(kind))
    }

    pub(super) const fn is_deepep(self) -> bool {
        matches!(
            self,
            Self::Deepep | Self::DeepepNormal | Self::DeepepLowLatency
        )
    }
}

/// What carries the tokens of a MoE layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// Nothing: every rank has the lane's tokens; results are summed over TP.
    None,
    /// Gathered by all ranks of the lanes; results reduced and scattered.
    Gather {
        /// Each TP rank has its part of the lane's tokens in it; else every TP rank gathers all of
        /// its peers in the other lanes, and results are summed over TP too.
        split: bool,
        /// Activations are quantised before they go.
        quantised: bool,
    },
    /// Summed into one buffer of all tokens, and results too.
    Sum,
    /// Broadcast lane by lane; results summed.
    Broadcast,
    /// DeepEP.
    Deepep {
        /// Its low-latency mode.
        low_latency: bool,
    },
    /// Over NVLink.
    Nvlink {
        /// One side writes or reads.
        one_sided: bool,
    },
    /// Straight to the experts' ranks by kernels nobody measured here.
    Direct,
}

/// The links among the ranks that share a layer's experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    /// They lie in one domain of NVLink through switches.
    pub nvlink: bool,
    /// That domain is a rack's, of more GPUs than a server has.
    pub rack: bool,
}

/// Most tokens of a rank that a low-latency kernel takes at once: `VLLM_MOE_DP_CHUNK_SIZE`, 256, in
/// pieces; `SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK`, 128, no more.
#[must_use]
pub const fn low_latency_tokens(kind: EngineKind) -> Option<u32> {
    match kind {
        EngineKind::Vllm => Some(256),
        EngineKind::Sglang => Some(128),
        // As many as the step's budget.
        EngineKind::TensorRtLlm => None,
    }
}

impl Engine {
    /// What carries tokens of a model with `top_k` experts to a token: in steps of decodes alone, and
    /// in steps with prompts.
    #[must_use]
    pub fn carriers(&self, layout: Layout, top_k: u64, joined: Joined) -> [Carrier; 2] {
        let own = self.expert_exchange;
        match self.kind {
            EngineKind::Vllm if layout.dp > 1 => [vllm(own, layout); 2],
            EngineKind::Sglang => sglang(own, layout),
            EngineKind::TensorRtLlm if layout.dp > 1 => {
                let gather = Carrier::Gather {
                    split: false,
                    quantised: true,
                };
                if layout.moe_tp() > 1 {
                    return [gather; 2];
                }
                let own = if own == ExpertExchange::Automatic {
                    self.automatic(layout, top_k, joined)
                } else {
                    own
                };
                [direct(own).unwrap_or(gather); 2]
            }
            EngineKind::Vllm | EngineKind::TensorRtLlm => [Carrier::None; 2],
        }
    }

    /// TensorRT-LLM's choice. Up to 1.2 an exchange only pays where ranks outnumber a token's
    /// experts, over NVLink (1.0: where the CPU is an Arm one, so in racks); later always, DeepEP
    /// where NVLink does not reach: in graphs only its low-latency mode can be captured.
    fn automatic(&self, layout: Layout, top_k: u64, joined: Joined) -> ExpertExchange {
        let version = Version::read(&self.version).unwrap_or(Version(1, 0));
        if version >= Version(1, 3) {
            return match (joined.nvlink, self.graphs.mode) {
                (true, _) => ExpertExchange::NvlinkOneSided,
                (false, GraphMode::None) => ExpertExchange::DeepepNormal,
                (false, _) => ExpertExchange::DeepepLowLatency,
            };
        }
        let reaches = joined.nvlink && (joined.rack || version >= Version(1, 1));
        if reaches && u64::from(layout.ep) > top_k {
            ExpertExchange::NvlinkTwoSided
        } else {
            ExpertExchange::AllGather
        }
    }

    /// Why this engine runs without CUDA graphs as its exchange is set; none: it need not.
    #[must_use]
    pub fn no_graphs(&self, layout: Layout) -> Option<&'static str> {
        let normal = self.expert_exchange == ExpertExchange::DeepepNormal;
        let used = match self.kind {
            EngineKind::Vllm => layout.dp > 1 && layout.ep > 1,
            EngineKind::Sglang => layout.ep > 1,
            EngineKind::TensorRtLlm => false,
        };
        (normal && used).then_some("DeepEP's normal mode, whose kernels can't be captured")
    }

    /// Whether DeepEP keeps buffers here, in its normal and in its low-latency mode.
    #[must_use]
    pub fn deepep_modes(&self, layout: Layout) -> [bool; 2] {
        let own = self.expert_exchange;
        let lanes = layout.dp > 1 || self.kind == EngineKind::Sglang;
        let used = own.is_deepep() && lanes && layout.ep > 1;
        [
            used && own != ExpertExchange::DeepepLowLatency,
            used && own != ExpertExchange::DeepepNormal,
        ]
    }
}

/// The kernels of a choice that sends tokens straight to their experts' ranks.
const fn direct(own: ExpertExchange) -> Option<Carrier> {
    match own {
        ExpertExchange::AllGather | ExpertExchange::Automatic | ExpertExchange::Broadcast => None,
        ExpertExchange::Deepep | ExpertExchange::DeepepNormal => {
            Some(Carrier::Deepep { low_latency: false })
        }
        ExpertExchange::DeepepLowLatency => Some(Carrier::Deepep { low_latency: true }),
        ExpertExchange::NvlinkTwoSided => Some(Carrier::Nvlink { one_sided: false }),
        ExpertExchange::NvlinkOneSided => Some(Carrier::Nvlink { one_sided: true }),
        ExpertExchange::Pplx => Some(Carrier::Direct),
    }
}

/// vLLM's lanes: without expert parallelism tokens are gathered whatever is chosen.
fn vllm(own: ExpertExchange, layout: Layout) -> Carrier {
    let parallel = layout.ep > 1;
    match direct(own) {
        Some(carrier) if parallel => carrier,
        _ if own == ExpertExchange::Broadcast => Carrier::Broadcast,
        _ => Carrier::Gather {
            split: parallel && layout.tp > 1,
            quantised: false,
        },
    }
}

fn sglang(own: ExpertExchange, layout: Layout) -> [Carrier; 2] {
    let modes =
        |low_latency: [bool; 2]| low_latency.map(|low_latency| Carrier::Deepep { low_latency });
    let gather = Carrier::Gather {
        split: layout.tp > 1,
        quantised: false,
    };
    match own {
        ExpertExchange::Deepep if layout.ep > 1 => modes([true, false]),
        _ if layout.ep > 1 && direct(own).is_some() => [direct(own).unwrap_or(gather); 2],
        _ if layout.dp > 1 => [gather, Carrier::Sum],
        _ => [Carrier::None; 2],
    }
}

#[cfg(test)]
mod tests;
