//! The measured error beside a result: the validated kind of deployment nearest to it, and in words
//! what differs.
//!
//! Distance: another GPU of the same architecture 1, of another one 2, another precision 2, another
//! engine 3, prefill and decode together instead of apart or the other way around 3. Further than
//! [`NEAR`], or dense instead of MoE: outside what was validated. A band that is another kind's is
//! taken half as wide again: what leaving a model or a GPU out of a fit may cost.

use super::kind::{Kind, Mode};
use super::known::{KnownErrors, KnownGroup, Spread};
use crate::catalog::{Catalog, GpuId};
use crate::plan::Plan;
use serde_json::{Value, json};

/// The greatest distance that is still near.
const NEAR: u32 = 4;
/// How much wider the band of another kind is.
const WIDER: f64 = 1.5;

/// What of a deployment decides which errors are its.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployed {
    /// Its kind.
    pub kind: Kind,
    /// GPUs of the replica that decodes.
    pub gpus: u32,
    /// Longest prompt and answer together, tokens.
    pub context: u64,
    /// Whether tokens are drafted.
    pub drafts: bool,
}

impl Deployed {
    /// Of a plan that serves contexts of such a length; none: nothing in it decodes.
    #[must_use]
    pub fn of(plan: &Plan, context: u64) -> Option<Self> {
        let kind = Kind::of(plan)?;
        let pools = || {
            plan.pools
                .iter()
                .filter(|pool| pool.engine.kind == kind.engine)
        };
        Some(Self {
            gpus: pools().map(|pool| pool.layout.gpus()).max().unwrap_or(0),
            drafts: plan
                .pools
                .iter()
                .any(|pool| pool.engine.speculation.is_some()),
            kind,
            context,
        })
    }
}

/// The errors that are a deployment's, as far as any are.
#[derive(Debug, Clone, PartialEq)]
pub struct Validated {
    /// What was asked about.
    pub kind: Kind,
    /// The nearest group; none: outside what was validated.
    pub group: Option<KnownGroup>,
    /// What differs from it.
    pub differs: Vec<&'static str>,
    /// In what the deployment goes beyond what was measured.
    pub beyond: Vec<String>,
}

impl KnownErrors {
    /// The errors nearest to a deployment priced by a fidelity.
    #[must_use]
    pub fn nearest(&self, own: &Deployed, fidelity: &str, catalog: &Catalog) -> Validated {
        let mut found = Validated {
            kind: own.kind.clone(),
            group: None,
            differs: Vec::new(),
            beyond: Vec::new(),
        };
        if fidelity != self.fidelity {
            let whose = if self.fidelity.is_empty() {
                "nothing was validated yet".to_owned()
            } else {
                format!("{} prices alone were validated", self.fidelity)
            };
            found.beyond.push(whose);
            return found;
        }
        let near = self
            .groups
            .iter()
            .filter_map(|group| {
                let (distance, differs) = distance(&own.kind, &group.kind, catalog)?;
                (distance <= NEAR).then_some((distance, group, differs))
            })
            .min_by_key(|(distance, group, _)| (*distance, std::cmp::Reverse(group.conditions)));
        let Some((_, group, differs)) = near else {
            return found;
        };
        found.differs = differs;
        if own.gpus > group.gpus {
            found.beyond.push(format!(
                "a replica of {} GPUs, validated up to {}",
                own.gpus, group.gpus
            ));
        }
        if own.context > u64::from(group.context) {
            found.beyond.push(format!(
                "contexts of {} tokens, validated up to {}",
                own.context, group.context
            ));
        }
        if own.drafts {
            found.beyond.push("drafted tokens".to_owned());
        }
        found.group = Some(group.clone());
        found
    }
}

/// How far kinds are apart, and in what; none: nothing of one says anything of the other.
fn distance(own: &Kind, known: &Kind, catalog: &Catalog) -> Option<(u32, Vec<&'static str>)> {
    if own.experts != known.experts || own.mode == Mode::AttentionFfn {
        return None;
    }
    let architecture = |id: &GpuId| catalog.gpu(id).map(|gpu| gpu.architecture.as_str());
    let mut all = Vec::new();
    if own.gpu != known.gpu {
        let same = architecture(&own.gpu).is_some_and(|a| architecture(&known.gpu) == Some(a));
        all.push(if same {
            (1, "another GPU")
        } else {
            (2, "a GPU of another architecture")
        });
    }
    if own.weights != known.weights {
        all.push((2, "another precision"));
    }
    if own.engine != known.engine {
        all.push((3, "another engine"));
    }
    if own.mode != known.mode {
        all.push((3, known.mode.name()));
    }
    Some((
        all.iter().map(|(far, _)| far).sum(),
        all.into_iter().map(|(_, words)| words).collect(),
    ))
}

/// A share in percent, as errors are said: `4 %`, `0.6 %`.
fn percent(share: f64) -> String {
    if share < 0.0095 {
        format!("{:.1} %", share * 100.0)
    } else {
        format!("{:.0} %", share * 100.0)
    }
}

impl Validated {
    /// `H200 · vLLM · dense · FP8: TPOT median 4 % on 57 points`, with what differs and what is beyond.
    #[must_use]
    pub fn words(&self) -> String {
        let beyond = self.beyond.join(", ");
        let Some(group) = &self.group else {
            let why = if beyond.is_empty() {
                format!("no measured deployment is near {}", self.kind.words())
            } else {
                beyond
            };
            return format!("outside what was validated: {why}");
        };
        let errors = format!(
            "{}: TPOT median {}, TTFT {} on {} points",
            group.kind.words(),
            percent(group.tpot.median),
            percent(group.ttft.median),
            group.conditions
        );
        let mut words = if self.differs.is_empty() {
            errors
        } else {
            let differs = self.differs.join(", ");
            format!("nearest validated is {differs}: {errors}")
        };
        if !beyond.is_empty() {
            words.push_str(&format!("; beyond it: {beyond}"));
        }
        words
    }

    /// The same for where there is little room.
    #[must_use]
    pub fn short(&self) -> String {
        match &self.group {
            None => "not validated".to_owned(),
            Some(group) => {
                let mark = if self.is_exact() { "" } else { "≈ " };
                format!(
                    "{mark}TPOT off by {} in validation",
                    percent(group.tpot.median)
                )
            }
        }
    }

    /// Whether deployments of its very kind were measured, and as large ones.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.group.is_some() && self.differs.is_empty() && self.beyond.is_empty()
    }

    /// Where the truth is, as factors of a predicted TPOT, four of five times.
    #[must_use]
    pub fn tpot(&self) -> Option<(f64, f64)> {
        self.band(|group| group.tpot)
    }

    /// The same of a predicted TTFT.
    #[must_use]
    pub fn ttft(&self) -> Option<(f64, f64)> {
        self.band(|group| group.ttft)
    }

    fn band(&self, of: fn(&KnownGroup) -> Spread) -> Option<(f64, f64)> {
        let own = of(self.group.as_ref()?);
        let wider = if self.is_exact() { 1.0 } else { WIDER };
        // Another kind's bias says little of one's own: the band reaches the prediction.
        let (p10, p90) = if self.is_exact() {
            (own.p10, own.p90)
        } else {
            (own.p10.min(0.0), own.p90.max(0.0))
        };
        let wide = Spread {
            p10: p10 * wider,
            p90: p90 * wider,
            ..own
        };
        Some(wide.band())
    }

    /// For programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let spread = |own: &Spread, band: Option<(f64, f64)>| {
            json!({
                "median_ape": own.median,
                "log_p10": own.p10,
                "log_p90": own.p90,
                "band": band.map(|(low, high)| [low, high]),
            })
        };
        json!({
            "kind": self.kind.words(),
            "outside": self.group.is_none(),
            "exact": self.is_exact(),
            "nearest": self.group.as_ref().map(|group| json!({
                "kind": group.kind.words(),
                "points": group.conditions,
                "tpot": spread(&group.tpot, self.tpot()),
                "ttft": spread(&group.ttft, self.ttft()),
            })),
            "differs": self.differs,
            "beyond": self.beyond,
            "text": self.words(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::group;
    use super::*;
    use crate::catalog::Dtype;
    use crate::plan::EngineKind;

    fn known() -> KnownErrors {
        let mut moe = group("b200-sxm", 30);
        moe.kind.experts = true;
        KnownErrors {
            fidelity: "calibrated".to_owned(),
            groups: vec![group("h100-sxm", 12), group("h200-sxm", 57), moe],
        }
    }

    fn asked(gpu: &str) -> Deployed {
        Deployed {
            kind: group(gpu, 1).kind,
            gpus: 8,
            context: 4096,
            drafts: false,
        }
    }

    #[test]
    fn the_nearest_kind_is_found_and_said() {
        let (known, catalog) = (known(), Catalog::load(None).unwrap());
        let ask = |own: &Deployed| known.nearest(own, "calibrated", &catalog);
        let own = ask(&asked("h200-sxm"));
        assert_eq!(
            own.words(),
            "H200 · vLLM · dense · FP8: TPOT median 4 %, TTFT 15 % on 57 points"
        );
        let (low, high) = own.tpot().unwrap();
        assert!(low < 1.0 && high > 1.0 && own.is_exact());

        // Of two of its architecture, the one with more points.
        let other = ask(&asked("h20-96"));
        assert!(
            other.words().contains("another GPU: H200"),
            "{}",
            other.words()
        );
        let (wide_low, wide_high) = other.tpot().unwrap();
        assert!(
            wide_low < low && wide_high > high,
            "a stranger's band is wider"
        );
        let blackwell = ask(&asked("b200-sxm"));
        assert_eq!(blackwell.differs, ["a GPU of another architecture"]);

        let mut large = asked("h200-sxm");
        (large.gpus, large.context, large.drafts) = (32, 65_536, true);
        let large = ask(&large);
        assert_eq!(large.beyond.len(), 3, "{}", large.words());
        assert!(!large.is_exact());
    }

    #[test]
    fn what_is_far_from_everything_is_outside() {
        let (known, catalog) = (known(), Catalog::load(None).unwrap());
        let mut far = asked("b200-sxm");
        far.kind.engine = EngineKind::Sglang;
        far.kind.weights = Dtype::Bf16;
        let mut apart = asked("h200-sxm");
        apart.kind.mode = Mode::AttentionFfn;
        let mut moe = asked("h200-sxm");
        moe.kind.experts = true;
        moe.kind.engine = EngineKind::Sglang;
        for own in [far, apart, moe] {
            let found = known.nearest(&own, "calibrated", &catalog);
            assert_eq!((found.group.is_none(), found.tpot()), (true, None));
            assert!(found.words().starts_with("outside what was validated"));
            assert_eq!(found.to_json()["outside"], true);
        }
        let roofline = known.nearest(&asked("h200-sxm"), "roofline", &catalog);
        assert!(roofline.words().contains("calibrated prices alone"));
    }
}
