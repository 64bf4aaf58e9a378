//! Serving another model: the pools follow the formats its checkpoint is published in.

use crate::model::{Model, Precision, own_precision};
use crate::plan::{Design, ModelRef};

/// Formats a quantised checkpoint has of its own; none: it leaves the choice.
#[must_use]
pub fn published_precision(model: &Model) -> Option<Precision> {
    model.quantization.map(|_| own_precision(model))
}

/// Serves a model. Pools take the formats of its checkpoint, `own`; where it has none, pools that
/// had taken those of the model `before` go back to BF16, others keep what was chosen.
pub fn serve(
    design: &mut Design,
    model: ModelRef,
    own: Option<Precision>,
    before: Option<Precision>,
) {
    design.model = model;
    for pool in &mut design.pools {
        let now = &mut pool.precision;
        let followed = before.is_some_and(|before| {
            (now.weights, now.activations) == (before.weights, before.activations)
        });
        let Some(next) = own.or(followed.then_some(Precision::BF16)) else {
            continue;
        };
        now.weights = next.weights;
        now.activations = next.activations;
        // BF16 is what is said where nothing is: the pool's choice stands.
        if next.kv != Precision::BF16.kv {
            now.kv = next.kv;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Dtype, ModelId};
    use crate::model::Models;
    use crate::project::{FIRST_EXAMPLE, example};

    fn preset(id: &str) -> (ModelRef, Option<Precision>) {
        let models = Models::embedded().unwrap();
        let id = ModelId::new(id).unwrap();
        let own = published_precision(models.get(&id).unwrap());
        (ModelRef::Preset(id), own)
    }

    #[test]
    fn pools_follow_a_quantised_checkpoint_there_and_back() {
        let mut design = example(FIRST_EXAMPLE).unwrap().designs.remove(0);
        let chosen = design.pools[0].precision;
        let (oss, mxfp4) = preset("gpt-oss-120b");
        let (qwen, bf16) = preset("qwen3-32b");
        assert_eq!(bf16, None);
        serve(&mut design, oss, mxfp4, None);
        assert_eq!(design.pools[0].precision.weights, Dtype::Mxfp4);
        serve(&mut design, qwen.clone(), bf16, mxfp4);
        assert_eq!(design.pools[0].precision.weights, Dtype::Bf16);
        // What the user chose for a model that leaves the choice stays.
        design.pools[0].precision = Precision {
            weights: Dtype::Fp8,
            ..chosen
        };
        serve(&mut design, qwen, None, None);
        assert_eq!(design.pools[0].precision.weights, Dtype::Fp8);
    }
}
