//! The table: every model on every GPU at every context.

use super::{
    DecodeCost, DecodeWork, Hardware, Pipeline, Terms, TheoryError, decode_cost, decode_work,
    routed_experts_for, sparsity, sparsity_floor,
};
use crate::catalog::ModelId;
use crate::model::Model;
use crate::units::Dollars;

/// Longest context priced.
pub const MAX_CONTEXT: u64 = 100_000_000;
/// Most contexts of one table.
pub const MAX_CONTEXTS: usize = 64;

/// Models × GPUs × contexts.
#[derive(Debug, Clone, PartialEq)]
pub struct CostTable {
    /// On which terms.
    pub terms: Terms,
    /// How decode steps are cut.
    pub pipeline: Pipeline,
    /// Contexts, tokens.
    pub contexts: Vec<u64>,
    /// GPUs.
    pub hardware: Vec<Hardware>,
    /// One row per model.
    pub models: Vec<ModelCosts>,
}

/// One model's numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCosts {
    /// The model.
    pub id: ModelId,
    /// Its name.
    pub name: String,
    /// Width of a token on the network.
    pub hidden: u64,
    /// Layers.
    pub layers: u32,
    /// Longest context it was made for.
    pub max_context: u64,
    /// Share of experts a token visits; none: dense.
    pub sparsity: Option<f64>,
    /// What a token takes, per context.
    pub work: Vec<DecodeWork>,
    /// What it costs, `[context][GPU]`.
    pub costs: Vec<Vec<DecodeCost>>,
    /// The cheapest deployment, per context.
    pub best: Vec<Best>,
    /// Smallest sparsity each GPU's server NICs allow, and the routed experts that would be.
    pub floors: Vec<Option<(f64, Option<u64>)>>,
}

/// The cheapest GPUs, as places in the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Best {
    /// Attention's.
    pub attention: usize,
    /// The FFN's.
    pub ffn: usize,
    /// Both together.
    pub cost: Dollars,
    /// The one GPU for both.
    pub single: usize,
    /// Its cost.
    pub single_cost: Dollars,
}

impl Best {
    /// Splitting the halves over two GPU types is cheaper than any one of them.
    #[must_use]
    pub const fn is_split(&self) -> bool {
        self.attention != self.ffn
    }
}

impl CostTable {
    /// Computes it.
    ///
    /// # Errors
    /// No model, GPU or context, or a context out of bounds.
    pub fn new(
        models: &[&Model],
        hardware: Vec<Hardware>,
        contexts: Vec<u64>,
        terms: Terms,
        pipeline: Pipeline,
    ) -> Result<Self, TheoryError> {
        if models.is_empty() {
            return Err(TheoryError::Empty { what: "model" });
        }
        if hardware.is_empty() {
            return Err(TheoryError::Empty { what: "GPU" });
        }
        if contexts.is_empty() || contexts.len() > MAX_CONTEXTS {
            let count = contexts.len();
            return Err(TheoryError::Contexts { count });
        }
        if let Some(context) = contexts.iter().find(|c| !(1..=MAX_CONTEXT).contains(*c)) {
            return Err(TheoryError::Context { context: *context });
        }
        let models = models
            .iter()
            .map(|model| row(model, &hardware, &contexts, terms, &pipeline))
            .collect();
        Ok(Self {
            terms,
            pipeline,
            contexts,
            hardware,
            models,
        })
    }
}

fn row(
    model: &Model,
    hardware: &[Hardware],
    contexts: &[u64],
    terms: Terms,
    pipeline: &Pipeline,
) -> ModelCosts {
    let work: Vec<DecodeWork> = contexts
        .iter()
        .map(|context| decode_work(model, terms, *context))
        .collect();
    let costs: Vec<Vec<DecodeCost>> = work
        .iter()
        .map(|work| {
            hardware
                .iter()
                .map(|gpu| decode_cost(work, gpu, terms))
                .collect()
        })
        .collect();
    ModelCosts {
        id: model.id.clone(),
        name: model.name.clone(),
        hidden: model.hidden,
        layers: model.layer_count(),
        max_context: model.max_context,
        sparsity: sparsity(model),
        best: costs.iter().map(|costs| best(costs)).collect(),
        floors: hardware
            .iter()
            .map(|gpu| {
                let floor = sparsity_floor(model, gpu, terms, pipeline)?;
                Some((floor, routed_experts_for(model, floor)))
            })
            .collect(),
        work,
        costs,
    }
}

/// The cheapest of each half and of both; the first among equals.
fn best(costs: &[DecodeCost]) -> Best {
    let cheapest = |of: fn(&DecodeCost) -> Dollars| {
        costs
            .iter()
            .map(of)
            .enumerate()
            .min_by(|a, b| a.1.get().total_cmp(&b.1.get()))
            .unwrap_or_default()
    };
    let (attention, attention_cost) = cheapest(DecodeCost::attention);
    let (ffn, ffn_cost) = cheapest(|cost| cost.ffn);
    let (single, single_cost) = cheapest(DecodeCost::total);
    Best {
        attention,
        ffn,
        cost: attention_cost + ffn_cost,
        single,
        single_cost,
    }
}
