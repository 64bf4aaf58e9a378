//! Keys that can't be missing because others are there: a table.
//!
//! A file that names the offset of its attention layers but not their period, or how many experts a
//! token visits but not how many there are, has lost a key. Read without it the model would be
//! another one, often by factors, and every number would look right.

use super::ImportError;
use super::context::Context;
use super::keys;
use super::refuse::active;

/// Where any of `when` is there (always, if there is none), one of `needs` must be.
struct Rule {
    /// Families it is for; none: all.
    families: &'static [&'static str],
    /// Families it is not for.
    but: &'static [&'static str],
    when: &'static [&'static str],
    needs: &'static [&'static str],
    why: &'static str,
}

const ANY: Rule = Rule {
    families: &[],
    but: &[],
    when: &[],
    needs: &[],
    why: "",
};

/// Of any family: these keys only make sense beside those.
const fn beside(
    when: &'static [&'static str],
    needs: &'static [&'static str],
    why: &'static str,
) -> Rule {
    Rule {
        when,
        needs,
        why,
        ..ANY
    }
}

/// Of some families: files of theirs state it.
const fn stated(
    families: &'static [&'static str],
    needs: &'static [&'static str],
    why: &'static str,
) -> Rule {
    Rule {
        families,
        needs,
        why,
        ..ANY
    }
}

/// Of the models of some families that have experts.
const fn of_moe(
    families: &'static [&'static str],
    needs: &'static [&'static str],
    why: &'static str,
) -> Rule {
    Rule {
        when: keys::EXPERTS,
        ..stated(families, needs, why)
    }
}

const EXPERTS: &str =
    "other keys say how many experts a token visits: how many there are must be stated";
const KINDS: &str =
    "other keys describe layers of another kind: which layers they are must be stated";
const SIZES: &str = "the size of its linear-attention layers depends on it";
const DENSE: &str = "which layers are dense depends on it";
const SHARED: &str = "the size of the shared experts depends on it";

/// Sizes of gated DeltaNet layers.
const DELTA: &[&str] = &[
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
];

const RULES: &[Rule] = &[
    beside(keys::TOP_K, keys::EXPERTS, EXPERTS),
    Rule {
        but: &[
            "mamba",
            "mamba2",
            "falcon_mamba",
            "falcon_h1",
            "zamba",
            "zamba2",
        ],
        ..beside(
            &[
                "mamba_d_state",
                "mamba_n_heads",
                "mamba_num_heads",
                "ssm_state_size",
            ],
            &[
                "hybrid_override_pattern",
                "layers_block_type",
                "layer_types",
                "attn_layer_indices",
                "attn_layer_period",
                "block_configs",
                "per_layer_config",
            ],
            KINDS,
        )
    },
    beside(&["attn_layer_offset"], &["attn_layer_period"], KINDS),
    beside(&["expert_layer_offset"], &["expert_layer_period"], KINDS),
    beside(DELTA, &["layer_types", "full_attention_interval"], KINDS),
    beside(DELTA, &["linear_num_key_heads"], SIZES),
    beside(DELTA, &["linear_num_value_heads"], SIZES),
    beside(DELTA, &["linear_key_head_dim"], SIZES),
    beside(DELTA, &["linear_value_head_dim"], SIZES),
    beside(
        &[
            "swa_num_attention_heads",
            "swa_num_key_value_heads",
            "swa_head_dim",
        ],
        &["hybrid_layer_pattern", "layer_types"],
        KINDS,
    ),
    beside(&["attention_other_setting"], &["layer_types"], KINDS),
    beside(&["num_attention_heads_per_layer"], &["layer_types"], KINDS),
    beside(
        &["interleave_moe_layer_step"],
        &["intermediate_size_mlp"],
        "the width of its dense layers depends on it",
    ),
    stated(
        &["kimi_linear", "kimi_k3"],
        &["linear_attn_config", "layer_types"],
        KINDS,
    ),
    stated(
        &["minimax_text_01", "minimax_m1", "minimax"],
        &["attn_type_list", "layer_types"],
        KINDS,
    ),
    stated(&["laguna", "step3p5", "step3p7"], &["layer_types"], KINDS),
    stated(
        &["mimo_v2_flash", "mimo_v2"],
        &["swa_num_key_value_heads"],
        "the KV cache of its window layers depends on it",
    ),
    stated(
        &["gemma4"],
        &["global_head_dim", "per_layer_config"],
        "the heads of its global layers have a width of their own",
    ),
    stated(
        &["nemotron_h"],
        &["mlp_hidden_act"],
        "whether its MLPs have two or three matrices depends on it",
    ),
    stated(
        &["nemotron_h", "mamba2"],
        &["n_groups", "mamba_n_groups"],
        "the size of its Mamba layers depends on it",
    ),
    of_moe(
        &["qwen2_moe", "qwen3_next", "qwen3_5_moe", "laguna"],
        &["shared_expert_intermediate_size"],
        SHARED,
    ),
    of_moe(
        &[
            "deepseek_v2",
            "deepseek_v3",
            "deepseek_v32",
            "deepseek_v4",
            "kimi_k2",
            "kimi_k25",
            "kimi_linear",
            "kimi_k3",
            "glm4_moe",
            "glm4_moe_lite",
            "glm_moe_dsa",
            "solar_open",
            "dots1",
            "mistral4",
            "afmoe",
            "bailing_moe_v2",
            "bailing_moe_linear",
            "bailing_hybrid",
            "pangu_ultra_moe",
        ],
        &["n_shared_experts", "num_shared_experts"],
        SHARED,
    ),
    of_moe(
        &["hunyuan", "hunyuan_v1_moe"],
        &["num_shared_expert"],
        SHARED,
    ),
    of_moe(
        &["step3", "step3p5", "step3p7"],
        &["share_expert_dim"],
        SHARED,
    ),
    of_moe(&["ernie4_5_moe"], &["moe_num_shared_experts"], SHARED),
    of_moe(
        &["granitemoehybrid", "minimax_m3", "minimax_m3_vl"],
        &["shared_intermediate_size"],
        SHARED,
    ),
    Rule {
        families: &["nemotron_h"],
        ..beside(
            keys::EXPERTS,
            &["moe_shared_expert_intermediate_size"],
            SHARED,
        )
    },
    of_moe(
        &[
            "deepseek_v3",
            "deepseek_v32",
            "kimi_k2",
            "kimi_k25",
            "kimi_linear",
            "kimi_k3",
            "glm4_moe",
            "glm4_moe_lite",
            "glm_moe_dsa",
            "dots1",
            "bailing_moe_v2",
            "bailing_moe_linear",
            "bailing_hybrid",
        ],
        &["first_k_dense_replace", "mlp_layer_types", "moe_layer_freq"],
        DENSE,
    ),
    of_moe(
        &[
            "mimo_v2_flash",
            "mimo_v2",
            "minimax_m3",
            "minimax_m3_vl",
            "laguna",
        ],
        &["moe_layer_freq", "mlp_layer_types"],
        DENSE,
    ),
    of_moe(&["ernie4_5_moe"], &["moe_layer_start_index"], DENSE),
    stated(
        &["minimax_m3", "minimax_m3_vl"],
        keys::DENSE_INTERMEDIATE,
        "the width of its dense layers depends on it",
    ),
    of_moe(
        &["step3", "step3p5", "step3p7"],
        &[
            "moe_layers_enum",
            "mlp_layer_types",
            "first_k_dense_replace",
        ],
        DENSE,
    ),
    of_moe(
        &["lfm2_moe", "afmoe", "pangu_ultra_moe"],
        &[
            "num_dense_layers",
            "mlp_layer_types",
            "first_k_dense_replace",
        ],
        DENSE,
    ),
    of_moe(
        &["llama4"],
        &["interleave_moe_layer_step", "moe_layers"],
        DENSE,
    ),
    stated(
        &["minimax_m3", "minimax_m3_vl"],
        &["sparse_attention_config", "layer_types"],
        KINDS,
    ),
    stated(
        &["step3"],
        &["share_q_dim"],
        "its queries have a rank of their own",
    ),
    stated(
        &["mimo_v2_flash", "mimo_v2"],
        &["v_head_dim"],
        "its values have another width than its keys",
    ),
    stated(
        &["bamba", "granitemoehybrid", "falcon_h1", "nemotron_h"],
        &["mamba_n_heads", "mamba_num_heads"],
        "the size of its Mamba layers depends on it",
    ),
    stated(
        &["kimi_k3"],
        &["routed_expert_hidden_size"],
        "its experts work in a space of their own width",
    ),
    stated(
        &["bailing_moe_linear"],
        &["layer_group_size", "layer_types"],
        KINDS,
    ),
    stated(&["recurrent_gemma"], &["block_types"], KINDS),
    stated(
        &["recurrent_gemma"],
        keys::WINDOW,
        "the cache of its attention layers depends on it",
    ),
    stated(
        &["longcat_flash"],
        &["zero_expert_num"],
        "how many of the chosen experts do anything depends on it",
    ),
    stated(
        &["zamba2"],
        &["num_mem_blocks"],
        "its shared blocks depend on it",
    ),
    stated(
        &["deepseek_v4"],
        &["hc_mult"],
        "the width of its residual stream depends on it",
    ),
];

/// Refuses a file that lacks a key its others call for.
pub(super) fn check(context: &Context<'_, '_>) -> Result<(), ImportError> {
    let objects = [context.fields, context.attention(), context.ffn()];
    let there = |key: &str| objects.iter().any(|fields| fields.has(key));
    let says = |key: &&str| objects.iter().any(|fields| fields.holds(key, active));
    let family = context.family.name.as_str();
    for rule in RULES {
        let meant = (rule.families.is_empty() || rule.families.contains(&family))
            && !rule.but.contains(&family)
            && (rule.when.is_empty() || rule.when.iter().any(says));
        if meant
            && !rule.needs.iter().any(|key| there(key))
            && let Some(key) = rule.needs.first()
        {
            return Err(context.fields.missing(key, rule.why));
        }
    }
    Ok(())
}
