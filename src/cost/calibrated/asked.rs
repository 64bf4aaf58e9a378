//! Which kernel an operator is: its shape, and its number formats in the tables' words, the most
//! fitting first.

use super::gemm::{Call, Gemm, GemmFormat};
use super::shape::Shape;
use crate::catalog::Dtype;
use crate::cost::operator::Operator;
use crate::model::WeightFormat;

/// The shape to price and the precisions that may price it; nothing where no family has it.
pub(super) fn asked(operator: &Operator) -> Option<(Shape, &'static [&'static str])> {
    match *operator {
        Operator::Linear {
            tokens,
            k,
            n,
            gemm,
            weights,
        } => {
            let (format, words) = gemm_format(gemm, weights);
            Some((
                Shape::Gemm(Gemm {
                    m: tokens,
                    n,
                    k,
                    format,
                // Serving fuses the quantising into what is before it, and runs graphs.
                call: Call::default(),
                }),
                words,
            ))
        }
        _ => None,
    }
}

/// A product's format and the tables that may price it.
fn gemm_format(gemm: Dtype, weights: WeightFormat) -> (GemmFormat, &'static [&'static str]) {
    match (gemm, weights.dtype) {
        (Dtype::Fp8, _) if weights.scale.is_some() => (GemmFormat::Fp8Block, &["fp8_block", "fp8"]),
        (Dtype::Fp8, _) => (GemmFormat::Fp8, &["fp8", "fp8_static"]),
        (Dtype::Fp4 | Dtype::Mxfp4, _) => (GemmFormat::Nvfp4, &["nvfp4"]),
        (Dtype::Int8, _) => (GemmFormat::Int8, &["sq"]),
        (_, Dtype::Int8 | Dtype::Fp8) => (GemmFormat::W8a16, &["int8_wo"]),
        (_, Dtype::Int4 | Dtype::Fp4 | Dtype::Mxfp4) => (GemmFormat::W4a16, &["int4_wo"]),
        _ => (GemmFormat::Bf16, &["bfloat16"]),
    }
}
