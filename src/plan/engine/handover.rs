//! How a prompt's KV gets from prefill to decode.
//!
//! vLLM's `NixlConnector` and TensorRT-LLM's cache transceiver let decode take it: prefill ends and
//! keeps its blocks, decode finds blocks of its own and reads. SGLang's `disaggregation_mode` lets
//! decode find blocks first (`DecodePreallocQueue`); prefill begins when it has them, and writes each
//! chunk as it is computed (`send_kv_chunk`). vLLM's `P2pNcclConnector` and TensorRT-LLM with
//! `TRTLLM_DISAGG_LAYERWISE` send layer by layer.

use serde::{Deserialize, Serialize};

/// Who moves KV from prefill to decode, and when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvTransfer {
    /// After prefill decode allocates and reads; until then prefill holds its blocks.
    #[default]
    Pull,
    /// Decode allocates before prefill begins; prefill writes when it has ended.
    Push,
    /// The same, and prefill writes each chunk of a prompt when it has been computed.
    PushChunks,
    /// The same, and prefill writes each layer of a chunk when it has been computed: only the last
    /// one's is left when prefill ends.
    PushLayers,
}

impl KvTransfer {
    /// All, in the order shown.
    pub const ALL: [Self; 4] = [Self::Pull, Self::Push, Self::PushChunks, Self::PushLayers];

    /// A name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "push",
            Self::PushChunks => "push by chunk",
            Self::PushLayers => "push by layer",
        }
    }

    /// Whether decode allocates before prefill begins.
    #[must_use]
    pub const fn allocates_first(self) -> bool {
        !matches!(self, Self::Pull)
    }
}
