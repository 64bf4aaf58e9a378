//! Which models and GPUs a cost table is of: by id, as a `config.json`, or all there are.

use super::CostTableArgs;
use crate::catalog::{Catalog, GpuId, ModelId};
use crate::cli::{Failure, print};
use crate::model::{Checkpoint, Model, Models};
use crate::study::theory::Hardware;
use crate::units::DollarsPerHour;
use std::path::Path;

/// The models of Step-3's Table 6 that are presets.
const MODELS: [&str; 5] = [
    "deepseek-v3",
    "kimi-k2",
    "qwen3-235b-a22b",
    "qwen3-32b",
    "step-3",
];
/// Its GPUs.
const GPUS: [&str; 4] = ["h800-sxm", "h20-96", "a800-80-sxm", "ascend-910b"];
/// The models asked for.
pub(super) fn models(names: &[String], presets: &Models) -> Result<Vec<Model>, Failure> {
    if is_all(names) {
        return Ok(presets.iter().cloned().collect());
    }
    or_default(names, &MODELS)
        .iter()
        .map(|name| model(name, presets))
        .collect()
}

fn is_all(names: &[String]) -> bool {
    matches!(names, [one] if one == "all")
}

fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    if given.is_empty() {
        default.iter().map(|&word| word.to_owned()).collect()
    } else {
        given.to_vec()
    }
}

/// A preset by its id, or a config.json.
fn model(name: &str, presets: &Models) -> Result<Model, Failure> {
    let path = Path::new(name);
    if path.extension().is_some_and(|end| end == "json") {
        return config(path);
    }
    let known = ModelId::new(name).ok().and_then(|id| presets.get(&id));
    known.cloned().ok_or_else(|| {
        let ids: Vec<&str> = presets.iter().map(|model| model.id.as_str()).collect();
        Failure::Usage(format!(
            "there is no model “{}”: give a config.json, or one of {}",
            print::plain(name),
            ids.join(", ")
        ))
    })
}

fn config(path: &Path) -> Result<Model, Failure> {
    let shown = path.display();
    let imported = Checkpoint::of(path.to_owned())
        .import()
        .map_err(|e| Failure::Usage(format!("{shown}: {e}")))?;
    for assumption in &imported.assumptions {
        complain!("note: {shown}: {}", print::plain(assumption));
    }
    Ok(imported.model)
}

/// The GPUs asked for, at the prices asked for.
pub(super) fn hardware(args: &CostTableArgs, catalog: &Catalog) -> Result<Vec<Hardware>, Failure> {
    if args.paper {
        return Hardware::of_step3(catalog).map_err(|e| Failure::usage(&e));
    }
    let mut chosen: Vec<Hardware> = Vec::new();
    let names = if is_all(&args.gpus) {
        catalog.gpus().map(|gpu| gpu.id.to_string()).collect()
    } else {
        or_default(&args.gpus, &GPUS)
    };
    for name in names {
        let row = GpuId::new(&name).ok().and_then(|id| catalog.gpu(&id));
        let row = row.ok_or_else(|| {
            let ids: Vec<&str> = catalog.gpus().map(|gpu| gpu.id.as_str()).collect();
            Failure::Usage(format!(
                "there is no GPU “{}”: use {}",
                print::plain(&name),
                ids.join(", ")
            ))
        })?;
        chosen.push(Hardware::of(row, catalog).map_err(|e| Failure::usage(&e))?);
    }
    for price in &args.price {
        let wrong = |why: &str| {
            Failure::Usage(format!(
                "--price {}: {why}; write gpu=price, such as h20-96=0.8",
                print::plain(price)
            ))
        };
        let (gpu, value) = price.split_once('=').ok_or_else(|| wrong("no “=”"))?;
        let value: DollarsPerHour = value.parse().map_err(|_| wrong("not a price"))?;
        let mut found = false;
        for hardware in chosen.iter_mut().filter(|h| h.gpu.as_str() == gpu) {
            hardware.price = value;
            found = true;
        }
        if !found {
            return Err(wrong("that GPU is not in the table"));
        }
    }
    Ok(chosen)
}
