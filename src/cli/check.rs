//! `frontier check FILE`: findings and memory of each design.

use super::input::Input;
use super::{Failure, InputArgs, engines, print};
use crate::plan::{Compiled, Design, Severity};
use clap::Args;
use serde_json::{Value, json};

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,
}

pub(super) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let input = Input::read(&args.input)?;
    let designs = input.designs(args.input.design.as_deref())?;
    let checked: Vec<(&Design, Compiled)> = designs
        .into_iter()
        .map(|design| (design, input.compile(design)))
        .collect();
    if args.input.json {
        let list: Vec<Value> = checked.iter().map(|(d, c)| to_json(&input, d, c)).collect();
        say!("{:#}", json!({ "designs": list }));
    } else {
        for (design, compiled) in &checked {
            print_design(&input, design, compiled);
        }
    }
    input.check_workload().map_err(|e| Failure::usage(&e))?;
    let broken: Vec<String> = checked
        .iter()
        .filter(|(_, compiled)| compiled.plan.is_none())
        .map(|(design, _)| print::plain(&design.name))
        .collect();
    if broken.is_empty() {
        Ok(())
    } else {
        Err(Failure::CannotRun(format!(
            "can't run as drawn: {}",
            broken.join(", ")
        )))
    }
}

fn print_design(input: &Input, design: &Design, compiled: &Compiled) {
    say!("{}", print::plain(&design.name));
    if let Some(plan) = &compiled.plan {
        say!(
            "  {} on {} GPUs, {:.2} $/h, {:.1} kW of GPUs",
            print::plain(&plan.model.name),
            plan.gpus,
            plan.price.get(),
            plan.power.get() / 1e3
        );
        for pool in &plan.pools {
            let layout = pool.layout;
            say!(
                "  {:<24} {:<10} {} × (TP {} · PP {} · DP {} · EP {}) on {}",
                print::plain(&pool.name),
                pool.role.name(),
                pool.replicas.len(),
                layout.tp,
                layout.pp,
                layout.dp,
                layout.ep,
                pool.gpu.name
            );
        }
    }
    for (pool, memory) in &compiled.memory {
        let terms: Vec<String> = memory
            .terms
            .iter()
            .map(|term| format!("{} {:.2}", term.name.to_lowercase(), term.bytes.gib()))
            .collect();
        say!(
            "  memory of {pool}: {:.1} GiB = {} + KV {:.2} GiB → {} blocks, {}",
            memory.capacity.gib(),
            terms.join(" + "),
            memory.kv.gib(),
            memory.blocks,
            if memory.kv_tokens == u64::MAX {
                "a sequence of any length".to_owned()
            } else {
                format!("{} tokens", memory.kv_tokens)
            }
        );
    }
    engines::print_differences(design, &input.catalog);
    for finding in &compiled.findings {
        say!("{}", print::finding(finding));
    }
    if compiled.findings.is_empty() {
        say!("  nothing to report");
    }
}

fn to_json(input: &Input, design: &Design, compiled: &Compiled) -> Value {
    let findings: Vec<Value> = compiled
        .findings
        .iter()
        .map(|finding| {
            json!({
                "severity": match finding.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Hint => "hint",
                },
                "place": print::place(&finding.place),
                "cause": finding.cause,
                "repair": finding.repair.as_ref().map(|repair| &repair.label),
            })
        })
        .collect();
    let memory: Vec<Value> = compiled
        .memory
        .iter()
        .map(|(pool, memory)| {
            json!({
                "pool": pool.as_str(),
                "capacity_bytes": memory.capacity.get(),
                "terms": memory.terms.iter().map(|term| json!({
                    "name": term.name, "bytes": term.bytes.get(), "formula": term.formula,
                })).collect::<Vec<_>>(),
                "kv_bytes": memory.kv.get(),
                "kv_blocks": memory.blocks,
                // Null: a sequence may have any length.
                "kv_tokens": (memory.kv_tokens != u64::MAX).then_some(memory.kv_tokens),
            })
        })
        .collect();
    json!({
        "design": design.id.as_str(),
        "name": design.name,
        "runnable": compiled.plan.is_some(),
        "gpus": compiled.plan.as_ref().map(|plan| plan.gpus),
        "findings": findings,
        "memory": memory,
        "engines": engines::to_json(design, &input.catalog),
    })
}
