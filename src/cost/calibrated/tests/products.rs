//! Products, attention and experts by their physics, in a fuzzed shape space.

use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{
    AttentionFormat, Call, ContextAttention, Decode, Gemm, GemmFormat, Hardware, Load, Moe,
    MoeFormat, Packing, Shape,
};
use proptest::prelude::*;

fn shapes(size: f64, wide: f64, heads: f64, context: f64) -> [Shape; 4] {
    [
        Shape::Gemm(Gemm {
            m: size,
            n: wide,
            k: 4096.0,
            format: GemmFormat::Bf16,
            call: Call::default(),
        }),
        Shape::ContextAttention(ContextAttention {
            batch: 1.0,
            tokens: size,
            prior: context,
            heads,
            kv_heads: 1.0,
            head_dim: 128.0,
            window: f64::INFINITY,
            format: AttentionFormat {
                fp8: false,
                fp8_cache: false,
            },
            eager: false,
        }),
        Shape::Decode(Decode {
            sequences: 16.0,
            entries: 16.0 * (context + size),
            heads,
            kv_heads: 1.0,
            qk_dim: 128.0,
            v_dim: 128.0,
            window: 0.0,
            past_window: 0.0,
            context: 16.0 * (context + size),
            kv_bytes: 2.0,
            packing: Packing::Groups,
            hot: false,
            eager: false,
        }),
        Shape::Moe(Moe {
            load: Load::balanced(size, 8.0, 128.0, 128.0),
            hidden: 2048.0,
            intermediate: wide / 8.0,
            local: 128.0,
            experts: 128.0,
            gated: true,
            format: MoeFormat::Bf16,
            resident: false,
            eager: false,
        }),
    ]
}

proptest! {
    #[test]
    fn times_are_finite_and_better_hardware_is_never_slower(
        size in 1u32..20_000,
        wide in 1u32..500,
        heads in 1u32..64,
        context in 0u32..200_000,
        faster in 1.0f64..4.0,
    ) {
        let catalog = Catalog::embedded().unwrap();
        let gpu = catalog.gpu(&GpuId::new("h100-sxm").unwrap()).unwrap();
        let hardware = Hardware::of(gpu);
        let wide = f64::from(wide) * 64.0;
        for shape in shapes(f64::from(size), wide, f64::from(heads), f64::from(context)) {
            let starts: Vec<f64> = shape.family().parameters().iter().map(|own| own.start).collect();
            let time = |hardware: &Hardware| shape.physics(hardware, &starts).seconds;
            let now = time(&hardware);
            prop_assert!(now.is_finite() && now > 0.0, "{shape:?}: {now}");
            let bandwidth = Hardware { bandwidth: hardware.bandwidth * faster, ..hardware };
            prop_assert!(time(&bandwidth) <= now * (1.0 + 1e-9), "bandwidth: {shape:?}");
            let peak = Hardware { bf16: hardware.bf16 * faster, fp8: hardware.fp8 * faster, ..hardware };
            prop_assert!(time(&peak) <= now * (1.0 + 1e-9), "peak: {shape:?}");
        }
    }
}
