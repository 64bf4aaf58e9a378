//! `frontier validate --requests DIR`: runs replayed request by request against what was measured.

use super::ValidateArgs;
use super::rows::predictor;
use crate::cli::{Failure, print};
use crate::validation::{Compared, Replayed, RunRefused, read_runs};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub(super) fn run(args: &ValidateArgs, dir: &Path) -> Result<(), Failure> {
    let runs = read_runs(dir).map_err(|error| Failure::usage(&error))?;
    let predictor = predictor(args)?;
    let (replayed, refused) = predictor.replay_all(&runs, &AtomicBool::new(false));
    if let Some(out) = &args.out {
        std::fs::write(out, per_request(&replayed))
            .map_err(|error| Failure::Usage(format!("{}: {error}", out.display())))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&as_json(&replayed, &refused))
            .map_err(|error| Failure::usage(&error))?;
        println!("{text}");
    } else {
        print_all(&replayed, &refused);
    }
    Ok(())
}

/// The latencies of a run by name.
fn latencies(own: &Replayed) -> [(&'static str, &Compared); 3] {
    [("ttft", &own.ttft), ("tpot", &own.tpot), ("e2e", &own.e2e)]
}

fn as_json(replayed: &[Replayed], refused: &[RunRefused]) -> Value {
    let one = |own: &Replayed| {
        let mut value = json!({
            "line": own.run.line,
            "gpu": own.run.gpu,
            "model": own.run.model,
            "engine": "vLLM",
            "version": own.run.version,
            "requests": own.run.requests.len(),
        });
        for (name, found) in latencies(own) {
            value[name] = json!({
                "measured_s": found.measured,
                "predicted_s": found.predicted,
                "error": found.error(),
                "by_request": {
                    "requests": found.each.rows,
                    "median_ape": found.each.median_ape,
                    "mape": found.each.mape,
                    "within_10": found.each.within_10,
                    "within_20": found.each.within_20,
                    "bias": found.each.bias,
                },
            });
        }
        value
    };
    json!({
        "runs": replayed.iter().map(one).collect::<Vec<_>>(),
        "refused": refused.iter().map(|own| json!({
            "line": own.line, "run": own.name, "reason": own.why,
        })).collect::<Vec<_>>(),
    })
}

fn print_all(replayed: &[Replayed], refused: &[RunRefused]) {
    println!(
        "{:<48} {:>5} {:>12} {:>12} {:>8} {:>18}",
        "", "", "measured", "predicted", "error", "median by request"
    );
    for own in replayed {
        let name = format!("{} {}", own.run.gpu, own.run.model);
        for (what, found) in latencies(own) {
            println!(
                "{:<48} {:>5} {:>9.2} ms {:>9.2} ms {:>+7.1}% {:>17.1}%",
                print::plain(&name),
                what.to_uppercase(),
                found.measured * 1e3,
                found.predicted * 1e3,
                found.error() * 100.0,
                found.each.median_ape * 100.0,
            );
        }
    }
    for own in refused {
        println!(
            "refused {} (line {}): {}",
            print::plain(&own.name),
            own.line,
            print::plain(&own.why)
        );
    }
}

fn per_request(replayed: &[Replayed]) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing into memory can't fail.
    let _ = writeln!(
        text,
        "gpu,model,arrival_s,input_tokens,output_tokens,measured_ttft_s,predicted_ttft_s,measured_tpot_s,predicted_tpot_s,measured_e2e_s,predicted_e2e_s"
    );
    let or_empty = |value: Option<f64>| value.map(|own| format!("{own:.6}")).unwrap_or_default();
    for own in replayed {
        for (measured, ours) in own.run.requests.iter().zip(&own.predicted) {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{:.6},{:.6},{},{},{:.6},{:.6}",
                own.run.gpu,
                own.run.model,
                measured.arrival,
                measured.input,
                measured.output,
                measured.ttft,
                ours.ttft,
                or_empty(measured.tpot),
                or_empty(ours.tpot()),
                measured.e2e,
                ours.e2e,
            );
        }
    }
    text
}
