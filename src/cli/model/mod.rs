//! `frontier model FILE`: what a `config.json` (or a preset) says, and what follows from it.

mod json;
mod print;

use super::Failure;
use crate::catalog::{Dtype, ModelId, user_presets_dir};
use crate::model::{
    Checkpoint, ExplainAt, Imported, Model, Models, Precision, explain, own_precision, preset_text,
};
use crate::plan::{Degree, Engine, Layout, Pool, PoolId, Role, legal_values};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Arguments of `model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// A Hugging Face config.json, or the id of a preset.
    file: PathBuf,
    /// Tokens of a sequence; without it the longest the model was made for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1_u64 << 40))]
    context: Option<u64>,
    /// Format of the KV cache; without it BF16.
    #[arg(long, value_enum, ignore_case = true)]
    kv_precision: Option<KvFormat>,
    /// Format of the weights; without it the checkpoint's.
    #[arg(long, value_enum, ignore_case = true)]
    precision: Option<WeightsFormat>,
    /// Tensor parallelism, for what one rank holds.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=65_535))]
    tp: u64,
    /// Expert parallelism, for what one rank holds.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=65_535))]
    ep: u64,
    /// Show the working: every number with its formula.
    #[arg(long)]
    explain: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "explain")]
    json: bool,
    /// Print the model as a preset file, to be kept as models/ID.ron of your presets folder.
    #[arg(long, visible_alias = "preset", conflicts_with_all = ["json", "explain"])]
    ron: bool,
}

/// Formats of the KV cache engines have.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum KvFormat {
    Bf16,
    Fp8,
    Int8,
}

/// Formats of weights.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum WeightsFormat {
    Bf16,
    Fp8,
    Int8,
    Fp4,
    Mxfp4,
    Int4,
}

impl KvFormat {
    const fn dtype(self) -> Dtype {
        match self {
            Self::Bf16 => Dtype::Bf16,
            Self::Fp8 => Dtype::Fp8,
            Self::Int8 => Dtype::Int8,
        }
    }
}

impl WeightsFormat {
    const fn dtype(self) -> Dtype {
        match self {
            Self::Bf16 => Dtype::Bf16,
            Self::Fp8 => Dtype::Fp8,
            Self::Int8 => Dtype::Int8,
            Self::Fp4 => Dtype::Fp4,
            Self::Mxfp4 => Dtype::Mxfp4,
            Self::Int4 => Dtype::Int4,
        }
    }
}

/// The model asked for, and where its numbers are taken.
struct Asked {
    imported: Imported,
    precision: Precision,
    at: ExplainAt,
}

impl Asked {
    const fn model(&self) -> &Model {
        &self.imported.model
    }
}

pub(super) fn model(args: &ModelArgs) -> Result<(), Failure> {
    let imported = read(&args.file)?;
    let mut precision = imported
        .precision_hint
        .unwrap_or_else(|| own_precision(&imported.model));
    if let Some(weights) = args.precision {
        precision.weights = weights.dtype();
    }
    // A checkpoint may name a format for its cache; without a choice numbers are BF16's, which
    // every engine has.
    precision.kv = args.kv_precision.map_or(Dtype::Bf16, KvFormat::dtype);
    let context = args.context.unwrap_or(imported.model.max_context);
    let asked = Asked {
        at: ExplainAt::whole(context).ranks(args.tp, args.ep),
        precision,
        imported,
    };
    let legal = legal_tp(&asked);
    if !legal.iter().any(|tp| u64::from(*tp) == args.tp) {
        let words: Vec<String> = legal.iter().map(ToString::to_string).collect();
        complain!(
            "note: TP {} is not legal for this model: up to 64, {} are",
            args.tp,
            words.join(", ")
        );
    }
    if args.json {
        say!("{:#}", json::value(&asked, &legal));
    } else if args.ron {
        let kept = asked.imported.with_assumptions();
        super::print::out(&preset_text(&kept).map_err(|e| Failure::usage(&e))?);
    } else {
        print::summary(&asked);
        if args.explain {
            let sections = explain(asked.model(), asked.precision, &asked.at);
            print::sections(&sections);
        }
    }
    Ok(())
}

/// Tensor-parallel degrees up to 64 the model can have, by the rules plans are checked with.
fn legal_tp(asked: &Asked) -> Vec<u32> {
    let pool = Pool {
        id: PoolId::from_label("model"),
        name: String::new(),
        role: Role::Colocated,
        gpus: Vec::new(),
        layout: Layout::SINGLE,
        engine: Engine::vllm(true),
        precision: asked.precision,
    };
    legal_values(asked.model(), &pool, Degree::Tp, 64)
}

/// A file, or where there is none of that name a preset.
fn read(path: &Path) -> Result<Imported, Failure> {
    if !path.exists()
        && let Some(model) = preset(path)?
    {
        return Ok(Imported {
            precision_hint: None,
            assumptions: model.assumptions.clone(),
            unused_keys: Vec::new(),
            model,
        });
    }
    Checkpoint::of(path.to_owned())
        .import()
        .map_err(|error| Failure::usage(&error))
}

fn preset(path: &Path) -> Result<Option<Model>, Failure> {
    let Some(id) = path.to_str().and_then(|text| ModelId::new(text).ok()) else {
        return Ok(None);
    };
    let models = Models::load(user_presets_dir().as_deref()).map_err(|e| Failure::usage(&e))?;
    if let Some(model) = models.get(&id) {
        return Ok(Some(model.clone()));
    }
    let known: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    Err(Failure::Usage(format!(
        "there is no file {id} and no preset of that name; presets are {}",
        known.join(", ")
    )))
}
