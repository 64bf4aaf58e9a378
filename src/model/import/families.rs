//! The families: facts of the classes in transformers 4.57–5.24 (`configuration_*.py`,
//! `modeling_*.py`) and, where a family isn't there, of vLLM's or its repository's own code.

use super::facts::{Facts, HeadDim, OutBias, QkNorm, Windows};
use crate::model::{Gate, NormKind};

const LLAMA: Facts = Facts::LLAMA;

/// Models before Llama: LayerNorm, biases, MLPs of two matrices.
const OLD: Facts = LLAMA
    .norm(NormKind::LayerNorm)
    .qkv_bias(true)
    .out_bias(OutBias::Always)
    .mha()
    .ungated()
    .mlp_bias(true);

/// The same without biases on linears.
const OLD_UNBIASED: Facts = OLD
    .qkv_bias(false)
    .out_bias(OutBias::Follows)
    .mlp_bias(false);

const QWEN2: Facts = LLAMA
    .qkv_bias(true)
    .out_bias(OutBias::Never)
    .windows(Windows::Switched)
    .shared_gate();

const QWEN3: Facts = LLAMA
    .qk_norm(QkNorm::Head)
    .head_dim(HeadDim::State)
    .windows(Windows::Switched);

/// Gated attention between gated DeltaNet layers, a gated shared expert.
const QWEN_HYBRID: Facts = QWEN3.gate(Gate::Full).shared_gate();

const GEMMA: Facts = LLAMA.tied().head_dim(HeadDim::Is(256));
const GEMMA2: Facts = GEMMA.norms(4).windows(Windows::But(2));
const GEMMA3: Facts = GEMMA
    .norms(4)
    .qk_norm(QkNorm::Head)
    .windows(Windows::But(6));

const DEEPSEEK: Facts = LLAMA.router_bias();
const GLM_MOE: Facts = DEEPSEEK.out_bias(OutBias::Never).head_dim(HeadDim::State);
const OLMO2: Facts = LLAMA.mha().qk_norm(QkNorm::Whole);
const MINIMAX: Facts = LLAMA
    .head_dim(HeadDim::State)
    .router_bias()
    .expert_is_intermediate();
const COHERE: Facts = LLAMA.norms(1).tied();
const GLM: Facts = LLAMA.out_bias(OutBias::Never);

/// Names (`model_type` without `_text`) and facts.
const TABLE: &[(&str, Facts)] = &[
    (
        "llama yi aquila internlm baichuan xverse deepseek minicpm",
        LLAMA.mha(),
    ),
    (
        "seed_oss",
        LLAMA.out_bias(OutBias::Never).head_dim(HeadDim::State),
    ),
    (
        "mistral mistral3 ministral ministral3 internlm2 internlm3 nemotron-nas granite arcee",
        LLAMA,
    ),
    (
        "smollm3 helium exaone orion bamba falcon_h1 granitemoehybrid lfm2_vl",
        LLAMA,
    ),
    (
        "mixtral granitemoe granitemoeshared arctic jamba",
        LLAMA.expert_is_intermediate(),
    ),
    (
        "minimax_text_01 minimax minimax_m1",
        LLAMA.head_dim(HeadDim::State).expert_is_intermediate(),
    ),
    ("step3", LLAMA.head_dim(HeadDim::State)),
    ("grok-1 grok", LLAMA.norms(4).expert_is_intermediate()),
    ("phi3", LLAMA.mha()),
    ("qwen", LLAMA.mha().qkv_bias(true).out_bias(OutBias::Never)),
    ("qwen2 qwen2_moe qwen2_vl qwen2_5_vl qwen2_5_omni", QWEN2),
    (
        "qwen3 qwen3_moe qwen3_vl qwen3_vl_moe qwen3_omni_moe",
        QWEN3,
    ),
    ("qwen3_next qwen3_5 qwen3_5_moe", QWEN_HYBRID),
    ("gemma", GEMMA),
    ("gemma2", GEMMA2.defaults(&[("sliding_window", 4096)])),
    ("gemma3", GEMMA3.defaults(GEMMA3_DEFAULTS)),
    (
        "gemma3n",
        GEMMA3.windows(Windows::But(5)).defaults(GEMMA3N_DEFAULTS),
    ),
    ("gemma4", GEMMA3.defaults(GEMMA4_DEFAULTS)),
    (
        "recurrent_gemma",
        GEMMA.out_bias(OutBias::Always).mlp_bias(true),
    ),
    ("cohere", COHERE.mha()),
    ("cohere2", COHERE.windows(Windows::But(4))),
    (
        "cohere2_moe",
        COHERE.windows(Windows::But(4)).expert_is_intermediate(),
    ),
    ("olmo", LLAMA.norm(NormKind::Bare).mha()),
    ("olmo2", OLMO2),
    ("olmo3", OLMO2.windows(Windows::But(4))),
    ("olmoe flex_olmo", OLMO2.expert_is_intermediate()),
    ("deepseek_v2 kimi_vl minicpm3", LLAMA),
    (
        "deepseek_v3 kimi_k2 kimi_k25 glm4_moe_lite mistral4 kimi_linear kimi_k3",
        DEEPSEEK,
    ),
    (
        "deepseek_v4 longcat_flash pangu_ultra_moe bailing_hybrid",
        DEEPSEEK,
    ),
    (
        "mimo_v2_flash mimo_v2 nemotron_h",
        DEEPSEEK.head_dim(HeadDim::State),
    ),
    (
        "deepseek_v32",
        DEEPSEEK.defaults(&[
            ("index_n_heads", 64),
            ("index_head_dim", 128),
            ("index_topk", 2048),
        ]),
    ),
    (
        "glm_moe_dsa",
        DEEPSEEK.defaults(&[
            ("index_n_heads", 32),
            ("index_head_dim", 128),
            ("index_topk", 2048),
        ]),
    ),
    (
        "laguna",
        DEEPSEEK
            .head_dim(HeadDim::State)
            .qk_norm(QkNorm::Head)
            .gate(Gate::Head),
    ),
    ("glm4_moe glm4v_moe solar_open", GLM_MOE),
    ("glm chatglm", GLM.qkv_bias(true)),
    ("glm4 glm4v", GLM.norms(4)),
    ("dots1 hy_v3", DEEPSEEK.qk_norm(QkNorm::Head)),
    ("ernie4_5", LLAMA.tied()),
    ("ernie4_5_moe", LLAMA.tied().router_bias()),
    (
        "hunyuan_v1_moe hunyuan hunyuan_v1_dense",
        LLAMA.qk_norm(QkNorm::Head).expert_is_intermediate(),
    ),
    ("minimax_m2", MINIMAX.qk_norm(QkNorm::Whole)),
    ("minimax_m3 minimax_m3_vl", MINIMAX.qk_norm(QkNorm::Head)),
    (
        "llama4",
        LLAMA.windows(Windows::But(4)).expert_is_intermediate(),
    ),
    ("gpt_oss", GPT_OSS),
    (
        "step3p5 step3p7",
        DEEPSEEK.qk_norm(QkNorm::Head).head_dim(HeadDim::State),
    ),
    (
        "afmoe",
        DEEPSEEK
            .head_dim(HeadDim::State)
            .norms(4)
            .qk_norm(QkNorm::Head)
            .gate(Gate::Full)
            .windows(Windows::But(4)),
    ),
    (
        "exaone4",
        LLAMA.qk_norm(QkNorm::Head).windows(Windows::But(4)),
    ),
    (
        "exaone_moe",
        DEEPSEEK.qk_norm(QkNorm::Head).windows(Windows::But(4)),
    ),
    ("apertus", LLAMA.qk_norm(QkNorm::Head).ungated()),
    ("lfm2 lfm2_moe", LLAMA.tied().qk_norm(QkNorm::Head)),
    (
        "bailing_moe bailing_moe_v2 bailing_moe_linear bailing_moe_linear_v2",
        DEEPSEEK.mha(),
    ),
    (
        "phimoe",
        LLAMA.norm(NormKind::LayerNorm).expert_is_intermediate(),
    ),
    // Its LayerNorms have no bias.
    ("dbrx", LLAMA),
    (
        "stablelm",
        LLAMA
            .norm(NormKind::LayerNorm)
            .out_bias(OutBias::Never)
            .mha(),
    ),
    ("nemotron", LLAMA.norm(NormKind::LayerNorm).ungated().mha()),
    ("starcoder2", OLD.tied()),
    ("gpt2 gpt_bigcode", OLD.tied().positions(0).four_wide()),
    ("gpt_neox", OLD),
    (
        "gptj codegen",
        OLD.norms(1)
            .qkv_bias(false)
            .out_bias(OutBias::Never)
            .four_wide(),
    ),
    ("opt", OLD.tied().positions(2)),
    ("bloom", OLD.tied().four_wide()),
    (
        "falcon RefinedWeb RefinedWebModel",
        OLD_UNBIASED.tied().four_wide(),
    ),
    ("mpt", OLD_UNBIASED.tied().norm(NormKind::Rms)),
    ("phi", OLD.norms(1)),
    ("persimmon", OLD.qk_norm(QkNorm::Head)),
    ("rwkv", OLD_UNBIASED),
    ("zamba2", LLAMA.tied()),
    ("mamba2", LLAMA.norms(1)),
    ("mamba falcon_mamba", LLAMA.norms(1).tied()),
];

const GPT_OSS: Facts = LLAMA
    .qkv_bias(true)
    .out_bias(OutBias::Always)
    .mlp_bias(true)
    .sinks()
    .head_dim(HeadDim::Is(64))
    .windows(Windows::But(2))
    .expert_is_intermediate();

const GEMMA3_DEFAULTS: &[(&str, u64)] = &[
    ("vocab_size", 262_208),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("sliding_window", 4096),
    ("max_position_embeddings", 131_072),
];

const GEMMA3N_DEFAULTS: &[(&str, u64)] = &[
    ("vocab_size", 262_400),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 2),
    ("sliding_window", 512),
    ("max_position_embeddings", 32_768),
    ("hidden_size_per_layer_input", 256),
    ("vocab_size_per_layer_input", 262_144),
    ("num_kv_shared_layers", 15),
    ("laurel_rank", 64),
    ("altup_num_inputs", 4),
];

const GEMMA4_DEFAULTS: &[(&str, u64)] = &[
    ("vocab_size", 262_144),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("sliding_window", 512),
    ("max_position_embeddings", 131_072),
    ("hidden_size_per_layer_input", 256),
    ("vocab_size_per_layer_input", 262_144),
    ("num_kv_shared_layers", 0),
];

/// The facts of a family; none: it isn't known.
pub(super) fn facts(name: &str) -> Option<Facts> {
    TABLE
        .iter()
        .find(|(names, _)| names.split(' ').any(|own| own == name))
        .map(|(_, facts)| *facts)
}
