//! The measured error beside results: of a design's nearest validated kind, and whether designs can
//! be ranked by their predictions.

use super::curve::Curve;
use crate::report::load_value;
use crate::validation::{At, Ranking, Side, Validated, rank};
use serde_json::{Value, json};

/// Every pair of designs that share a load, ranked by mean TPOT at the highest one.
pub(super) fn rankings(curves: &[Curve<'_>]) -> Vec<Ranking> {
    let points: Vec<Vec<At>> = curves.iter().map(tpot).collect();
    let side = |index: usize| Side {
        name: &curves[index].design.name,
        points: &points[index],
        validated: curves[index].validated.as_ref(),
    };
    (0..curves.len())
        .flat_map(|a| (a + 1..curves.len()).map(move |b| (a, b)))
        .filter_map(|(a, b)| rank(&side(a), &side(b)))
        .collect()
}

fn tpot(curve: &Curve<'_>) -> Vec<At> {
    let at = |(load, summary): &(_, std::sync::Arc<crate::sim::Summary>)| At {
        load: load_value(*load),
        value: if summary.tpot_s.count > 0 {
            summary.tpot_s.mean
        } else {
            f64::NAN
        },
        saturated: summary.saturated,
    };
    curve.points.iter().map(at).collect()
}

/// A design's errors in JSON; null: nothing in it decodes.
pub(super) fn as_json(own: Option<&Validated>) -> Value {
    own.map_or(Value::Null, Validated::to_json)
}

/// Rankings in JSON.
pub(super) fn rankings_json(all: &[Ranking]) -> Value {
    let one = |own: &Ranking| {
        json!({
            "ahead": own.better,
            "behind": own.other,
            "load": own.load,
            "tpot_apart": own.apart,
            "tpot_needed": own.needed,
            "safe": own.is_safe(),
            "text": own.words(),
        })
    };
    all.iter().map(one).collect()
}
