//! Published models, each with the keys that decide its shape (`models.json`), and what their
//! publishers say of them.
//!
//! `total` is the number of parameters in a model's safetensors index, correction biases of routers
//! included and MTP layers and towers left out; it is what transformers 5.24 builds for the file,
//! or the count its repository shows.

use super::*;
use crate::catalog::Dtype;
use crate::model::{Parameters, kv_bytes_per_token, parameters};

/// A published model.
pub(super) struct Published {
    pub(super) name: String,
    total: Option<u64>,
    pub(super) imported: Imported,
}

/// All of them. In `models.json` a part of a list that repeats stands as the part and its length.
pub(super) fn all() -> Vec<Published> {
    let text = include_str!("models.json");
    let entries: Vec<Value> = serde_json::from_str(text).expect("JSON");
    entries
        .into_iter()
        .map(|entry| {
            let name = entry["name"].as_str().expect("a name").to_owned();
            let config = expanded(entry["config"].clone());
            let imported = import_config(&config.to_string(), &name)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            Published {
                name,
                total: entry["total"].as_u64(),
                imported,
            }
        })
        .collect()
}

/// One of them.
pub(super) fn published(name: &str) -> Imported {
    let found = all().into_iter().find(|model| model.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).imported
}

/// The keys of all of them.
pub(super) fn configs() -> Vec<Value> {
    let entries: Vec<Value> = serde_json::from_str(include_str!("models.json")).expect("JSON");
    entries
        .into_iter()
        .map(|entry| expanded(entry["config"].clone()))
        .collect()
}

fn expanded(value: Value) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.into_iter().flat_map(repeated).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (key, expanded(value)))
                .collect(),
        ),
        other => other,
    }
}

fn repeated(item: Value) -> Vec<Value> {
    match (item["repeat"].as_array(), item["to"].as_u64()) {
        (Some(part), Some(length)) => {
            let length = usize::try_from(length).expect("a length");
            part.iter().cycle().take(length).cloned().collect()
        }
        _ => vec![expanded(item)],
    }
}

fn billions(count: u64) -> f64 {
    count as f64 / 1e9
}

#[test]
fn totals_are_those_of_the_checkpoints() {
    let mut exact = 0;
    for model in all() {
        let Some(total) = model.total else { continue };
        assert_eq!(
            parameters(&model.imported.model).total(),
            total,
            "{}",
            model.name
        );
        exact += 1;
    }
    assert!(exact > 110, "{exact}");
}

/// Where no exact count is at hand: the size in a model's name or card, 10⁹.
#[test]
fn sizes_are_those_of_the_cards() {
    let rows = [
        ("Kimi-K3", 2780.0, 0.005),
        ("LongCat-Flash-Chat", 560.0, 0.002),
        ("Step-3.5-Flash", 196.8, 0.001),
        ("step3", 316.3, 0.001),
        ("MiMo-V2.5-Pro", 1020.0, 0.002),
        ("grok-1", 314.0, 0.006),
        ("grok-2", 270.0, 0.002),
        ("snowflake-arctic", 480.0, 0.004),
        ("Nemotron-4-340B", 341.0, 0.001),
        ("Minitron-4B", 4.19, 0.001),
        ("Ring-linear-2.0-mini", 16.4, 0.003),
        ("Ling-mini-2.0", 16.26, 0.001),
        ("pangu-ultra-moe", 718.0, 0.002),
        ("Hunyuan-Large", 389.0, 0.001),
        ("mistral4", 119.0, 0.001),
        ("rwkv-4-7b", 7.39, 0.001),
        ("bailing_hybrid", 124.0, 0.003),
    ];
    for (name, size, tolerance) in rows {
        let total = billions(parameters(&published(name).model).total());
        assert!((total / size - 1.0).abs() <= tolerance, "{name}: {total}");
    }
}

/// Counts that differ from what a tool shows, and by what.
#[test]
fn known_differences_have_their_reasons() {
    let total = |name: &str| parameters(&published(name).model).total();
    // Its routers' correction biases are no parameters of the tool's.
    assert_eq!(total("MiniMax-M3"), 426_174_572_928);
    // The checkpoint holds the table twice although head and embedding are tied.
    assert_eq!(total("falcon-7b") + 65_024 * 4544, 7_217_189_760);
    // The checkpoint has the layer that predicts further tokens.
    let next = parameters(&published("Qwen3-Next-80B-A3B-Instruct").model);
    let mtp = json!({"model_type": "qwen3_next", "num_nextn_predict_layers": 1});
    assert_eq!(next.mtp, 0);
    let mut config = config_of("Qwen3-Next-80B-A3B-Instruct");
    merge(&mut config, mtp);
    let with = parameters(&import(&config.to_string()).model);
    assert_eq!(with.total(), next.total());
    assert_eq!(with.total() + with.mtp, 81_324_862_720);
    // Transformers' count is of a file that leaves out how many heads its Mamba layers have.
    assert_eq!(total("Zamba2-7B"), 7_326_532_760 + 81 * 104 * (3584 + 3));
}

/// The keys of one of them.
pub(super) fn config_of(name: &str) -> Value {
    let entries: Vec<Value> = serde_json::from_str(include_str!("models.json")).expect("JSON");
    let entry = entries.into_iter().find(|entry| entry["name"] == name);
    expanded(entry.unwrap_or_else(|| panic!("no {name}"))["config"].clone())
}

#[test]
fn nothing_in_them_is_left_unread() {
    for model in all() {
        assert_eq!(
            model.imported.unused_keys,
            Vec::<String>::new(),
            "{}",
            model.name
        );
        let unknown =
            |note: &&String| note.contains("not understood") || note.contains("not known");
        let said: Vec<&String> = model.imported.assumptions.iter().filter(unknown).collect();
        assert!(
            said.is_empty() || model.name == "grok-2",
            "{}: {said:?}",
            model.name
        );
    }
}

/// Totals and activated parameters (10⁹) and KV bytes per token while windows have room, as the
/// survey of published shapes prints them.
#[test]
fn shapes_agree_with_the_survey() {
    let rows = [
        ("DeepSeek-V3", 671.03, 37.4, 70_272),
        ("DeepSeek-V3.2", 671.88, 38.3, 70_272 + 7808),
        ("Kimi-K2-Instruct", 1026.4, 32.7, 70_272),
        ("step3", 316.3, 38.8, 62_464),
        ("Step-3.7-Flash-same-heads", 195.8, 10.8, 184_320),
        ("Qwen3-235B-A22B", 235.1, 22.1, 192_512),
        ("Qwen3-30B-A3B", 30.5, 3.3, 98_304),
        ("Qwen3-Coder-480B-A35B-Instruct", 480.2, 35.4, 253_952),
        ("Qwen3-Next-80B-A3B-Instruct", 79.7, 3.8, 24_576),
        ("Qwen3-32B", 32.8, 32.8, 262_144),
        ("Qwen3-8B", 8.2, 8.2, 147_456),
        ("Llama-3.1-8B-Instruct", 8.0, 8.0, 131_072),
        ("Llama-3.1-70B-Instruct", 70.6, 70.6, 327_680),
        ("Llama-3.1-405B-Instruct", 405.85, 405.85, 516_096),
        ("Mixtral-8x7B-Instruct-v0.1", 46.7, 12.9, 131_072),
        ("Mixtral-8x22B-Instruct-v0.1", 140.6, 39.1, 229_376),
        ("GLM-4.5", 352.8, 33.6, 376_832),
        ("MiniMax-M2", 228.7, 11.0, 253_952),
        ("gpt-oss-120b", 116.8, 5.7, 2 * 36_864),
        ("gpt-oss-20b", 20.9, 4.2, 2 * 24_576),
        ("Llama-4-Maverick-17B-128E-Instruct", 400.7, 17.2, 196_608),
        ("Llama-4-Scout-17B-16E-Instruct", 107.8, 17.2, 196_608),
    ];
    for (name, total, active, kv) in rows {
        let model = published(name).model;
        let counted: Parameters = parameters(&model);
        let digits = if name == "Mixtral-8x22B-Instruct-v0.1" {
            0.1
        } else {
            0.051
        };
        assert!(
            (billions(counted.total()) - total).abs() <= digits,
            "{name}: {}",
            counted.total()
        );
        assert!(
            (billions(counted.active()) - active).abs() <= digits,
            "{name}: {}",
            counted.active()
        );
        assert_eq!(kv_bytes_per_token(&model, Dtype::Bf16).get(), kv, "{name}");
    }
}
