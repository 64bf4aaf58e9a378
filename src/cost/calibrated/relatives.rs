//! Which GPUs may stand in for one that was never measured.
//!
//! Kernels are written for an architecture, so kin of the same one come first, then those of the
//! same maker; among them the nearest in SMs, bandwidth and peak. Another maker's kernels are other
//! kernels: nothing stands in for those, and roofline prices them.
//!
//! How far off a relative may be was measured among GPUs that are nearly alike. One with much less
//! arithmetic for its bandwidth is another matter: what was free beside the memory decides there (an
//! H20's decode attention, whose kernel pads 16 heads to a tile of 64, against an H200's). That is its
//! strain, which is added to the error expected.
//!
//! What happens between GPUs needs GPUs joined alike. On PCIe it is the host's doing (a switch, peer
//! to peer or not: four L40S of one measured server pass 5 GB/s), so nothing stands in there.

use super::shape::Family;
use crate::catalog::{Catalog, Gpu, GpuId, ScaleUpKind};

/// A GPU that may stand in for another.
#[derive(Debug, Clone, PartialEq)]
pub struct Relative {
    /// Which.
    pub gpu: GpuId,
    /// Share by which its surfaces may be farther off than where they were seen to stand in.
    pub strain: f64,
}

/// GPUs of the same maker whose kernels of a family may stand in, nearest first, without the GPU
/// itself.
#[must_use]
pub fn relatives(gpu: &Gpu, family: Family, catalog: &Catalog) -> Vec<Relative> {
    let joined_alike = |own: &Gpu| {
        !family.between_gpus()
            || own.scale_up_kind == gpu.scale_up_kind && gpu.scale_up_kind != ScaleUpKind::Pcie
    };
    let mut kin: Vec<(f64, &Gpu)> = catalog
        .gpus()
        .filter(|own| own.vendor == gpu.vendor && own.id != gpu.id && joined_alike(own))
        .map(|own| (distance(gpu, own), own))
        .collect();
    kin.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.id.cmp(&b.1.id)));
    kin.into_iter()
        .map(|(_, own)| Relative {
            gpu: own.id.clone(),
            strain: if family.between_gpus() {
                0.0
            } else {
                strain(gpu, own)
            },
        })
        .collect()
}

/// Of the logarithm of two GPUs' ratio of FLOP/s to bandwidth, so much is among those whose standing
/// in was measured (H100 and H200: 0.36).
const ALIKE: f64 = 0.4;
/// Error for each unit of that logarithm beyond. One case: an H20's decode attention by an H200's (1.7
/// apart) is 30 to 50 % off Step-3's report, of which some 5 % is what alike GPUs have.
const PER_UNIT: f64 = 0.25;

fn strain(a: &Gpu, b: &Gpu) -> f64 {
    let intensity = |gpu: &Gpu| gpu.peaks.bf16.get() / gpu.bandwidth.get();
    let apart = libm::log(intensity(a) / intensity(b)).abs();
    if apart.is_finite() {
        PER_UNIT * (apart - ALIKE).max(0.0)
    } else {
        0.0
    }
}

/// Sum of the logarithms of the ratios of SMs, bandwidth and peak, more for another architecture.
fn distance(a: &Gpu, b: &Gpu) -> f64 {
    let apart = |a: f64, b: f64| libm::log(a / b).abs();
    let word = |gpu: &Gpu| {
        gpu.architecture
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let architecture = match (a.architecture == b.architecture, word(a) == word(b)) {
        (true, _) => 0.0,
        // Blackwell and Blackwell Ultra.
        (false, true) => 0.3,
        (false, false) => 3.0,
    };
    architecture
        + apart(f64::from(a.sms), f64::from(b.sms))
        + apart(a.bandwidth.get(), b.bandwidth.get())
        + apart(a.peaks.bf16.get(), b.peaks.bf16.get())
        + apart(a.l2.as_f64(), b.l2.as_f64()) * 0.5
}
