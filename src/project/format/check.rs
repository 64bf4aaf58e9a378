//! What the shape of a file can't say: sizes that only add up over the whole document.
//!
//! A drawing may be wrong in every way the program finds and explains (see `plan`); refused here
//! is only what could not be held or walked at all.

use super::document::Project;
use crate::cluster::{Cluster, Instances, MAX_GPUS, MAX_PARALLEL, Port, Wiring};
use crate::plan::{Design, ModelRef};
use crate::workload::{Arrivals, Length, Process, Workload};
use std::collections::BTreeSet;

/// Most single links the bundles of a design may stand for.
const MAX_LINKS: u64 = 4_194_304;
/// Largest parallel degree: the product of two fits the program's counters.
const MAX_DEGREE: u32 = 65_535;

/// Looks over a project that was read.
///
/// # Errors
/// Where it is wrong and what would be right.
pub(in crate::project) fn check(project: &Project) -> Result<(), String> {
    if project.designs.is_empty() {
        return Err("designs: a project has at least one design".to_owned());
    }
    let mut ids = BTreeSet::new();
    check_spreads(&project.workload)?;
    for design in &project.designs {
        if !ids.insert(&design.id) {
            return Err(format!("designs: two designs are called “{}”", design.id));
        }
        check_design(design).map_err(|why| format!("design “{}”: {why}", design.id))?;
    }
    Ok(())
}

/// Spreads are numbers; whether they can be drawn from, the workload's own check says.
fn check_spreads(workload: &Workload) -> Result<(), String> {
    let of_length = |length| match length {
        Length::LogNormal { cv, .. } => cv,
        Length::Fixed(_) | Length::Uniform { .. } => 0.0,
    };
    let of_gaps = match workload.arrivals {
        Arrivals::Open {
            process: Process::Gamma { cv },
        } => cv,
        Arrivals::Open { .. } | Arrivals::Closed | Arrivals::Trace => 0.0,
    };
    for (what, cv) in [
        ("arrivals", of_gaps),
        ("input", of_length(workload.input)),
        ("output", of_length(workload.output)),
    ] {
        if !cv.is_finite() {
            return Err(format!(
                "workload: {what}: cv is {cv}: expected a finite number"
            ));
        }
    }
    Ok(())
}

fn check_design(design: &Design) -> Result<(), String> {
    if let ModelRef::Inline(model) = &design.model {
        model.check().map_err(|error| format!("model: {error}"))?;
    }
    let mut gpus = 0_u64;
    for pool in &design.pools {
        let layout = pool.layout;
        for (name, degree) in [
            ("tp", layout.tp),
            ("pp", layout.pp),
            ("dp", layout.dp),
            ("ep", layout.ep),
            ("cp", layout.cp),
            ("redundant_experts", layout.redundant_experts),
        ] {
            if degree > MAX_DEGREE {
                return Err(format!(
                    "pool “{}”: {name} is {degree}: expected at most {MAX_DEGREE}",
                    pool.id
                ));
            }
        }
        for range in &pool.gpus {
            gpus = gpus.saturating_add(range.len());
        }
        if gpus > u64::from(MAX_GPUS) {
            return Err(format!(
                "pool “{}”: the pools name more than {MAX_GPUS} GPUs",
                pool.id
            ));
        }
    }
    check_links(&design.cluster)
}

/// A bundle from each to each multiplies: a line of file must not stand for a billion links.
fn check_links(cluster: &Cluster) -> Result<(), String> {
    let instances = |port: &Port| match port.instances {
        Instances::One(_) => 1,
        Instances::Each => cluster
            .group(&port.group)
            .map_or(0, |group| u64::from(group.count)),
    };
    let mut total = 0_u64;
    for link in &cluster.links {
        let pairs = match link.wiring {
            Wiring::All => instances(&link.a).saturating_mul(instances(&link.b)),
            Wiring::Pairwise | Wiring::Rails => instances(&link.a),
        };
        total = total.saturating_add(pairs.saturating_mul(u64::from(link.count.min(MAX_PARALLEL))));
        if total > MAX_LINKS {
            return Err(format!(
                "link “{}”: the bundles stand for more than {MAX_LINKS} links",
                link.id
            ));
        }
    }
    Ok(())
}
