//! `frontier model FILE`: what a `config.json` says, and what follows from it.

use super::Failure;
use crate::catalog::Dtype;
use crate::model::{Precision, import_file, kv_bytes_per_token, parameters, weight_bytes};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// A Hugging Face config.json, or the folder it is in; hf_quant_config.json beside it is read
    /// too.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn model(args: &ModelArgs) -> Result<(), Failure> {
    let imported = import_file(&args.file).map_err(|e| Failure::usage(&e))?;
    let model = &imported.model;
    let parts = parameters(model);
    let precision = imported.precision_hint.unwrap_or(Precision::BF16);
    let (bytes, kv) = (
        weight_bytes(model, precision),
        kv_bytes_per_token(model, Dtype::Bf16),
    );
    if args.json {
        let value = json!({
            "name": model.name,
            "layers": model.layer_count(),
            "parameters": parts.total(),
            "active_parameters": parts.active(),
            "weight_bytes": bytes.get(),
            "kv_bytes_per_token": kv.get(),
            "assumptions": imported.assumptions,
            "unused_keys": imported.unused_keys,
        });
        println!("{value:#}");
        return Ok(());
    }
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let billions = |n: u64| n as f64 / 1e9;
    println!("{}", model.name);
    println!("  layers      {}", model.layer_count());
    println!(
        "  parameters  {:.2} B, {:.2} B active",
        billions(parts.total()),
        billions(parts.active())
    );
    println!(
        "  weights     {:.2} GiB in {}",
        bytes.gib(),
        precision.weights.name()
    );
    println!("  KV          {} bytes per token in BF16", kv.get());
    for assumption in &imported.assumptions {
        println!("  assumed     {assumption}");
    }
    if !imported.unused_keys.is_empty() {
        println!("  not used    {}", imported.unused_keys.join(", "));
    }
    Ok(())
}
