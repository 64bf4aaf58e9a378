//! How much an operator does: kernels, FLOPs and bytes.

use super::Operator;

impl Operator {
    /// Kernels that run one after another for it.
    #[must_use]
    pub const fn kernels(&self) -> u32 {
        match self {
            Self::Linear { .. }
            | Self::HeadProduct { .. }
            | Self::Prefill { .. }
            | Self::Step { .. }
            | Self::Convolution { .. } => 1,
            Self::Rows { kind, .. } => kind.kernels(),
            // The split-KV kernel and its combine; scores and the choice.
            Self::Decode { .. } | Self::Scores { .. } => 2,
            // Two grouped GEMMs, an activation, sorting tokens by expert, and the weighted sum.
            Self::Experts { .. } => 5,
            // flash-linear-attention's and SSD's forward: sums, scores, states, outputs.
            Self::Scan { .. } => 5,
        }
    }

    /// Floating-point operations (a multiply-add is two) and bytes moved.
    #[must_use]
    pub fn work(&self) -> (f64, f64) {
        match *self {
            Self::Linear {
                tokens,
                k,
                n,
                gemm,
                weights,
            } => {
                let activation = f64::from(u32::try_from(gemm.bits()).unwrap_or(16)) / 8.0;
                (
                    2.0 * tokens * k * n,
                    k * n * weights.bytes_each() + tokens * (k * activation + n * 2.0),
                )
            }
            Self::HeadProduct {
                tokens,
                heads,
                k,
                n,
            } => (
                2.0 * tokens * heads * k * n,
                2.0 * heads * (k * n + tokens * (k + n)),
            ),
            Self::Experts {
                tokens,
                copies,
                visited,
                hidden,
                intermediate,
                matrices,
                weights,
                ..
            } => (
                2.0 * matrices * copies * hidden * intermediate,
                visited * matrices * hidden * intermediate * weights.bytes_each()
                    + copies * (4.0 * hidden + 2.0 * matrices * intermediate)
                    // The weighted sum of the copies' outputs.
                    + (copies + tokens) * 2.0 * hidden,
            ),
            Self::Prefill {
                tokens,
                pairs,
                entries,
                heads,
                qk_dim,
                v_dim,
                kv_bytes,
                ..
            } => (
                2.0 * heads * (qk_dim + v_dim) * pairs,
                entries * kv_bytes + 2.0 * tokens * heads * (qk_dim + v_dim),
            ),
            Self::Decode {
                entries,
                flops,
                kv_bytes,
                ..
            } => (entries * flops, entries * kv_bytes),
            Self::Scores {
                queries,
                pairs,
                entries,
                heads,
                dim,
                dtype,
            } => (
                2.0 * heads * dim * pairs,
                // Queries and keys; FP32 scores are written, then read to choose.
                f64::from(u32::try_from(dtype.bits()).unwrap_or(16)) / 8.0
                    * (entries + queries * heads)
                    * dim
                    + 8.0 * pairs,
            ),
            Self::Step {
                sequences,
                flops,
                bytes,
                state_bytes,
                ..
            } => (sequences * flops, sequences * (bytes + 2.0 * state_bytes)),
            Self::Scan {
                tokens,
                flops,
                bytes,
                state_bytes,
                ..
            } => (tokens * flops, tokens * bytes + 2.0 * state_bytes),
            // Four taps; read and written.
            Self::Convolution { tokens, heads } => {
                let values = tokens * heads.channels();
                (8.0 * values, 4.0 * values)
            }
            Self::Rows {
                rows, width, bytes, ..
            } => (0.0, rows * width * bytes),
        }
    }
}
