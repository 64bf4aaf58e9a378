//! What a new document and a new design start from.

use crate::catalog::ModelId;
use crate::cluster::Cluster;
use crate::plan::{Design, DesignId, ModelRef};
use crate::project::{CurveStudy, Project, Slo};
use crate::units::Seconds;
use crate::workload::Workload;

/// The letter a design is called by: A to Z, then A2, B2, …
#[must_use]
pub fn letter(index: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(index % 26).unwrap_or(0));
    match index / 26 {
        0 => letter.to_string(),
        lap => format!("{letter}{}", lap + 1),
    }
}

/// An id no design has.
#[must_use]
pub fn fresh_design_id(designs: &[Design]) -> DesignId {
    let mut n = designs.len() + 1;
    loop {
        let id = DesignId::from_label(&format!("design-{n}"));
        if designs.iter().all(|d| d.id != id) {
            return id;
        }
        n += 1;
    }
}

/// A name no design has.
#[must_use]
pub fn fresh_name(wanted: &str, designs: &[Design]) -> String {
    let taken = |name: &str| designs.iter().any(|d| d.name == name);
    if !taken(wanted) {
        return wanted.to_owned();
    }
    let mut n = 2;
    loop {
        let name = format!("{wanted} {n}");
        if !taken(&name) {
            return name;
        }
        n += 1;
    }
}

/// A design with nothing drawn, of the model the last one has.
#[must_use]
pub fn empty_design(designs: &[Design]) -> Design {
    let model = designs.last().map_or_else(
        || ModelRef::Preset(ModelId::from_label("qwen3-30b-a3b")),
        |d| d.model.clone(),
    );
    Design {
        id: fresh_design_id(designs),
        name: fresh_name("Empty", designs),
        cluster: Cluster::default(),
        model,
        pools: Vec::new(),
        services: Vec::new(),
        feeds: Vec::new(),
        routing: crate::plan::Routing::default(),
    }
}

/// A copy of a design, under an id and a name of its own.
#[must_use]
pub fn copy_of(design: &Design, designs: &[Design]) -> Design {
    let mut copy = design.clone();
    copy.id = fresh_design_id(designs);
    copy.name = fresh_name(&format!("{} copy", design.name), designs);
    copy
}

/// A document with one empty design.
#[must_use]
pub fn empty_project() -> Project {
    Project {
        name: "Untitled".to_owned(),
        story: String::new(),
        designs: vec![empty_design(&[])],
        workload: Workload::fixed(2048, 256, 2000),
        slo: Slo {
            ttft: Seconds::from_ms(1000.0),
            tpot: Seconds::from_ms(50.0),
            attainment: 0.9,
        },
        curve: CurveStudy {
            loads: Vec::new(),
            points: 8,
            percentile: 95.0,
        },
    }
}

/// The document with at least one design: the window always has one in view.
#[must_use]
pub fn whole(mut project: Project) -> Project {
    if project.designs.is_empty() {
        project.designs.push(empty_design(&[]));
    }
    project
}
