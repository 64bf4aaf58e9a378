//! The cost page: what decoding costs at the very least, for the design's model and GPUs beside
//! others. Computed anew when something it depends on changes, which takes microseconds.

mod pages;
mod settings;
mod working;

use super::Shown;
use crate::app::theme::space;
use crate::catalog::{Catalog, Dtype, GpuId, ModelId};
use crate::cluster::GroupKind;
use crate::model::Model;
use crate::plan::{Design, ModelRef};
use crate::report::theory::{
    cost_figure, cost_table, floor_table, intensity_table, network_figure, network_table,
    roofline_figure, sparsity_figure, sweep,
};
use crate::report::{Figure, Table};
use crate::study::theory::{CostTable, Hardware, Pipeline, Terms};
use crate::units::DollarsPerHour;
use eframe::egui::Ui;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A view of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Page {
    /// Model × GPU × context.
    #[default]
    Costs,
    /// The same against context.
    Context,
    /// Intensity of attention against rooflines.
    Roofline,
    /// Sparsity against what networks allow.
    Sparsity,
    /// The network of an AFD split.
    Network,
}

impl Page {
    const ALL: [Self; 5] = [
        Self::Costs,
        Self::Context,
        Self::Roofline,
        Self::Sparsity,
        Self::Network,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Costs => "Costs",
            Self::Context => "By context",
            Self::Roofline => "Roofline",
            Self::Sparsity => "Sparsity",
            Self::Network => "Network",
        }
    }

    /// It has a plot and numbers of its own.
    const fn has_both(self) -> bool {
        matches!(self, Self::Roofline | Self::Sparsity | Self::Network)
    }

    /// The formula, and what it leaves out.
    const fn caption(self) -> &'static str {
        match self {
            Self::Costs | Self::Context => {
                "$ per million tokens = max(core · U_flop, KV · U_byte) + (linears + FFN) · U_flop; U = price / 3600 / peak. A floor: large batches, free network (Step-3, arXiv 2507.19427)."
            }
            Self::Roofline => {
                "Attention’s FLOPs per byte of KV read. Left of a GPU’s bend it waits for memory, right of it for its units; near the bend it pays for nothing it does not use."
            }
            Self::Sparsity => {
                "S ≥ H · FLOPs · L / (Net · BW · 2/3 · TPOT/stages): a sparser MoE fills the NICs of its FFN servers before their units. Net: all NICs of a server."
            }
            Self::Network => {
                "Each FFN GPU takes A · tokens · H bytes in FP8 and returns twice as much in BF16 within TPOT / stages / layers; tokens: what an attention GPU finishes in a stage."
            }
        }
    }
}

/// What the page asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// Models beside the design's own.
    models: Vec<ModelId>,
    /// GPUs beside the design's own.
    gpus: Vec<GpuId>,
    /// Prices instead of the catalog's.
    prices: BTreeMap<GpuId, DollarsPerHour>,
    contexts: Vec<u64>,
    terms: Terms,
    pipeline: Pipeline,
    /// Attention and FFN instances.
    split: (u32, u32),
}

/// The models and GPUs of Step-3's Table 6.
const MODELS: [&str; 5] = [
    "step-3",
    "deepseek-v3",
    "kimi-k2",
    "qwen3-235b-a22b",
    "qwen3-32b",
];
const GPUS: [&str; 4] = ["h800-sxm", "h20-96", "a800-80-sxm", "ascend-910b"];

impl Default for Asked {
    fn default() -> Self {
        Self {
            models: MODELS.iter().map(|id| ModelId::from_label(id)).collect(),
            gpus: GPUS.iter().map(|id| GpuId::from_label(id)).collect(),
            prices: BTreeMap::new(),
            contexts: vec![8192, 32_768],
            terms: Terms::default(),
            pipeline: Pipeline::default(),
            split: (2, 2),
        }
    }
}

/// What the page remembers between frames.
#[derive(Debug, Clone, Default)]
pub struct CostView {
    page: Page,
    /// Numbers in place of the plot, where there is no room for both.
    numbers: bool,
    asked: Asked,
    /// The text of the contexts can't be read.
    context_error: Option<String>,
    computed: Option<Arc<Computed>>,
}

/// The design's own part of what the answer depends on.
#[derive(Debug, Clone, PartialEq)]
struct Own {
    model: ModelRef,
    gpus: Vec<GpuId>,
}

/// An answer and what it answers.
#[derive(Debug)]
struct Computed {
    own: Own,
    asked: Asked,
    answer: Result<Answer, String>,
}

/// The analysis: at the contexts asked for, and over a range of them.
#[derive(Debug)]
struct Answer {
    table: CostTable,
    swept: CostTable,
    figures: BTreeMap<&'static str, Figure>,
}

impl CostView {
    /// The figure and numbers of the page in view.
    pub(in crate::app) fn export(&self) -> Option<(Figure, Table)> {
        let answer = self.computed.as_ref()?.answer.as_ref().ok()?;
        let figure = answer.figure(self.page)?.clone();
        let table = match self.page {
            Page::Costs => cost_table(&answer.table),
            Page::Context => cost_table(&answer.swept),
            Page::Roofline => intensity_table(&answer.table),
            Page::Sparsity => floor_table(&answer.table),
            Page::Network => network_table(&answer.swept, self.asked.split, None, false),
        };
        Some((figure, table.ok()?))
    }

    /// The table in view, for tests.
    #[must_use]
    pub fn table(&self) -> Option<&CostTable> {
        let answer = self.computed.as_ref()?.answer.as_ref().ok()?;
        Some(&answer.table)
    }

    /// Brings the answer up to date.
    fn update(&mut self, shown: &Shown<'_>) {
        let inspected = shown.inspected;
        let gpus = own_gpus(inspected.design, inspected.catalog);
        let fresh = self.computed.as_ref().is_some_and(|computed| {
            computed.asked == self.asked
                && computed.own.gpus == gpus
                && computed.own.model == inspected.design.model
        });
        if fresh {
            return;
        }
        let mut models: Vec<&Model> = inspected.model().into_iter().collect();
        let others = self.asked.models.iter();
        for model in others.filter_map(|id| inspected.models.get(id)) {
            if models.iter().all(|known| known.id != model.id) {
                models.push(model);
            }
        }
        let answer = answer(
            &models,
            self.hardware(&gpus, inspected.catalog),
            &self.asked,
        );
        self.computed = Some(Arc::new(Computed {
            own: Own {
                model: inspected.design.model.clone(),
                gpus,
            },
            asked: self.asked.clone(),
            answer,
        }));
    }

    /// The GPUs compared, the design's own first, at the prices asked for.
    fn hardware(&self, own: &[GpuId], catalog: &Catalog) -> Result<Vec<Hardware>, String> {
        let mut chosen: Vec<Hardware> = Vec::new();
        for id in own.iter().chain(&self.asked.gpus) {
            let Some(gpu) = catalog.gpu(id) else {
                continue;
            };
            if chosen.iter().any(|known| known.gpu == *id) {
                continue;
            }
            let mut hardware = Hardware::of(gpu, catalog).map_err(|e| e.to_string())?;
            if let Some(price) = self.asked.prices.get(id) {
                hardware.price = *price;
            }
            chosen.push(hardware);
        }
        Ok(chosen)
    }
}

fn answer(
    models: &[&Model],
    hardware: Result<Vec<Hardware>, String>,
    asked: &Asked,
) -> Result<Answer, String> {
    let hardware = hardware?;
    let table = CostTable::new(
        models,
        hardware.clone(),
        asked.contexts.clone(),
        asked.terms,
        asked.pipeline,
    );
    let table = table.map_err(|e| e.to_string())?;
    let swept = sweep(
        models,
        hardware,
        &asked.contexts,
        asked.terms,
        asked.pipeline,
    );
    let swept = swept.map_err(|e| e.to_string())?;
    let best = table.models[0].best.last().map_or(0, |best| best.attention);
    // The first model with experts: a dense one has no sparsity to compare.
    let sparse = table
        .models
        .iter()
        .position(|model| model.sparsity.is_some());
    let figures = [
        (Page::Context, Some(cost_figure(&swept))),
        (Page::Roofline, Some(roofline_figure(&table))),
        (Page::Sparsity, sparsity_figure(&table, sparse.unwrap_or(0))),
        (Page::Network, network_figure(&swept, best, asked.split)),
    ];
    let figures = figures
        .into_iter()
        .filter_map(|(page, figure)| Some((page.name(), figure?)))
        .collect();
    Ok(Answer {
        table,
        swept,
        figures,
    })
}

impl Answer {
    /// The figure of a page; the table's is cost against context.
    fn figure(&self, page: Page) -> Option<&Figure> {
        let page = if page == Page::Costs {
            Page::Context
        } else {
            page
        };
        self.figures.get(page.name())
    }
}

/// The GPU types drawn, in the order of their groups.
pub(super) fn own_gpus(design: &Design, catalog: &Catalog) -> Vec<GpuId> {
    let mut gpus: Vec<GpuId> = Vec::new();
    for group in &design.cluster.groups {
        let gpu = match &group.kind {
            GroupKind::Node(node) => catalog.node(node).map(|node| node.gpu.clone()),
            GroupKind::Gpu(gpu) => Some(gpu.clone()),
            GroupKind::Nic(_)
            | GroupKind::Domain { .. }
            | GroupKind::Switch(_)
            | GroupKind::Ocs { .. } => None,
        };
        if let Some(gpu) = gpu.filter(|gpu| !gpus.contains(gpu)) {
            gpus.push(gpu);
        }
    }
    gpus
}

/// Formats a cache or a GEMM can have here.
const FORMATS: [Dtype; 4] = [Dtype::Bf16, Dtype::Fp8, Dtype::Int8, Dtype::Fp4];

/// Draws the page: what is compared on the left, the numbers on the right.
pub(super) fn cost_ui(ui: &mut Ui, view: &mut CostView, shown: &Shown<'_>) {
    view.update(shown);
    let Some(computed) = view.computed.clone() else {
        return;
    };
    let width = (ui.available_width() * 0.26).clamp(196.0, 280.0);
    let height = ui.available_height();
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::L;
        ui.allocate_ui(eframe::egui::vec2(width, height), |ui| {
            ui.vertical(|ui| {
                ui.set_width(width);
                settings::settings_ui(ui, view, shown, computed.answer.as_ref().ok());
            });
        });
        let rest = eframe::egui::vec2(ui.available_width(), height);
        ui.allocate_ui(rest, |ui| {
            ui.vertical(|ui| {
                ui.set_width(rest.x);
                match &computed.answer {
                    Ok(answer) => pages::pages_ui(ui, view, shown, answer),
                    Err(cause) => super::empty_ui(ui, shown.theme(), "No table", cause),
                }
            });
        });
    });
}

/// `8K` for 8192.
fn tokens(context: u64) -> String {
    if context >= 1024 && context.is_multiple_of(1024) {
        format!("{}K", context / 1024)
    } else {
        context.to_string()
    }
}
