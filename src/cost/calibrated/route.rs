//! Which kernel sends tokens to their experts' ranks: its shape, and which table prices it.

use super::expert_exchange::{Deepep, DeepepLowLatency, NvlinkExchange, Way, distinct};
use super::fidelity::{ANY_KERNEL, ONE_SIDED, TWO_SIDED};
use super::shape::Shape;
use crate::cost::routed::{Routed, RoutedBy};

/// SMs DeepEP's normal mode is given (its `Buffer.num_sms`, which vLLM and SGLang leave alone).
const DEEPEP_SMS: f64 = 20.0;

/// An exchange's shape, the precision and the kernel that price it. A way's bytes say more than its
/// format: one that sends other bytes than its table is one of a token as much wider or narrower, and
/// the one-sided exchange over NVLink was only measured with NVFP4's.
pub(super) fn route(asked: &Routed) -> Option<(Shape, &'static str, &'static str)> {
    let Routed {
        by,
        way,
        tokens,
        hidden,
        value_bytes,
        topk,
        experts,
        nic,
        ..
    } = *asked;
    let (ranks, nodes) = (f64::from(asked.ranks), f64::from(asked.domains));
    let as_deepep = hidden * value_bytes / way.deepep_bytes(1.0);
    match by {
        RoutedBy::Deepep { low_latency: true } => {
            let shape = DeepepLowLatency {
                way,
                tokens,
                hidden: as_deepep,
                topk,
                experts,
                ranks,
                nodes,
                nic,
            };
            let word = match way {
                Way::Dispatch => "fp8 dispatch",
                Way::Combine => "bfloat16 combine",
            };
            Some((Shape::DeepepLl(shape), word, ANY_KERNEL))
        }
        RoutedBy::Deepep { low_latency: false } => {
            let shape = Deepep {
                way,
                tokens,
                hidden: as_deepep,
                topk,
                experts,
                ranks,
                nodes,
                sms: DEEPEP_SMS,
                nic,
            };
            let word = match (way, asked.domains > 1) {
                (Way::Dispatch, false) => "fp8 dispatch",
                (Way::Combine, false) => "bfloat16 combine",
                (Way::Dispatch, true) => "fp8 dispatch rdma",
                (Way::Combine, true) => "bfloat16 combine rdma",
            };
            Some((Shape::DeepepNormal(shape), word, ANY_KERNEL))
        }
        RoutedBy::Nvlink { one_sided } if asked.domains == 1 => {
            let shape = NvlinkExchange {
                tokens,
                token_bytes: hidden * value_bytes,
                hidden,
                topk,
                experts,
                ranks,
                spread: distinct(topk, experts, ranks),
            };
            let (word, kernel) = match (one_sided, way) {
                (true, Way::Dispatch) => ("nvfp4 dispatch", ONE_SIDED),
                (true, Way::Combine) => ("nvfp4 combine", ONE_SIDED),
                (false, Way::Combine) => ("bfloat16 combine", TWO_SIDED),
                (false, Way::Dispatch) => (
                    if value_bytes <= 0.0 {
                        "bfloat16 prepare"
                    } else if value_bytes < 1.0 {
                        "nvfp4 dispatch"
                    } else if value_bytes < 2.0 {
                        "fp8 dispatch"
                    } else {
                        "bfloat16 dispatch"
                    },
                    TWO_SIDED,
                ),
            };
            Some((Shape::TrtllmAlltoall(shape), word, kernel))
        }
        RoutedBy::Nvlink { .. } | RoutedBy::Direct => None,
    }
}
