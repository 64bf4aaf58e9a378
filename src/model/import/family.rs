//! What a family's code takes for granted where its files don't say. Facts of the classes in
//! transformers 4.57–5.24 (`configuration_*.py`, `modeling_*.py`) and, where a family isn't there,
//! of vLLM 0.11's or its repository's own code.

use super::ImportError;
use super::fields::Fields;
use crate::model::{Gate, NormKind};

/// Norms on queries and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QkNorm {
    None,
    /// Of one head's width.
    Head,
    /// Over all heads.
    Whole,
}

/// What `attention_bias` says of the output projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutBias {
    /// It has one too.
    Follows,
    Never,
    Always,
}

/// Width of a head where the file doesn't say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadDim {
    /// hidden / heads.
    Divide,
    /// The class has a constant that files must state.
    State,
    Is(u64),
}

/// Which layers a stated window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// All.
    All,
    /// None, unless `use_sliding_window` is on: then those from `max_window_layers` on.
    Switched,
    /// All but every so manieth.
    But(u64),
}

/// Facts about a family.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// Norms of the model's width in a layer.
    pub(super) norms: u64,
    pub(super) norm: NormKind,
    /// The LM head is the embedding table.
    pub(super) tied: bool,
    /// Biases on Q, K and V.
    pub(super) qkv_bias: bool,
    pub(super) out_bias: OutBias,
    pub(super) qk_norm: QkNorm,
    pub(super) head_dim: HeadDim,
    /// No number of key-value heads means one per query head.
    pub(super) mha: bool,
    /// MLPs of three matrices.
    pub(super) gated: bool,
    pub(super) mlp_bias: bool,
    /// A correction bias on the router.
    pub(super) router_bias: bool,
    /// `intermediate_size` is an expert's width.
    pub(super) expert_is_intermediate: bool,
    pub(super) windows: Windows,
    pub(super) gate: Gate,
    pub(super) sinks: bool,
    /// A gate on the shared experts.
    pub(super) shared_gate: bool,
    /// A table of positions of so many rows more than the context.
    pub(super) positions: Option<u64>,
    /// The MLP is four times as wide as the model unless stated.
    pub(super) four_wide: bool,
    /// Class defaults of keys files leave out.
    pub(super) defaults: &'static [(&'static str, u64)],
}

/// A Llama-like model.
const LLAMA: Facts = Facts {
    norms: 2,
    norm: NormKind::Rms,
    tied: false,
    qkv_bias: false,
    out_bias: OutBias::Follows,
    qk_norm: QkNorm::None,
    head_dim: HeadDim::Divide,
    mha: false,
    gated: true,
    mlp_bias: false,
    router_bias: false,
    expert_is_intermediate: false,
    windows: Windows::All,
    gate: Gate::None,
    sinks: false,
    shared_gate: false,
    positions: None,
    four_wide: false,
    defaults: &[],
};

/// Models before Llama: LayerNorm, biases, MLPs of two matrices.
const OLD: Facts = Facts {
    norm: NormKind::LayerNorm,
    qkv_bias: true,
    out_bias: OutBias::Always,
    mha: true,
    gated: false,
    mlp_bias: true,
    ..LLAMA
};

const QWEN2: Facts = Facts {
    qkv_bias: true,
    out_bias: OutBias::Never,
    windows: Windows::Switched,
    shared_gate: true,
    ..LLAMA
};

const QWEN3: Facts = Facts {
    qk_norm: QkNorm::Head,
    head_dim: HeadDim::State,
    windows: Windows::Switched,
    ..LLAMA
};

/// Qwen3-Next and 3.5: gated attention between gated DeltaNet layers, a gated shared expert.
const QWEN_HYBRID: Facts = Facts {
    gate: Gate::Full,
    shared_gate: true,
    ..QWEN3
};

const GEMMA: Facts = Facts {
    tied: true,
    head_dim: HeadDim::Is(256),
    ..LLAMA
};

const GEMMA2: Facts = Facts {
    norms: 4,
    windows: Windows::But(2),
    ..GEMMA
};

const GEMMA3: Facts = Facts {
    qk_norm: QkNorm::Head,
    windows: Windows::But(6),
    defaults: &[
        ("vocab_size", 262_208),
        ("num_attention_heads", 8),
        ("num_key_value_heads", 4),
        ("sliding_window", 4096),
        ("max_position_embeddings", 131_072),
    ],
    ..GEMMA2
};

const GEMMA3N: &[(&str, u64)] = &[
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

const GEMMA4: &[(&str, u64)] = &[
    ("vocab_size", 262_144),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("sliding_window", 512),
    ("max_position_embeddings", 131_072),
    ("hidden_size_per_layer_input", 256),
    ("vocab_size_per_layer_input", 262_144),
    ("num_kv_shared_layers", 0),
];

const DEEPSEEK: Facts = Facts {
    router_bias: true,
    ..LLAMA
};

const GLM_MOE: Facts = Facts {
    router_bias: true,
    out_bias: OutBias::Never,
    head_dim: HeadDim::State,
    ..LLAMA
};

const LING: Facts = Facts {
    mha: true,
    router_bias: true,
    ..LLAMA
};

const FAMILIES: &[(&[&str], Facts)] = &[
    (
        &[
            "llama",
            "yi",
            "aquila",
            "internlm",
            "baichuan",
            "xverse",
            "ministral3",
            "seed_oss",
            "deepseek",
            "minicpm",
        ],
        Facts { mha: true, ..LLAMA },
    ),
    (
        &[
            "mistral",
            "mistral3",
            "ministral",
            "internlm2",
            "internlm3",
            "nemotron-nas",
            "granite",
            "arcee",
            "smollm3",
            "helium",
            "exaone",
            "orion",
            "step3",
            "step3_text",
            "bamba",
            "falcon_h1",
            "granitemoehybrid",
            "zamba2",
            "zamba",
            "lfm2_vl",
        ],
        LLAMA,
    ),
    (
        &[
            "mixtral",
            "granitemoe",
            "granitemoeshared",
            "minimax_text_01",
            "minimax",
            "minimax_m1",
            "arctic",
            "jamba",
        ],
        Facts {
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["grok-1", "grok"],
        Facts {
            norms: 4,
            expert_is_intermediate: true,
            gated: true,
            ..LLAMA
        },
    ),
    (&["phi3"], Facts { mha: true, ..LLAMA }),
    (&["qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl"], QWEN2),
    (
        &["qwen"],
        Facts {
            mha: true,
            qkv_bias: true,
            out_bias: OutBias::Never,
            ..LLAMA
        },
    ),
    (
        &[
            "qwen3",
            "qwen3_moe",
            "qwen3_vl",
            "qwen3_vl_moe",
            "qwen3_omni_moe",
        ],
        QWEN3,
    ),
    (&["qwen3_next", "qwen3_5", "qwen3_5_moe"], QWEN_HYBRID),
    (&["gemma"], GEMMA),
    (
        &["gemma2"],
        Facts {
            defaults: &[("sliding_window", 4096)],
            ..GEMMA2
        },
    ),
    (&["gemma3"], GEMMA3),
    (
        &["gemma3n"],
        Facts {
            windows: Windows::But(5),
            defaults: GEMMA3N,
            ..GEMMA3
        },
    ),
    (
        &["gemma4"],
        Facts {
            defaults: GEMMA4,
            ..GEMMA3
        },
    ),
    (
        &["recurrent_gemma"],
        Facts {
            out_bias: OutBias::Always,
            mlp_bias: true,
            ..GEMMA
        },
    ),
    (
        &["cohere"],
        Facts {
            norms: 1,
            tied: true,
            mha: true,
            ..LLAMA
        },
    ),
    (
        &["cohere2"],
        Facts {
            norms: 1,
            tied: true,
            windows: Windows::But(4),
            ..LLAMA
        },
    ),
    (
        &["cohere2_moe"],
        Facts {
            norms: 1,
            tied: true,
            windows: Windows::But(4),
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["olmo"],
        Facts {
            norm: NormKind::Bare,
            mha: true,
            ..LLAMA
        },
    ),
    (
        &["olmo2"],
        Facts {
            mha: true,
            qk_norm: QkNorm::Whole,
            ..LLAMA
        },
    ),
    (
        &["olmoe"],
        Facts {
            mha: true,
            qk_norm: QkNorm::Whole,
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["olmo3"],
        Facts {
            mha: true,
            qk_norm: QkNorm::Whole,
            windows: Windows::But(4),
            ..LLAMA
        },
    ),
    (
        &["flex_olmo"],
        Facts {
            qk_norm: QkNorm::Whole,
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (&["deepseek_v2", "kimi_vl"], LLAMA),
    (
        &[
            "deepseek_v3",
            "deepseek_v32",
            "kimi_k2",
            "kimi_k25",
            "glm_moe_dsa",
            "glm4_moe_lite",
            "mistral4",
            "kimi_linear",
            "kimi_k3",
            "deepseek_v4",
            "longcat_flash",
            "pangu_ultra_moe",
            "bailing_hybrid",
            "mimo_v2_flash",
            "mimo_v2",
            "nemotron_h",
            "laguna",
        ],
        DEEPSEEK,
    ),
    (
        &["laguna"],
        Facts {
            qk_norm: QkNorm::Head,
            gate: Gate::Head,
            ..DEEPSEEK
        },
    ),
    (&["glm4_moe", "glm4v_moe"], GLM_MOE),
    (
        &["glm", "chatglm"],
        Facts {
            out_bias: OutBias::Never,
            qkv_bias: true,
            ..LLAMA
        },
    ),
    (
        &["glm4", "glm4v"],
        Facts {
            norms: 4,
            out_bias: OutBias::Never,
            ..LLAMA
        },
    ),
    (
        &["solar_open"],
        Facts {
            router_bias: true,
            head_dim: HeadDim::State,
            ..LLAMA
        },
    ),
    (
        &["dots1"],
        Facts {
            qk_norm: QkNorm::Head,
            ..DEEPSEEK
        },
    ),
    (
        &["ernie4_5"],
        Facts {
            tied: true,
            ..LLAMA
        },
    ),
    (
        &["ernie4_5_moe"],
        Facts {
            tied: true,
            router_bias: true,
            ..LLAMA
        },
    ),
    (
        &["hunyuan_v1_moe", "hunyuan", "hunyuan_v1_dense"],
        Facts {
            qk_norm: QkNorm::Head,
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["hy_v3"],
        Facts {
            qk_norm: QkNorm::Head,
            ..DEEPSEEK
        },
    ),
    (
        &["minimax_m2"],
        Facts {
            qk_norm: QkNorm::Whole,
            head_dim: HeadDim::State,
            router_bias: true,
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["minimax_m3", "minimax_m3_vl"],
        Facts {
            qk_norm: QkNorm::Head,
            head_dim: HeadDim::State,
            router_bias: true,
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["llama4"],
        Facts {
            windows: Windows::But(4),
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["gpt_oss"],
        Facts {
            qkv_bias: true,
            out_bias: OutBias::Follows,
            mlp_bias: true,
            sinks: true,
            head_dim: HeadDim::Is(64),
            windows: Windows::But(2),
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["step3p5", "step3p7"],
        Facts {
            qk_norm: QkNorm::Head,
            head_dim: HeadDim::State,
            ..DEEPSEEK
        },
    ),
    (
        &["afmoe"],
        Facts {
            norms: 4,
            qk_norm: QkNorm::Head,
            gate: Gate::Full,
            windows: Windows::But(4),
            ..DEEPSEEK
        },
    ),
    (
        &["exaone4"],
        Facts {
            qk_norm: QkNorm::Head,
            windows: Windows::But(4),
            ..LLAMA
        },
    ),
    (
        &["exaone_moe"],
        Facts {
            qk_norm: QkNorm::Head,
            windows: Windows::But(4),
            ..DEEPSEEK
        },
    ),
    (
        &["apertus"],
        Facts {
            qk_norm: QkNorm::Head,
            gated: false,
            ..LLAMA
        },
    ),
    (
        &["lfm2", "lfm2_moe"],
        Facts {
            tied: true,
            qk_norm: QkNorm::Head,
            ..LLAMA
        },
    ),
    (
        &[
            "bailing_moe",
            "bailing_moe_v2",
            "bailing_moe_linear",
            "bailing_moe_linear_v2",
        ],
        LING,
    ),
    (
        &["phimoe"],
        Facts {
            norm: NormKind::LayerNorm,
            expert_is_intermediate: true,
            ..LLAMA
        },
    ),
    (
        &["dbrx"],
        Facts {
            norm: NormKind::Rms,
            ..LLAMA
        },
    ),
    (
        &["stablelm"],
        Facts {
            norm: NormKind::LayerNorm,
            out_bias: OutBias::Never,
            mha: true,
            ..LLAMA
        },
    ),
    (
        &["nemotron"],
        Facts {
            norm: NormKind::LayerNorm,
            gated: false,
            mha: true,
            ..LLAMA
        },
    ),
    (&["starcoder2"], Facts { tied: true, ..OLD }),
    (
        &["gpt2", "gpt_bigcode"],
        Facts {
            tied: true,
            positions: Some(0),
            four_wide: true,
            ..OLD
        },
    ),
    (&["gpt_neox"], OLD),
    (
        &["gptj", "codegen"],
        Facts {
            norms: 1,
            qkv_bias: false,
            out_bias: OutBias::Never,
            four_wide: true,
            ..OLD
        },
    ),
    (
        &["opt"],
        Facts {
            tied: true,
            positions: Some(2),
            ..OLD
        },
    ),
    (
        &["bloom"],
        Facts {
            tied: true,
            four_wide: true,
            ..OLD
        },
    ),
    (
        &["falcon", "RefinedWeb", "RefinedWebModel"],
        Facts {
            tied: true,
            qkv_bias: false,
            out_bias: OutBias::Follows,
            mlp_bias: false,
            four_wide: true,
            ..OLD
        },
    ),
    (
        &["mpt"],
        Facts {
            tied: true,
            norm: NormKind::Rms,
            qkv_bias: false,
            out_bias: OutBias::Never,
            mlp_bias: false,
            ..OLD
        },
    ),
    (&["phi"], Facts { norms: 1, ..OLD }),
    (
        &["persimmon"],
        Facts {
            qk_norm: QkNorm::Head,
            ..OLD
        },
    ),
    (
        &["mamba", "falcon_mamba", "mamba2"],
        Facts { norms: 1, ..LLAMA },
    ),
];

/// The family of a file.
pub(super) struct Family {
    /// `model_type`, without the `_text` of a nested one; empty where the file has none.
    pub(super) name: String,
    pub(super) facts: Facts,
    /// It is in the table here.
    pub(super) known: bool,
    /// The LM head is the embedding table.
    pub(super) tied: bool,
}

impl Family {
    pub(super) fn read(
        top: &Fields<'_>,
        fields: &Fields<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Self, ImportError> {
        let outer = top.text("model_type")?.unwrap_or_default();
        let inner = fields.text("model_type")?.unwrap_or(outer);
        let name: String = inner.chars().take(80).collect();
        let name = name.strip_suffix("_text").unwrap_or(&name).to_owned();
        let known = FAMILIES
            .iter()
            .rev()
            .find(|(names, _)| names.contains(&name.as_str()));
        let facts = match known {
            Some((_, facts)) => *facts,
            None => {
                notes.push(if name.is_empty() {
                    "model_type is missing: read as a Llama-like model by its keys".to_owned()
                } else {
                    format!(
                        "model_type “{name}” is not known: read as a Llama-like model by its keys"
                    )
                });
                LLAMA
            }
        };
        let tied = tied(top, fields, &facts, notes)?;
        Ok(Self {
            name,
            facts,
            known: known.is_some(),
            tied,
        })
    }

    pub(super) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    /// A class default of a key, noted where it is used.
    pub(super) fn default_of(&self, key: &str, notes: &mut Vec<String>) -> Option<u64> {
        let (_, value) = self.facts.defaults.iter().find(|(own, _)| *own == key)?;
        notes.push(format!(
            "{key} is missing: {value}, the default of {}'s class",
            self.name
        ));
        Some(*value)
    }
}

/// Whether the LM head is the embedding table.
fn tied(
    top: &Fields<'_>,
    fields: &Fields<'_>,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<bool, ImportError> {
    let own = fields.flag("tie_word_embeddings")?;
    let outer = top.flag("tie_word_embeddings")?;
    if let (Some(own), Some(outer)) = (own, outer)
        && own != outer
    {
        notes.push(format!(
            "tie_word_embeddings is {outer} at the top and {own} in {}: the latter is taken",
            fields.place()
        ));
    }
    let mut stated = own.or(outer);
    for key in ["tie_embedding", "use_embedding_sharing"] {
        stated = stated.or(fields.flag(key)?);
    }
    Ok(stated.unwrap_or_else(|| {
        notes.push(format!(
            "tie_word_embeddings is missing: the LM head is taken as {}",
            if facts.tied {
                "the embedding table, the family's default"
            } else {
                "a matrix of its own"
            }
        ));
        facts.tied
    }))
}
