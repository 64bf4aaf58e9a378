//! Problem badges: what findings say about a card or a wire, at its corner.

use super::pen::Pen;
use super::scene::Scene;
use crate::cluster::{GroupId, LinkId};
use crate::plan::{Design, Finding, Place, Severity};
use eframe::egui::{Align2, Color32, FontId, Pos2, Stroke};
use std::collections::BTreeMap;

/// Most causes a tooltip lists.
const MOST_CAUSES: usize = 4;

/// The worst of a thing's findings, and what they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    pub severity: Severity,
    pub causes: Vec<String>,
}

/// Badges by place.
#[derive(Debug, Default)]
pub struct Badges {
    pub groups: BTreeMap<GroupId, Badge>,
    pub links: BTreeMap<LinkId, Badge>,
}

impl Badges {
    /// Sorts findings to what is drawn: a pool's to the first card that has its GPUs.
    pub fn of(design: &Design, scene: &Scene, findings: &[Finding]) -> Self {
        let mut badges = Self::default();
        for finding in findings {
            match &finding.place {
                Place::Group(id) => add(&mut badges.groups, id, finding),
                Place::Link(id) => add(&mut badges.links, id, finding),
                Place::Pool(id) => {
                    let first = design.pool(id).and_then(|pool| {
                        pool.gpus
                            .iter()
                            .find(|range| scene.index.contains_key(&range.group))
                    });
                    if let Some(range) = first {
                        add(&mut badges.groups, &range.group, finding);
                    }
                }
                Place::Design | Place::Service(_) | Place::Model | Place::Workload => {}
            }
        }
        badges
    }
}

fn add<K: Clone + Ord>(badges: &mut BTreeMap<K, Badge>, id: &K, finding: &Finding) {
    let badge = badges.entry(id.clone()).or_insert_with(|| Badge {
        severity: finding.severity,
        causes: Vec::new(),
    });
    badge.severity = badge.severity.min(finding.severity);
    if badge.causes.len() < MOST_CAUSES {
        badge.causes.push(finding.cause.clone());
    }
}

impl Badge {
    /// Its colour.
    pub fn color(&self, pen: &Pen<'_>) -> Color32 {
        match self.severity {
            Severity::Error => pen.theme.error,
            Severity::Warning => pen.theme.warning,
            Severity::Hint => pen.theme.accent,
        }
    }

    /// Paints it; it keeps its size at every zoom but the farthest.
    pub fn paint(&self, pen: &Pen<'_>, at: Pos2) {
        let radius = if pen.camera.zoom < 0.2 { 4.0 } else { 8.5 };
        pen.painter.circle(
            at,
            radius,
            self.color(pen),
            Stroke::new(1.5, pen.theme.canvas),
        );
        if radius > 5.0 {
            let sign = if self.severity == Severity::Hint {
                "i"
            } else {
                "!"
            };
            pen.painter.text(
                at,
                Align2::CENTER_CENTER,
                sign,
                FontId::proportional(11.5),
                pen.theme.card,
            );
        }
    }
}
