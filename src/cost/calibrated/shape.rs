//! Every family of kernels and a shape of any of them.

use super::decode::{Decode, DsaDecodeBlock, MlaDecode, MlaDecodeBlock};
use super::delta::{DeltaChunks, DeltaConvolution, DeltaStep};
use super::exchange::{EngineAllReduce, Exchange};
use super::expert_exchange::{Deepep, DeepepLowLatency, NvlinkExchange};
use super::gemm::Gemm;
use super::hardware::Hardware;
use super::head_product::HeadProduct;
use super::kernel::{Features, Kernel, Parameter, Parts};
use super::moe::Moe;
use super::prefill::{ContextAttention, DsaContext, MlaContext, MlaModule};
use super::rowwise::Rowwise;
use serde::{Deserialize, Serialize};

macro_rules! families {
    ($($family:ident($shape:ty) $word:literal $title:literal,)*) => {
        /// A family of kernels: what is fitted together.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Family {
            $(#[doc = $title] $family,)*
        }

        impl Family {
            /// All.
            pub const ALL: &'static [Self] = &[$(Self::$family,)*];

            /// Its word in files.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$family => $word,)* }
            }

            /// Its name for people.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$family => $title,)* }
            }

            /// Its physical parameters.
            #[must_use]
            pub const fn parameters(self) -> &'static [Parameter] {
                match self { $(Self::$family => <$shape as Kernel>::PARAMETERS,)* }
            }

            /// Names of its features.
            #[must_use]
            pub const fn features(self) -> &'static [&'static str] {
                match self { $(Self::$family => <$shape as Kernel>::FEATURES,)* }
            }

            /// Most answers of its forests.
            #[must_use]
            pub const fn answers(self) -> usize {
                match self { $(Self::$family => <$shape as Kernel>::ANSWERS,)* }
            }

            /// Whether its time is that of the links between GPUs.
            #[must_use]
            pub const fn between_gpus(self) -> bool {
                match self { $(Self::$family => <$shape as Kernel>::BETWEEN_GPUS,)* }
            }

            /// Fewest rows to an answer.
            #[must_use]
            pub const fn rows_per_answer(self) -> usize {
                match self { $(Self::$family => <$shape as Kernel>::ROWS_PER_ANSWER,)* }
            }

            /// How many features are sizes.
            #[must_use]
            pub const fn sizes(self) -> usize {
                match self { $(Self::$family => <$shape as Kernel>::SIZES,)* }
            }
        }

        /// A kernel's shape on one GPU.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Shape {
            $(#[doc = $title] $family($shape),)*
        }

        impl Shape {
            /// Its family.
            #[must_use]
            pub const fn family(&self) -> Family {
                match self { $(Self::$family(_) => Family::$family,)* }
            }

            /// See [`Kernel::run_by`].
            #[must_use]
            pub fn run_by(self, engine: &str, kernel: &str) -> Self {
                match self { $(Self::$family(own) => Self::$family(own.run_by(engine, kernel)),)* }
            }

            /// See [`Kernel::physics`].
            #[must_use]
            pub fn physics(&self, hardware: &Hardware, parameters: &[f64]) -> Parts {
                match self { $(Self::$family(own) => own.physics(hardware, parameters),)* }
            }

            /// See [`Kernel::features`].
            #[must_use]
            pub fn features(&self, hardware: &Hardware) -> Features {
                let mut out = Features::default();
                match self { $(Self::$family(own) => own.features(hardware, &mut out),)* }
                out
            }

            /// See [`Kernel::key`].
            #[must_use]
            pub fn key(&self) -> u64 {
                match self { $(Self::$family(own) => own.key(),)* }
            }

            /// See [`Kernel::host`].
            #[must_use]
            pub fn host(&self, parameters: &[f64]) -> f64 {
                match self { $(Self::$family(own) => own.host(parameters),)* }
            }

            /// See [`Kernel::size`].
            #[must_use]
            pub fn size(&self) -> f64 {
                match self { $(Self::$family(own) => own.size(),)* }
            }
        }
    };
}

impl Shape {
    /// The shape as kernels of a table of that precision run it: where a table's attention multiplies in
    /// FP8, so does what it prices.
    #[must_use]
    pub fn multiplied_in(self, precision: &str) -> Self {
        let fp8 = precision.starts_with("fp8");
        match self {
            Self::ContextAttention(mut own) => {
                own.format.fp8 = fp8;
                Self::ContextAttention(own)
            }
            Self::ContextMla(mut own) => {
                own.format.fp8 = fp8;
                Self::ContextMla(own)
            }
            other => other,
        }
    }
}

// One line per family: its name, its shape, its word in files, its title.
families! {
    Gemm(Gemm) "gemm" "GEMM",
    MlaBmm(HeadProduct) "mla_bmm" "product per head",
    ComputeScale(Rowwise) "computescale" "finding scales",
    ScaleMatrix(Rowwise) "scale_matrix" "quantising activations",
    Rowwise(Rowwise) "rowwise" "norm, rope, activation, residual",
    Nccl(Exchange) "nccl" "NCCL collective",
    CustomAllreduce(EngineAllReduce) "custom_allreduce" "engine's all-reduce",
    DeepepNormal(Deepep) "deepep_normal" "DeepEP, normal mode",
    DeepepLl(DeepepLowLatency) "deepep_ll" "DeepEP, low latency",
    TrtllmAlltoall(NvlinkExchange) "trtllm_alltoall" "NVLink expert exchange",
    GdnConvolution(DeltaConvolution) "gdn_convolution" "gated delta net, convolution",
    GdnChunks(DeltaChunks) "gdn_chunks" "gated delta net, prefill",
    GdnStep(DeltaStep) "gdn_step" "gated delta net, step",
    ContextAttention(ContextAttention) "context_attention" "prefill attention",
    ContextMla(MlaContext) "context_mla" "MLA prefill, core",
    MlaContextModule(MlaModule) "mla_context_module" "MLA prefill, block",
    WideepContextMla(MlaModule) "wideep_context_mla" "MLA prefill, wide-EP block",
    DsaContextModule(DsaContext) "dsa_context_module" "DSA prefill, block",
    Decode(Decode) "generation_attention" "decode attention",
    GenerationMla(MlaDecode) "generation_mla" "MLA decode, core",
    MlaGenerationModule(MlaDecodeBlock) "mla_generation_module" "MLA decode, block",
    WideepGenerationMla(MlaDecodeBlock) "wideep_generation_mla" "MLA decode, wide-EP block",
    DsaGenerationModule(DsaDecodeBlock) "dsa_generation_module" "DSA decode, block",
    Moe(Moe) "moe" "MoE",
}
