//! The calibrated and the measured fidelity: each operator by the surface nearest to what is
//! asked, by the roofline where there is none.

use super::asked::asked;
use super::backends::{is_served, named_kernel, tags};
use super::exchange::{Collective, EngineAllReduce, Exchange};
use super::hardware::Hardware;
use super::quantising;
use super::relatives::relatives;
use super::route::route;
use super::rows;
use super::shape::{Family, Shape};
use super::store::{Calibrations, Match, Wanted};
use super::surface::{Estimate, Surface};
use crate::catalog::{Catalog, Gpu};
use crate::cost::operator::{
    Band, Fidelity, Joint, MEASURED_UP_TO, OpCost, Operator, Origin, Prices, RowKind,
    TransferEngine,
};
use crate::cost::roofline::RooflineOn;
use crate::cost::routed::Routed;
use crate::plan::{Engine, EngineKind, Kernels};
use std::sync::{Arc, Mutex, PoisonError};

/// A GPU, an engine, its version, and their prices.
type Made = (Gpu, EngineKind, String, Kernels, u64, Arc<CalibratedOn>);

/// Prices by calibrations.
#[derive(Debug)]
pub struct Calibrated {
    name: &'static str,
    calibrations: Arc<Calibrations>,
    catalog: Arc<Catalog>,
    /// What was made, by GPU and engine: every run of a curve asks for the same.
    made: Mutex<Vec<Made>>,
}

impl Calibrated {
    /// By fits.
    #[must_use]
    pub const fn new(calibrations: Arc<Calibrations>, catalog: Arc<Catalog>) -> Self {
        Self {
            name: "calibrated",
            calibrations,
            catalog,
            made: Mutex::new(Vec::new()),
        }
    }

    /// By a user's own measurements first: surfaces that keep what their fit leaves.
    #[must_use]
    pub const fn measured(calibrations: Arc<Calibrations>, catalog: Arc<Catalog>) -> Self {
        Self {
            name: "measured",
            calibrations,
            catalog,
            made: Mutex::new(Vec::new()),
        }
    }
}

impl Fidelity for Calibrated {
    fn name(&self) -> &'static str {
        self.name
    }

    fn on(&self, gpu: &Gpu, engine: &Engine) -> Arc<dyn Prices> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let sustained = engine.sustained.to_bits();
        let known = made.iter().find(|(own, kind, version, kernels, load, _)| {
            (own, *kind, version, *kernels, *load)
                == (gpu, engine.kind, &engine.version, engine.kernels, sustained)
        });
        if let Some((.., prices)) = known {
            return Arc::clone(prices) as Arc<dyn Prices>;
        }
        let prices = Arc::new(CalibratedOn::of(
            &self.calibrations,
            &self.catalog,
            gpu,
            engine,
        ));
        made.push((
            gpu.clone(),
            engine.kind,
            engine.version.clone(),
            engine.kernels,
            sustained,
            Arc::clone(&prices),
        ));
        prices
    }

    fn transfer(&self) -> TransferEngine {
        TRANSFER
    }
}

/// An engine's name in tables.
#[must_use]
pub const fn table_name(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Vllm => "vllm",
        EngineKind::Sglang => "sglang",
        EngineKind::TensorRtLlm => "trtllm",
    }
}

/// A surface in use.
#[derive(Debug, Clone)]
struct Chosen {
    surface: Arc<Surface>,
    near: Match,
    band: Band,
    /// Share of its launch that is the kernel's own, see [`quantising::own_launch`].
    launch: f64,
    /// Kernels of the same product an engine that times them all at its start may take instead.
    rivals: Vec<(Arc<Surface>, f64)>,
}

impl Chosen {
    fn of((surface, near, band): rows::Found<'_>, launch: f64) -> Self {
        Self {
            surface: Arc::clone(surface),
            near,
            band,
            launch,
            rivals: Vec::new(),
        }
    }
}

/// Whatever kernel the engine uses most.
pub(super) const ANY_KERNEL: &str = "";
/// TensorRT-LLM's two exchanges over NVLink, by their names in tables.
pub(super) const TWO_SIDED: &str = "NVLinkTwoSided";
pub(super) const ONE_SIDED: &str = "NVLinkOneSided";

/// One engine's kernels on one GPU.
#[derive(Debug, Clone)]
pub struct CalibratedOn {
    engine: EngineKind,
    /// How much longer a kernel takes that keeps the tensor cores wholly busy, as a share.
    sustained: f64,
    hardware: Hardware,
    roofline: RooflineOn,
    chosen: Vec<(Family, Chosen)>,
    /// Of row-wise kernels, by what they do.
    rows: Vec<(RowKind, Chosen)>,
}

/// How an operator was priced: what results and the window show of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// By which surface.
    pub surface: Arc<Surface>,
    /// How near it is to what was asked.
    pub near: Match,
    /// The price.
    pub estimate: Estimate,
}

impl CalibratedOn {
    fn of(calibrations: &Calibrations, catalog: &Catalog, gpu: &Gpu, engine: &Engine) -> Self {
        let calibrations = &calibrations.only(is_served);
        let mut chosen = Vec::new();
        let (kind, sustained) = (engine.kind, engine.sustained);
        for (family, precision) in calibrations.kinds() {
            let own = engine;
            // A library of its own has versions of its own: the newest. Tables name it by the engine
            // they measured it in.
            let (engine, version) = match family {
                Family::Nccl => ("nccl", ""),
                Family::DeepepNormal | Family::DeepepLl => ("sglang", ""),
                Family::TrtllmAlltoall => ("trtllm", ""),
                _ => (table_name(engine.kind), engine.version.as_str()),
            };
            let kernels: &[&str] = match family {
                Family::TrtllmAlltoall => &[TWO_SIDED, ONE_SIDED],
                _ => &[ANY_KERNEL],
            };
            let kin = relatives(gpu, family, catalog);
            for kernel in kernels {
                let wanted = Wanted {
                    gpu: &gpu.id,
                    family,
                    precision,
                    engine,
                    version,
                    kernel,
                    tags: tags(own, gpu, family),
                };
                let found = calibrations
                    .find(&wanted, &kin)
                    .filter(|(surface, _)| *kernel == ANY_KERNEL || surface.id.kernel == *kernel)
                    .map(|found| named_kernel(calibrations, &wanted, found, &kin));
                if let Some((surface, near)) = found {
                    let band = calibrations.band_among(&kin, surface, near);
                    let mut own = Chosen::of(
                        (surface, near, band),
                        quantising::own_launch(calibrations, surface),
                    );
                    own.rivals = quantising::rivals(calibrations, surface, kind);
                    chosen.push((family, own));
                }
            }
        }
        let kin = relatives(gpu, Family::ScaleMatrix, catalog);
        let row = |kind: RowKind| {
            let found = rows::surface(calibrations, &gpu.id, &kin, engine.kind, kind)?;
            Some((kind, Chosen::of(found, 1.0)))
        };
        Self {
            engine: kind,
            sustained,
            hardware: Hardware::of(gpu),
            roofline: RooflineOn::of(gpu),
            chosen,
            rows: RowKind::ALL.into_iter().filter_map(row).collect(),
        }
    }

    /// How an operator is priced, if not by the roofline.
    #[must_use]
    pub fn explain(&self, operator: &Operator) -> Option<Explained> {
        let (own, estimate) = self.estimate(operator)?;
        Some(Explained {
            surface: Arc::clone(&own.surface),
            near: own.near,
            estimate,
        })
    }

    fn estimate(&self, operator: &Operator) -> Option<(&Chosen, Estimate)> {
        if let Operator::Rows { kind, .. } = operator {
            let (_, own) = self.rows.iter().find(|(known, _)| known == kind)?;
            let shape = rows::shape(operator, &own.surface)?;
            return Some((own, own.surface.estimate(&self.hardware, &shape)));
        }
        let (shape, precisions) = asked(operator)?;
        self.estimate_shape(&self.hardware, shape, precisions, ANY_KERNEL)
    }

    fn estimate_shape(
        &self,
        hardware: &Hardware,
        shape: Shape,
        precisions: &[&str],
        kernel: &str,
    ) -> Option<(&Chosen, Estimate)> {
        // TensorRT-LLM and TensorRT-LLM's kernels in SGLang multiply prompts' attention in FP8 where the
        // cache is (`attn_backend trtllm`, `trtllm_mha`).
        let fp8 = precisions.contains(&"fp8 kv fp8") && self.engine != EngineKind::Vllm;
        let wider = precisions.iter().rev().filter(move |_| fp8);
        let own = wider.chain(precisions).find_map(|precision| {
            let fits = |(family, own): &&(Family, Chosen)| {
                *family == shape.family()
                    && own.surface.id.precision == *precision
                    && (kernel == ANY_KERNEL || own.surface.id.kernel == kernel)
            };
            self.chosen.iter().find(fits)
        })?;
        let surface = &own.1.surface;
        let shape = shape
            .run_by(&surface.id.engine, &surface.id.kernel)
            .multiplied_in(&surface.id.precision);
        let shape = quantising::as_served(shape, surface, self.engine);
        let of = |surface: &Surface, launch| {
            quantising::without(surface.estimate(hardware, &shape), &shape, launch)
        };
        let fastest = own.1.rivals.iter().fold(
            of(surface, own.1.launch),
            |best: Estimate, (rival, launch)| {
                let other = of(rival, *launch);
                if other.parts.seconds < best.parts.seconds {
                    other
                } else {
                    best
                }
            },
        );
        Some((&own.1, fastest))
    }
}

/// Most ranks engines' own all-reduces are for; NCCL's beyond.
const ENGINE_RANKS: u32 = 8;

/// What was measured of transfer engines: Mooncake's between two servers of eight H800, eight
/// RoCE NICs (its documentation's table of Qwen3-8B: 0.42 ms and 146 of 200 GB/s fit its five rows
/// within 5 %). A NIC of 400 Gb/s carries what one of 200 does (190 GB/s at most over eight, 87 over
/// four of 200 Gb/s).
const TRANSFER: TransferEngine = TransferEngine {
    latency: 0.42e-3,
    efficiency: 0.735,
    nic: 25e9,
};

impl Prices for CalibratedOn {
    fn price(&self, operator: &Operator) -> OpCost {
        let kernels = || self.roofline.price(operator).kernels;
        let Some((own, estimate)) = self.estimate(operator) else {
            return self.roofline.price(operator);
        };
        let mut price = cost(own, &estimate, kernels());
        // A kernel timed alone, again and again; profiles of engines at work have the load in them.
        let alone = own.surface.attributes.hot_l2;
        if alone && self.sustained > 0.0 && price.seconds > 0.0 {
            // Share of the tensor cores' peak the kernel reaches.
            let busy = (self.roofline.at_peak(operator) / price.seconds).clamp(0.0, 1.0);
            price.seconds *= 1.0 + self.sustained * busy;
        }
        price
    }

    fn collective(&self, asked: &Joint) -> Option<OpCost> {
        let Joint {
            collective,
            ranks,
            bytes,
            rate,
        } = *asked;
        let hardware = Hardware {
            scale_up: rate,
            ..self.hardware
        };
        let own = (collective == Collective::AllReduce && ranks <= ENGINE_RANKS).then(|| {
            let shape = EngineAllReduce {
                ranks: f64::from(ranks),
                bytes,
                eager: false,
                switch: true,
            };
            self.estimate_shape(
                &hardware,
                Shape::CustomAllreduce(shape),
                &["bfloat16"],
                ANY_KERNEL,
            )
        });
        let found = own.flatten().or_else(|| {
            let shape = Exchange {
                collective,
                ranks: f64::from(ranks),
                bytes,
                value: 2.0,
            };
            self.estimate_shape(
                &hardware,
                Shape::Nccl(shape),
                &[collective.word()],
                ANY_KERNEL,
            )
        });
        found.map(|(own, estimate)| cost(own, &estimate, 1))
    }

    fn routed(&self, asked: &Routed) -> Option<OpCost> {
        let hardware = Hardware {
            scale_up: asked.rate,
            ..self.hardware
        };
        let (shape, precision, kernel) = route(asked)?;
        let (own, estimate) = self.estimate_shape(&hardware, shape, &[precision], kernel)?;
        Some(cost(own, &estimate, 1))
    }
}

fn cost(own: &Chosen, estimate: &Estimate, kernels: u32) -> OpCost {
    // Farther outside what was measured, the less is known: a tenth for every factor of e.
    let unknown = 0.1 * libm::log(estimate.beyond);
    OpCost {
        compute: estimate.parts.compute,
        memory: estimate.parts.memory,
        link: estimate.parts.link,
        launch: estimate.parts.launch,
        seconds: estimate.parts.seconds,
        kernels,
        origin: match (
            own.near,
            estimate.beyond > MEASURED_UP_TO,
            estimate.measured,
        ) {
            (_, _, true) => Origin::Measured,
            (Match::Relative, true, _) => Origin::RelativeExtrapolated,
            (Match::Relative, false, _) => Origin::Relative,
            (_, true, _) => Origin::Extrapolated,
            _ => Origin::Calibrated,
        },
        band: Band {
            below: (own.band.below + unknown).min(0.9),
            above: own.band.above + unknown,
        },
        beyond: estimate.beyond,
    }
}
