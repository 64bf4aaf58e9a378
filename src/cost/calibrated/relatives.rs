//! Which GPUs may stand in for one that was never measured.
//!
//! Kernels are written for an architecture, so kin of the same one come first, then those of the
//! same maker; among them the nearest in SMs, bandwidth and peak. Another maker's kernels are other
//! kernels: nothing stands in for those, and roofline prices them.
//!
//! What happens between GPUs needs GPUs joined alike. On PCIe it is the host's doing (a switch, peer
//! to peer or not: four L40S of one measured server pass 5 GB/s), so nothing stands in there.

use super::shape::Family;
use crate::catalog::{Catalog, Gpu, GpuId, ScaleUpKind};

/// GPUs of the same maker whose kernels of a family may stand in, nearest first, without the GPU
/// itself.
#[must_use]
pub fn relatives(gpu: &Gpu, family: Family, catalog: &Catalog) -> Vec<GpuId> {
    let joined_alike = |own: &Gpu| {
        !family.between_gpus()
            || own.scale_up_kind == gpu.scale_up_kind && gpu.scale_up_kind != ScaleUpKind::Pcie
    };
    let mut kin: Vec<(f64, &GpuId)> = catalog
        .gpus()
        .filter(|own| own.vendor == gpu.vendor && own.id != gpu.id && joined_alike(own))
        .map(|own| (distance(gpu, own), &own.id))
        .collect();
    kin.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    kin.into_iter().map(|(_, id)| id.clone()).collect()
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
