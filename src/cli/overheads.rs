//! `frontier calibrate --rows FILE`: engines' overheads from measured deployments.

use super::{Failure, input};
use crate::catalog::{Catalog, user_presets_dir};
use crate::jobs::FidelityChoice;
use crate::model::Models;
use crate::plan::Overheads;
use crate::validation::{
    Fitted, LeftOut, Predictor, Recipes, Scores, fit_overheads, read_rows, start,
};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) fn run(rows: &Path, rounds: usize, out: Option<&Path>) -> Result<(), Failure> {
    let rows = read_rows(rows).map_err(|error| Failure::usage(&error))?;
    let user = user_presets_dir();
    let catalog = Catalog::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    let catalog = Arc::new(catalog);
    let models = Models::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    let recipes = Recipes::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    let predictor = Predictor {
        fidelity: input::prices(&FidelityChoice::Calibrated, &catalog, user.as_deref())?,
        catalog,
        models: Arc::new(models),
        recipes: Arc::new(recipes),
    };
    // What is shipped is where a fit goes on from.
    let shipped = Overheads::all();
    let from = if shipped.is_empty() {
        start()
    } else {
        shipped.to_vec()
    };
    let say = |text: &str| eprintln!("{text}");
    let never = AtomicBool::new(false);
    let fitted = fit_overheads(&predictor, &rows, &from, rounds, &say, &never)
        .ok_or_else(|| Failure::Usage("cancelled".to_owned()))?;
    print(&fitted);
    if let Some(out) = out {
        std::fs::write(out, text(&fitted.classes))
            .map_err(|error| Failure::Usage(format!("{}: {error}", out.display())))?;
        println!("{}", out.display());
    }
    Ok(())
}

fn print(fitted: &Fitted) {
    for class in &fitted.classes {
        let numbers: Vec<String> = Overheads::NAMES
            .iter()
            .zip(class.values())
            .map(|(name, value)| {
                if *name == "sustained load" {
                    format!("{name} {value:.3}")
                } else {
                    format!("{name} {:.1} us", value * 1e6)
                }
            })
            .collect();
        println!(
            "{} from {}: {}",
            class.engine.name(),
            class.since,
            numbers.join(", ")
        );
    }
    println!();
    println!(
        "{:<36} {:>5} {:>16} {:>16} {:>16}",
        "co-located", "rows", "TPOT (in 10 %)", "held out", "TTFT, held out"
    );
    let line = |name: &str, with: &Scores, without: &Scores| {
        println!(
            "{name:<36} {:>5} {:>8.1}% ({:>3.0}%) {:>8.1}% ({:>3.0}%) {:>7.1}% {:>6.1}%",
            with.tpot.rows,
            with.tpot.median_ape * 100.0,
            with.tpot.within_10 * 100.0,
            without.tpot.median_ape * 100.0,
            without.tpot.within_10 * 100.0,
            with.ttft.median_ape * 100.0,
            without.ttft.median_ape * 100.0,
        );
    };
    for LeftOut {
        what,
        with,
        without,
    } in &fitted.left_out
    {
        line(&format!("without {what}"), with, without);
    }
}

/// The classes as the preset keeps them.
fn text(classes: &[Overheads]) -> String {
    let mut text = String::from(
        "// What engines cost beside their kernels: six numbers a class of versions, fitted to measured\n// co-located deployments by `frontier calibrate --rows`.\n[\n",
    );
    for own in classes {
        // Writing to a text can't fail.
        let _ = writeln!(
            text,
            "    (engine: {:?}, since: \"{}\", per_sequence: \"{}\", request: \"{}\", output: \"{}\", network: \"{}\", gap: \"{}\", sustained: {:?}, source: \"robust fit of TPOT and TTFT of measured co-located deployments\"),",
            own.engine,
            own.since,
            own.per_sequence,
            own.request,
            own.output,
            own.network,
            own.gap,
            own.sustained,
        );
    }
    text + "]\n"
}
