//! Towers for other senses: vision and audio encoders beside the language model.
//!
//! Their parameters are estimated from the sections that describe them, and reported beside the
//! model, never in its total. An encoder layer of width `h` and inner width `i` has
//! `2·h·a + 2·h·kv` (Q and O, K and V; `a = heads·head_dim`, `h` where the file doesn't say
//! otherwise), `2·h·i` (`3·h·i` with a gate) and `9·h + i` biases and norms; before it stand the
//! patches, `channels·frames·patch²·h`, and the positions, `n·h`; behind it a projector to the
//! language model's width `out`: two matrices `w·w + w·out` over merged patches of width
//! `w = h·merge²`, or one `h·out`.

use super::ImportError;
use super::fields::{Fields, whole};
use crate::model::check::MOST_WIDE;
use crate::model::{Extra, Model};
use serde_json::Value;

/// Sections that describe a tower, and what it is.
const SECTIONS: [(&str, &str); 9] = [
    ("vision_config", "vision tower"),
    ("vision_tower_config", "vision tower"),
    ("vision_encoder", "vision tower"),
    ("vision_tower", "vision tower"),
    ("vit_config", "vision tower"),
    ("visual", "vision tower"),
    ("audio_config", "audio encoder"),
    ("sound_config", "audio encoder"),
    ("audio_encoder", "audio encoder"),
];

/// Most layers and widths of a tower.
const MOST_DEPTH: u64 = 1000;

/// Estimates the towers a file describes and puts them beside the model.
pub(super) fn read(
    model: &mut Model,
    top: &Fields<'_>,
    notes: &mut Vec<String>,
) -> Result<(), ImportError> {
    for (key, what) in SECTIONS {
        // A name in place of a description (LLaVA's `mm_vision_tower`) says nothing countable.
        if !matches!(top.value(key), Some(Value::Object(_))) {
            continue;
        }
        let Some(section) = top.section(key)? else {
            continue;
        };
        match parameters(&section, model.hidden)? {
            Some(parameters) => model.extras.push(Extra {
                name: format!("{what} (estimate)"),
                parameters,
                served: false,
            }),
            None => notes.push(format!(
                "{key} doesn't say how many layers of which width it has: the {what} is not counted"
            )),
        }
    }
    Ok(())
}

/// The first of several words for one number.
fn first(section: &Fields<'_>, keys: &[&str], most: u64) -> Result<Option<u64>, ImportError> {
    for key in keys {
        // A list per stage, or a text, is not the number asked for.
        if let Some(value @ Value::Number(_)) = section.value(key) {
            return whole(value, &section.path(key), 0, most).map(Some);
        }
    }
    Ok(None)
}

/// Llama 4 states the share of patches that is left along a side.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be small and positive"
)]
fn unshuffled(section: &Fields<'_>) -> u64 {
    match section.value("pixel_shuffle_ratio").and_then(Value::as_f64) {
        Some(ratio) if (0.01..=1.0).contains(&ratio) => (1.0 / ratio).round() as u64,
        _ => 1,
    }
}

fn parameters(section: &Fields<'_>, out: u64) -> Result<Option<u64>, ImportError> {
    let get = |keys: &[&str]| first(section, keys, MOST_WIDE);
    let depth = first(
        section,
        &[
            "num_hidden_layers",
            "depth",
            "vt_num_hidden_layers",
            "layers",
            "encoder_layers",
            "num_layers",
        ],
        MOST_DEPTH,
    )?;
    let width = get(&[
        "vt_hidden_size",
        "hidden_size",
        "embed_dim",
        "width",
        "d_model",
        "n_embd",
    ])?;
    let (Some(depth), Some(width)) = (depth, width) else {
        return Ok(None);
    };
    // Qwen2-VL states a ratio.
    let inner = match get(&[
        "vt_intermediate_size",
        "intermediate_size",
        "encoder_ffn_dim",
        "ffn_dim",
    ])? {
        Some(inner) => inner,
        None => width.saturating_mul(get(&["mlp_ratio"])?.unwrap_or(4)),
    };
    let heads = get(&[
        "num_attention_heads",
        "num_heads",
        "heads",
        "vt_num_attention_heads",
    ])?;
    let attended = match (get(&["qkv_hidden_size"])?, heads, get(&["head_dim"])?) {
        (Some(width), _, _) => width,
        (None, Some(heads), Some(dim)) => heads.saturating_mul(dim),
        _ => width,
    };
    let kv = match (get(&["num_key_value_heads"])?, heads) {
        (Some(kv), Some(heads)) if heads > 0 => (attended / heads).saturating_mul(kv),
        _ => attended,
    };
    let gated = matches!(section.text("hidden_act")?, Some("silu" | "swiglu"));
    let mlp = if gated { 3 } else { 2 };
    let product = |factors: &[u64]| factors.iter().fold(1_u64, |all, f| all.saturating_mul(*f));
    let layer = [
        product(&[2, width, attended]),
        product(&[2, width, kv]),
        product(&[mlp, width, inner]),
        product(&[9, width]),
        inner,
    ];
    let layer = layer
        .iter()
        .fold(0_u64, |sum, part| sum.saturating_add(*part));

    let patch = get(&["patch_size", "spatial_patch_size"])?.unwrap_or(0);
    let channels = get(&["num_channels", "in_channels", "in_chans", "num_mel_bins"])?.unwrap_or(3);
    let frames = get(&["temporal_patch_size"])?.unwrap_or(1);
    let patches = product(&[channels, frames, patch, patch, width]);

    let learned = section.has("num_position_embeddings")
        || section.has("num_patches")
        || section.has("init_pos_emb_height")
        // Rotary positions have no table.
        || (section.has("image_size")
            && !section.has("rope_theta")
            && section.text("position_embedding_type")? != Some("rope"));
    let positions = match get(&["num_position_embeddings", "num_patches"])? {
        Some(count) => count,
        None => match (
            get(&["init_pos_emb_height"])?,
            get(&["init_pos_emb_width"])?,
        ) {
            (Some(height), Some(width)) => height.saturating_mul(width),
            _ => match get(&["image_size"])? {
                Some(side) if learned && patch > 0 => {
                    let across = side / patch;
                    across.saturating_mul(across)
                }
                _ => 0,
            },
        },
    };
    let merge = match section.value("merge_kernel_size").and_then(Value::as_array) {
        Some(sides) => sides
            .iter()
            .filter_map(Value::as_u64)
            .fold(1_u64, u64::saturating_mul)
            .min(MOST_WIDE),
        None => {
            let side = match get(&["spatial_merge_size"])? {
                Some(side) => side,
                None => unshuffled(section),
            };
            side.saturating_mul(side)
        }
    };
    let wide = width.saturating_mul(merge);
    let projector = if merge > 1 {
        product(&[wide, wide.saturating_add(out)])
    } else {
        product(&[width, out])
    };
    Ok(Some(
        [
            product(&[depth, layer]),
            patches,
            product(&[positions, width]),
            projector,
        ]
        .iter()
        .fold(0_u64, |sum, part| sum.saturating_add(*part))
        .min(1_000_000_000_000_000),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ModelId;
    use serde_json::{Map, json};

    fn read_from(config: Value, hidden: u64) -> (Vec<Extra>, Vec<String>) {
        let Value::Object(config) = config else {
            panic!("an object")
        };
        let config: Map<String, Value> = config;
        let id = ModelId::new("model").expect("an id");
        let mut model = Model::of_layers(id, hidden, 1000, Vec::new());
        let mut notes = Vec::new();
        read(&mut model, &Fields::new(&config, ""), &mut notes).expect("readable");
        (model.extras, notes)
    }

    /// Published: Kimi-K3's tower and projector have 447,358,976 parameters; SigLIP of Gemma 3
    /// 417 M and its projector 6; Pixtral's encoder in Mistral Small 3.2 0.4 B; Llama 4's tower
    /// and adapter 0.87 B; MoonViT of Kimi-K2.5 0.4 B and its projector.
    #[test]
    fn known_towers_are_estimated() {
        let cases = [
            (
                json!({"vt_hidden_size": 1024, "vt_intermediate_size": 4096, "qkv_hidden_size": 1536,
                    "vt_num_attention_heads": 12, "vt_num_hidden_layers": 27, "patch_size": 14,
                    "merge_kernel_size": [2, 2], "init_pos_emb_height": 64, "init_pos_emb_width": 64}),
                7168,
                447.4,
                0.002,
            ),
            (
                json!({"hidden_size": 1152, "intermediate_size": 4304, "num_attention_heads": 16,
                    "num_hidden_layers": 27, "image_size": 896, "patch_size": 14,
                    "model_type": "siglip_vision_model"}),
                5376,
                423.1,
                0.005,
            ),
            (
                json!({"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
                    "head_dim": 64, "num_hidden_layers": 24, "hidden_act": "silu", "patch_size": 14,
                    "image_size": 1540, "rope_theta": 10000.0}),
                5120,
                403.5,
                0.02,
            ),
            (
                json!({"hidden_size": 1408, "intermediate_size": 5632, "num_attention_heads": 16,
                    "num_hidden_layers": 34, "image_size": 336, "patch_size": 14,
                    "pixel_shuffle_ratio": 0.5, "rope_theta": 10000, "hidden_act": "gelu"}),
                5120,
                870.0,
                0.01,
            ),
            (
                json!({"vt_hidden_size": 1152, "vt_intermediate_size": 4304,
                    "vt_num_attention_heads": 16, "vt_num_hidden_layers": 27, "patch_size": 14,
                    "merge_kernel_size": [2, 2], "init_pos_emb_height": 64, "init_pos_emb_width": 64}),
                7168,
                470.0,
                0.01,
            ),
        ];
        for (section, hidden, millions, share) in cases {
            let (extras, notes) = read_from(json!({"vision_config": section.clone()}), hidden);
            assert!(notes.is_empty(), "{notes:?}");
            assert_eq!(extras.len(), 1);
            assert!(!extras[0].served);
            #[expect(clippy::cast_precision_loss, reason = "a test")]
            let found = extras[0].parameters as f64 / 1e6;
            assert!((found / millions - 1.0).abs() < share, "{found}: {section}");
        }
    }

    #[test]
    fn what_a_section_does_not_say_is_said() {
        let (extras, notes) = read_from(
            json!({"vision_config": {"model_type": "new"}, "audio_config": {},
                "vision_tower": "openai/clip"}),
            4096,
        );
        assert!(extras.is_empty());
        assert_eq!(notes.len(), 2, "{notes:?}");
    }

    #[test]
    fn impossible_numbers_are_refused_by_their_key() {
        let config = json!({"vision_config": {"depth": 1_u64 << 40, "hidden_size": 1}});
        let Value::Object(config) = config else {
            panic!("an object")
        };
        let id = ModelId::new("model").expect("an id");
        let mut model = Model::of_layers(id, 64, 1000, Vec::new());
        let error = read(&mut model, &Fields::new(&config, ""), &mut Vec::new())
            .expect_err("refused")
            .to_string();
        assert!(error.contains("vision_config.depth"), "{error}");
    }
}
