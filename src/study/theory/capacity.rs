//! How many servers a day of traffic takes, what they cost and what it earns.
//!
//! `nodes = input / (86 400 · input rate) + output / (86 400 · output rate)`, rates as measured or
//! simulated per node of a prefill and of a decode unit; cost `nodes · GPUs · price · 24`; revenue
//! by the provider's price list. Checked against the day DeepSeek published (open-infra-index,
//! “DeepSeek-V3/R1 Inference System Overview”, 27–28 February 2025).

use super::TheoryError;
use crate::units::{Dollars, DollarsPerHour};

const DAY: f64 = 86_400.0;

/// A day of traffic and what serves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Day {
    /// Input tokens, cached ones included.
    pub input_tokens: f64,
    /// Share of them found in a cache, 0 … 1.
    pub cached: f64,
    /// Output tokens.
    pub output_tokens: f64,
    /// Input tokens a prefill node takes a second, cached ones included.
    pub input_rate: f64,
    /// Output tokens a decode node makes a second.
    pub output_rate: f64,
    /// GPUs of a node.
    pub gpus_per_node: u32,
    /// Price of a GPU-hour.
    pub price: DollarsPerHour,
    /// What tokens are sold for.
    pub tokens: TokenPrices,
}

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrices {
    /// Input found in a cache.
    pub cached: Dollars,
    /// Other input.
    pub input: Dollars,
    /// Output.
    pub output: Dollars,
}

impl Day {
    /// DeepSeek's day: 608 G tokens in, 342 G of them cached, 168 G out, H800 nodes, sold at R1's
    /// prices.
    pub const DEEPSEEK: Self = Self {
        input_tokens: 608e9,
        cached: 342.0 / 608.0,
        output_tokens: 168e9,
        input_rate: 73_700.0,
        output_rate: 14_800.0,
        gpus_per_node: 8,
        price: DollarsPerHour::new(2.0),
        tokens: TokenPrices {
            cached: Dollars::new(0.14),
            input: Dollars::new(0.55),
            output: Dollars::new(2.19),
        },
    };
}

/// What a day takes, on average over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityPlan {
    /// Prefill nodes.
    pub prefill_nodes: f64,
    /// Decode nodes.
    pub decode_nodes: f64,
    /// What the nodes cost.
    pub cost: Dollars,
    /// What the tokens earn.
    pub revenue: Dollars,
}

impl CapacityPlan {
    /// Plans a day.
    ///
    /// # Errors
    /// A rate, count or share that can't be.
    pub fn of(day: &Day) -> Result<Self, TheoryError> {
        let positive = [
            ("input tokens", day.input_tokens),
            ("output tokens", day.output_tokens),
            ("the input rate", day.input_rate),
            ("the output rate", day.output_rate),
            ("GPUs per node", f64::from(day.gpus_per_node)),
            ("the GPU price", day.price.get()),
        ];
        if let Some((what, value)) = positive
            .into_iter()
            .find(|(_, value)| !(value.is_finite() && *value > 0.0))
        {
            let value = value.to_string();
            return Err(TheoryError::NotPositive { what, value });
        }
        if !(0.0..=1.0).contains(&day.cached) {
            let value = day.cached.to_string();
            return Err(TheoryError::Share { value });
        }
        let prefill_nodes = day.input_tokens / DAY / day.input_rate;
        let decode_nodes = day.output_tokens / DAY / day.output_rate;
        let gpus = (prefill_nodes + decode_nodes) * f64::from(day.gpus_per_node);
        let millions = |tokens: f64, price: Dollars| price * (tokens / 1e6);
        let cached = day.input_tokens * day.cached;
        Ok(Self {
            prefill_nodes,
            decode_nodes,
            cost: Dollars::new(gpus * 24.0 * day.price.get()),
            revenue: millions(cached, day.tokens.cached)
                + millions(day.input_tokens - cached, day.tokens.input)
                + millions(day.output_tokens, day.tokens.output),
        })
    }

    /// Nodes in all.
    #[must_use]
    pub fn nodes(&self) -> f64 {
        self.prefill_nodes + self.decode_nodes
    }

    /// Profit over cost, 5.45 for 545 %.
    #[must_use]
    pub fn margin(&self) -> f64 {
        (self.revenue.get() - self.cost.get()) / self.cost.get()
    }
}
