//! `frontier capacity-plan`: servers, cost, revenue and margin of a day of traffic.

use super::Failure;
use crate::study::theory::{CapacityPlan, Day, TokenPrices};
use crate::units::{Dollars, DollarsPerHour};
use clap::Args;
use serde_json::json;

/// Arguments of `capacity-plan`. Without any: the day DeepSeek published (27 February 2025).
#[derive(Debug, Args)]
pub struct CapacityArgs {
    /// Input tokens of the day, cached ones included.
    #[arg(long, default_value_t = Day::DEEPSEEK.input_tokens)]
    input_tokens: f64,
    /// Share of them found in a cache, 0 to 1.
    #[arg(long, default_value_t = Day::DEEPSEEK.cached)]
    cached: f64,
    /// Output tokens of the day.
    #[arg(long, default_value_t = Day::DEEPSEEK.output_tokens)]
    output_tokens: f64,
    /// Input tokens a prefill node takes per second, cached ones included.
    #[arg(long, default_value_t = Day::DEEPSEEK.input_rate)]
    input_rate: f64,
    /// Output tokens a decode node makes per second.
    #[arg(long, default_value_t = Day::DEEPSEEK.output_rate)]
    output_rate: f64,
    /// GPUs of a node.
    #[arg(long, default_value_t = Day::DEEPSEEK.gpus_per_node)]
    gpus_per_node: u32,
    /// Price of a GPU-hour.
    #[arg(long, default_value_t = Day::DEEPSEEK.price)]
    price: DollarsPerHour,
    /// Price of a million cached input tokens.
    #[arg(long, default_value_t = Day::DEEPSEEK.tokens.cached)]
    cached_price: Dollars,
    /// Price of a million other input tokens.
    #[arg(long, default_value_t = Day::DEEPSEEK.tokens.input)]
    input_price: Dollars,
    /// Price of a million output tokens.
    #[arg(long, default_value_t = Day::DEEPSEEK.tokens.output)]
    output_price: Dollars,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CapacityArgs) -> Result<(), Failure> {
    let day = Day {
        input_tokens: args.input_tokens,
        cached: args.cached,
        output_tokens: args.output_tokens,
        input_rate: args.input_rate,
        output_rate: args.output_rate,
        gpus_per_node: args.gpus_per_node,
        price: args.price,
        tokens: TokenPrices {
            cached: args.cached_price,
            input: args.input_price,
            output: args.output_price,
        },
    };
    let plan = CapacityPlan::of(&day).map_err(|e| Failure::usage(&e))?;
    if args.json {
        let value = json!({
            "prefill_nodes": plan.prefill_nodes,
            "decode_nodes": plan.decode_nodes,
            "nodes": plan.nodes(),
            "cost_usd": plan.cost.get(),
            "revenue_usd": plan.revenue.get(),
            "margin": plan.margin(),
        });
        say!("{value:#}");
        return Ok(());
    }
    say!("A day, on average over it");
    say!(
        "  nodes     {:.1} ({:.1} prefill, {:.1} decode) of {} GPUs",
        plan.nodes(),
        plan.prefill_nodes,
        plan.decode_nodes,
        day.gpus_per_node
    );
    say!("  cost      ${:.0} at {}", plan.cost.get(), day.price);
    say!("  revenue   ${:.0}", plan.revenue.get());
    say!("  margin    {:.0} % of the cost", plan.margin() * 100.0);
    Ok(())
}
