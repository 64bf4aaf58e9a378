//! What we ship, asked at and beyond the edge of what was measured.

use crate::catalog::{Catalog, Dtype, GpuId};
use crate::cost::calibrated::{
    AttentionFormat, Calibrated, Calibrations, ContextAttention, Decode, Family, Hardware, Packing,
    Shape, Surface,
};
use crate::cost::operator::{Fidelity, Operator, Origin};
use crate::model::WeightFormat;
use crate::plan::{Engine, EngineKind, Layout};
use std::sync::Arc;

/// A shape of a surface's family with one size at so many times the largest measured.
fn at_edge(surface: &Surface, times: f64) -> Option<Shape> {
    let largest = |feature: usize| libm::exp(surface.range[feature].1);
    let (heads, kv_heads) = (32.0, 8.0);
    match surface.id.family {
        // Sizes: batch, tokens, …
        Family::ContextAttention => Some(Shape::ContextAttention(ContextAttention {
            batch: 1.0,
            tokens: largest(1) * times,
            prior: 0.0,
            heads,
            kv_heads,
            head_dim: 128.0,
            window: f64::INFINITY,
            format: AttentionFormat {
                fp8: surface.id.precision.starts_with("fp8"),
                fp8_cache: surface.id.precision.ends_with("fp8"),
            },
            eager: false,
        })),
        // Sequences, tokens of each, …: of both, the tokens, at the batch that still has them.
        Family::Decode => {
            let tokens = largest(1) * times;
            let entries = 4.0 * tokens;
            let shape = Decode {
                sequences: 4.0,
                entries,
                heads,
                kv_heads,
                qk_dim: 128.0,
                v_dim: 128.0,
                window: 0.0,
                past_window: 0.0,
                context: entries,
                kv_bytes: if surface.id.precision.ends_with("fp8") {
                    1.0
                } else {
                    2.0
                },
                packing: Packing::Groups,
                hot: false,
                eager: false,
            };
            Some(Shape::Decode(shape).run_by(&surface.id.engine, &surface.id.kernel))
        }
        _ => None,
    }
}

/// Across the edge of one size the physics goes on. The forest stays what it was, but for features
/// of several sizes that are still inside their ranges: its step is under 15 % everywhere and
/// under 5 % for nine surfaces in ten.
#[test]
fn attention_goes_on_beyond_what_was_measured() {
    let calibrations = Calibrations::embedded().unwrap();
    let catalog = Catalog::embedded().unwrap();
    let (mut asked, mut smooth) = (0, 0);
    for surface in calibrations.surfaces() {
        let hardware = Hardware::of(catalog.gpu(&surface.id.gpu).unwrap());
        let time = |times: f64| {
            at_edge(surface, times).map(|shape| surface.estimate(&hardware, &shape).parts.seconds)
        };
        if surface.held_out.rows < 2000 {
            continue;
        }
        // A 64th on: still whole tiles of tokens, which some kernels go by.
        let further = 65.0 / 64.0;
        let (Some(at), Some(beyond)) = (time(1.0), time(further)) else {
            continue;
        };
        // Work of a prompt grows with its square at most.
        let step = beyond / at;
        assert!((0.85..1.19).contains(&step), "{:?}: {step}", surface.id);
        smooth += i32::from((0.95..1.085).contains(&step));
        let double = time(16.0).unwrap() / time(8.0).unwrap();
        assert!((1.6..4.4).contains(&double), "{:?}: {double}", surface.id);
        asked += 1;
    }
    assert!(asked > 60, "{asked} surfaces");
    assert!(smooth * 10 >= asked * 9, "{smooth} of {asked}");
}

/// cases.md T38: outside a profile's grid there is a price, and it says how far outside.
#[test]
fn a_shape_outside_the_grid_says_how_far() {
    let catalog = Arc::new(Catalog::embedded().unwrap());
    let calibrations = Calibrations::embedded().unwrap();
    let fidelity = Calibrated::new(Arc::clone(&calibrations), Arc::clone(&catalog));
    let gpu = catalog.gpu(&GpuId::new("h100-sxm").unwrap()).unwrap();
    let engine = Engine::defaults(EngineKind::Vllm, gpu, Layout::SINGLE);
    let prices = fidelity.on(gpu, &engine);
    let price = |tokens: f64| {
        prices.price(&Operator::Linear {
            tokens,
            k: 4096.0,
            n: 4096.0,
            gemm: Dtype::Bf16,
            weights: WeightFormat::plain(Dtype::Bf16),
        })
    };
    let inside = price(4096.0);
    assert_eq!(
        (inside.origin, inside.label().as_str()),
        (Origin::Calibrated, "calibrated")
    );
    let most = calibrations
        .surfaces()
        .iter()
        .filter(|own| own.id.gpu == gpu.id && own.id.family == Family::Gemm)
        .map(|own| libm::exp(own.range[0].1))
        .fold(0.0, f64::max);
    let far = price(80.0 * libm::round(most));
    assert_eq!(far.origin, Origin::Extrapolated);
    assert_eq!(far.label(), "calibrated, extrapolated ×80");
    assert!(far.seconds > 40.0 * price(libm::round(most)).seconds);
    assert!(
        far.band.above > inside.band.above + 0.4,
        "the farther, the less is known"
    );
    // None of the shape's sizes may be so small that there is no time.
    assert!(price(1e-3).seconds > 0.0);
}
