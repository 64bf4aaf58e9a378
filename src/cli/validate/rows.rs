//! `frontier validate --rows FILE`: simulated deployments against measured ones.

use super::ValidateArgs;
use crate::catalog::{Catalog, user_presets_dir};
use crate::cli::{Failure, input, print};
use crate::model::Models;
use crate::plan::EngineKind;
use crate::validation::{
    Errors, Over, Predicted, Predictor, Recipes, Refused, Rows, Scores, grouped, read_rows,
};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What came of a file.
struct Found {
    rows: Rows,
    predicted: Vec<Predicted>,
    refused: Vec<Refused>,
}

/// What it takes to predict, with the settings asked for.
pub(super) fn predictor(args: &ValidateArgs) -> Result<Predictor, Failure> {
    let user = user_presets_dir();
    let catalog = Catalog::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    let catalog = Arc::new(catalog);
    let models = Models::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    let mut recipes = Recipes::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    for text in &args.set {
        recipes = recipes.with(setting(text)?);
    }
    Ok(Predictor {
        fidelity: input::prices(&args.fidelity.choice()?, &catalog, user.as_deref())?,
        catalog,
        models: Arc::new(models),
        recipes: Arc::new(recipes),
    })
}

pub(super) fn run(args: &ValidateArgs, file: &Path) -> Result<(), Failure> {
    let rows = read_rows(file).map_err(|error| Failure::usage(&error))?;
    let predictor = predictor(args)?;
    let (done, all) = (AtomicUsize::new(0), rows.measured.len());
    let tell = || {
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(100) || count == all {
            complain!("{count} of {all} conditions");
        }
    };
    let (predicted, refused) = predictor.predict_all(&rows, &tell, &AtomicBool::new(false));
    let found = Found {
        rows,
        predicted,
        refused,
    };
    if let Some(out) = &args.out {
        let text = per_row(&found);
        std::fs::write(out, text)
            .map_err(|error| Failure::Usage(format!("{}: {error}", out.display())))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&as_json(&found))
            .map_err(|error| Failure::usage(&error))?;
        say!("{text}");
    } else {
        print(&found);
    }
    Ok(())
}

/// `vllm.async_scheduling=true` in its parts; `vllm@0.14:…`: from that version on.
fn setting(text: &str) -> Result<Over, Failure> {
    let wrong = || {
        Failure::Usage(format!(
            "--set {}: write engine.setting=value, such as vllm.async_scheduling=true, or engine@version:setting=value for that version and later ones",
            print::plain(text)
        ))
    };
    let (left, value) = text.split_once('=').ok_or_else(wrong)?;
    let (engine, since, name) = match left.split_once('@') {
        Some((engine, rest)) => {
            let (since, name) = rest.split_once(':').ok_or_else(wrong)?;
            (engine, since, name)
        }
        None => {
            let (engine, name) = left.split_once('.').ok_or_else(wrong)?;
            (engine, "", name)
        }
    };
    let engine = match engine {
        "vllm" => EngineKind::Vllm,
        "sglang" => EngineKind::Sglang,
        "trtllm" => EngineKind::TensorRtLlm,
        _ => return Err(wrong()),
    };
    Ok(Over {
        engine,
        since: since.to_owned(),
        name: name.to_owned(),
        text: value.to_owned(),
    })
}

/// Co-located or not.
fn is_colocated(own: &Predicted) -> bool {
    own.measured.condition.deployment.is_colocated()
}

fn errors(own: &Errors) -> Value {
    json!({
        "rows": own.rows,
        "median_ape": own.median_ape,
        "mape": own.mape,
        "within_10": own.within_10,
        "within_20": own.within_20,
        "bias": own.bias,
    })
}

fn scores(own: &Scores) -> Value {
    json!({ "tpot": errors(&own.tpot), "ttft": errors(&own.ttft) })
}

/// One mode: co-located or disaggregated.
fn mode(found: &Found, colocated: bool) -> Value {
    let own: Vec<&Predicted> = found
        .predicted
        .iter()
        .filter(|own| is_colocated(own) == colocated)
        .collect();
    let conditions = found
        .rows
        .measured
        .iter()
        .filter(|own| own.condition.deployment.is_colocated() == colocated);
    let (rows, count) = conditions.fold((0, 0), |(rows, count), own| {
        (rows + own.ids.len(), count + 1)
    });
    let of = |experts: bool| {
        Scores::of(
            own.iter()
                .copied()
                .filter(move |one| one.prediction.has_experts == experts),
        )
    };
    let all = Scores::of(own.iter().copied());
    let predicted: usize = own.iter().map(|one| one.measured.ids.len()).sum();
    json!({
        "rows": rows,
        "conditions": count,
        "predicted": predicted,
        "tpot": errors(&all.tpot),
        "ttft": errors(&all.ttft),
        "dense": scores(&of(false)),
        "moe": scores(&of(true)),
    })
}

fn as_json(found: &Found) -> Value {
    let usable = found
        .rows
        .measured
        .iter()
        .map(|own| own.ids.len())
        .sum::<usize>()
        + found.rows.refused.iter().filter(|own| own.usable).count();
    let predicted: usize = found
        .predicted
        .iter()
        .map(|own| own.measured.ids.len())
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of rows")]
    let share = predicted as f64 / (usable as f64).max(1.0);
    json!({
        "agg": mode(found, true),
        "disagg": mode(found, false),
        "predicted_share": share,
        "refused": found.refused.iter().map(|own| json!({
            "id": own.id, "line": own.line, "reason": own.why, "usable": own.usable,
        })).collect::<Vec<_>>(),
    })
}

fn print(found: &Found) {
    let line = |name: &str, own: &Scores| {
        if own.tpot.rows == 0 {
            return;
        }
        say!(
            "{name:<52} {:>5} {:>7.1}% {:>6.0}% {:>6.0}% {:>+7.1}% {:>9.1}% {:>6.0}% {:>+8.1}%",
            own.tpot.rows,
            own.tpot.median_ape * 100.0,
            own.tpot.within_10 * 100.0,
            own.tpot.within_20 * 100.0,
            own.tpot.bias * 100.0,
            own.ttft.median_ape * 100.0,
            own.ttft.within_20 * 100.0,
            own.ttft.bias * 100.0,
        );
    };
    say!(
        "{:<52} {:>5} {:>8} {:>7} {:>7} {:>8} {:>10} {:>7} {:>9}",
        "",
        "rows",
        "TPOT",
        "in 10%",
        "in 20%",
        "bias",
        "TTFT",
        "in 20%",
        "bias"
    );
    for (name, colocated) in [("co-located", true), ("disaggregated", false)] {
        let own = || {
            found
                .predicted
                .iter()
                .filter(move |one| is_colocated(one) == colocated)
        };
        line(name, &Scores::of(own()));
        line(
            "  dense",
            &Scores::of(own().filter(|one| !one.prediction.has_experts)),
        );
        line(
            "  MoE",
            &Scores::of(own().filter(|one| one.prediction.has_experts)),
        );
    }
    let mut groups = grouped(&found.predicted, |own| {
        let c = &own.measured.condition;
        format!(
            "{} {} {} {} {}",
            c.engine.name(),
            c.system,
            c.model,
            c.precision,
            if is_colocated(own) {
                ""
            } else {
                "disaggregated"
            }
        )
    });
    groups.sort_by(|a, b| {
        let weight = |own: &Scores| own.tpot.median_ape;
        weight(&b.scores).total_cmp(&weight(&a.scores))
    });
    say!();
    for group in &groups {
        line(&group.name, &group.scores);
    }
    let mut reasons: std::collections::BTreeMap<&str, (usize, u64)> =
        std::collections::BTreeMap::new();
    for own in &found.refused {
        let entry = reasons.entry(&own.why).or_insert((0, own.line));
        entry.0 += 1;
    }
    say!();
    for (why, (rows, first)) in reasons {
        say!("refused {rows} rows (first: line {first}): {why}");
    }
}

fn per_row(found: &Found) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing into memory can't fail.
    let _ = writeln!(
        text,
        "id,line,status,mode,engine,version,system,model,precision,tp,pp,dp,ep,isl,osl,concurrency,measured_ttft_ms,predicted_ttft_ms,measured_tpot_ms,predicted_tpot_ms,group,served,shares,reason"
    );
    for own in &found.predicted {
        let c = &own.measured.condition;
        let sharding = c.sharding();
        for id in &own.measured.ids {
            let _ = writeln!(
                text,
                "{id},{},predicted,{},{},{},{},{},{},{},{},{},{},{},{},{},{:.4},{:.4},{:.4},{:.4},{},{},{},",
                own.measured.line,
                if is_colocated(own) { "agg" } else { "disagg" },
                c.engine.name(),
                c.version,
                c.system,
                c.model,
                c.precision,
                sharding.tp,
                sharding.pp,
                sharding.dp,
                sharding.ep,
                c.isl,
                c.osl,
                c.concurrency,
                own.measured.ttft * 1e3,
                own.prediction.ttft * 1e3,
                own.measured.tpot * 1e3,
                own.prediction.tpot * 1e3,
                c.group,
                own.prediction.version,
                shares(own),
            );
        }
    }
    for own in &found.refused {
        let _ = writeln!(
            text,
            "{},{},refused,,,,,,,,,,,,,,,,,,,,,\"{}\"",
            own.id,
            own.line,
            own.why.replace('"', "'")
        );
    }
    text
}

fn shares(own: &Predicted) -> String {
    let parts: Vec<String> = own
        .prediction
        .summary
        .provenance
        .time_shares
        .iter()
        .map(|(name, share)| format!("{name} {share:.3}"))
        .collect();
    parts.join("; ")
}
