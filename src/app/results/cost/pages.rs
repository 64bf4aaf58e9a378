//! The views of the analysis: their row of buttons, tables and plots, and the formula below.

use super::{Answer, CostView, Page, tokens, working};
use crate::app::results::figure::{legend_ui, panel_ui};
use crate::app::results::numbers::{Entry, Head, Tone, numbers_ui};
use crate::app::results::plot::short;
use crate::app::results::{Shown, empty_ui};
use crate::app::theme::{Theme, space};
use crate::app::widgets::count_field;
use crate::report::Figure;
use crate::study::theory::{CostTable, DecodeCost, ModelCosts, Split, SplitTraffic, micro_batch};
use eframe::egui::{self, Button, Color32, Label, RichText, Stroke, Ui, vec2};

/// From this width on numbers stand beside the plot, not in place of it.
const WIDE: f32 = 700.0;
/// From this width on the cost table leaves room for its plots.
const ROOMY: f32 = 1050.0;
/// Least width of a plot.
const PLOT: f32 = 190.0;
/// Gap between plots.
const GAP: f32 = 14.0;

pub(super) fn pages_ui(ui: &mut Ui, view: &mut CostView, shown: &Shown<'_>, answer: &Answer) {
    let theme = shown.theme();
    let wide = ui.available_width() >= WIDE;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(1.0, 2.0);
        ui.spacing_mut().button_padding.x = if wide { 8.0 } else { 6.0 };
        for page in Page::ALL {
            if choice_ui(ui, theme, page.name(), view.page == page) {
                view.page = page;
            }
        }
        if view.page == Page::Network {
            split_ui(ui, view, theme);
        }
        if !wide && view.page.has_both() {
            ui.add_space(space::S);
            let words = if view.numbers { "Plot" } else { "Numbers" };
            let text = RichText::new(words).color(theme.accent);
            if ui.add(Button::new(text).frame(false)).clicked() {
                view.numbers = !view.numbers;
            }
        }
    });
    let caption = caption_height(ui, theme, view.page);
    let size = vec2(ui.available_width(), ui.available_height() - caption - 8.0);
    let (page, numbers) = (view.page, view.numbers);
    let (table, figure) = (&answer.table, answer.figure(page));
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        match page {
            Page::Costs if size.x < ROOMY => costs_ui(ui, theme, table),
            Page::Costs => beside_ui(ui, theme, figure, numbers, |ui| costs_ui(ui, theme, table)),
            Page::Context => plots_ui(ui, theme, figure),
            Page::Roofline => {
                beside_ui(ui, theme, figure, numbers, |ui| {
                    intensities_ui(ui, theme, table);
                });
            }
            Page::Sparsity => {
                beside_ui(ui, theme, figure, numbers, |ui| {
                    floors_ui(ui, theme, table);
                });
            }
            Page::Network => {
                beside_ui(ui, theme, figure, numbers, |ui| {
                    network_ui(ui, theme, table, view.asked.split);
                });
            }
        }
    });
    let words = RichText::new(view.page.caption()).small();
    ui.add(Label::new(words.color(theme.text_muted)).wrap());
}

fn caption_height(ui: &Ui, theme: &Theme, page: Page) -> f32 {
    let font = egui::TextStyle::Small.resolve(ui.style());
    let layout = |fonts: &mut egui::epaint::FontsView<'_>| {
        let words = page.caption().to_owned();
        fonts.layout(words, font, theme.text_muted, ui.available_width())
    };
    ui.fonts_mut(layout).size().y
}

fn choice_ui(ui: &mut Ui, theme: &Theme, words: &str, on: bool) -> bool {
    let text = RichText::new(words).color(if on { theme.accent } else { theme.text_muted });
    let fill = if on {
        theme.accent_soft
    } else {
        Color32::TRANSPARENT
    };
    let button = Button::new(text).fill(fill).stroke(Stroke::NONE);
    let response = ui.add(button);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, on, words));
    response.clicked()
}

/// The instances of the split, `2 A 2 F`.
fn split_ui(ui: &mut Ui, view: &mut CostView, theme: &Theme) {
    ui.add_space(space::S);
    let (a, f) = &mut view.asked.split;
    for (count, letter, word) in [(a, "A", "attention"), (f, "F", "FFN")] {
        let field = vec2(36.0, ui.spacing().interact_size.y);
        ui.allocate_ui(field, |ui| {
            let (value, response) = count_field(ui, u64::from(*count), 1..=999);
            response.on_hover_text(format!("{word} instances of the split"));
            if let Some(value) = value.and_then(|value| u32::try_from(value).ok()) {
                *count = value;
            }
        });
        ui.label(RichText::new(format!(" {letter} ")).color(theme.text_muted));
        ui.add_space(2.0);
    }
}

/// Panels of a figure side by side, as many as there is room for.
fn plots_ui(ui: &mut Ui, theme: &Theme, figure: Option<&Figure>) {
    let Some(figure) = figure else {
        empty_ui(
            ui,
            theme,
            "No plot",
            "No GPU compared has a server with NICs.",
        );
        return;
    };
    legend_ui(ui, theme, figure);
    let room = ui.available_size();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few, and float casts saturate"
    )]
    let fit = ((room.x + GAP) / (PLOT + GAP)) as usize;
    let count = figure.panels.len().min(fit.max(1));
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let width = (room.x + GAP) / count.max(1) as f32 - GAP;
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        for index in 0..count {
            panel_ui(ui, theme, figure, index, vec2(width, room.y));
        }
    });
}

/// A plot and its numbers side by side; where there is no room for both, the one chosen.
fn beside_ui(
    ui: &mut Ui,
    theme: &Theme,
    figure: Option<&Figure>,
    only_numbers: bool,
    numbers: impl FnOnce(&mut Ui),
) {
    let room = ui.available_size();
    if room.x < WIDE {
        if only_numbers {
            numbers(ui);
        } else {
            plots_ui(ui, theme, figure);
        }
        return;
    }
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::L;
        let left = vec2(room.x * 0.52, room.y);
        ui.allocate_ui(left, |ui| {
            ui.vertical(|ui| {
                ui.set_width(left.x);
                numbers(ui);
            });
        });
        let right = vec2(ui.available_width(), room.y);
        ui.allocate_ui(right, |ui| {
            ui.vertical(|ui| {
                ui.set_width(right.x);
                plots_ui(ui, theme, figure);
            });
        });
    });
}

fn head(words: impl Into<String>, unit: impl Into<String>, width: f32) -> Head {
    (words.into(), unit.into(), width)
}

/// The table: each model's cheapest deployment, then every GPU.
fn costs_ui(ui: &mut Ui, theme: &Theme, table: &CostTable) {
    let mut heads = vec![head("Model", "", 112.0), head("GPU", "", 84.0)];
    for context in &table.contexts {
        heads.push(head("Attention", tokens(*context), 52.0));
    }
    heads.push(head("FFN", "", 44.0));
    for context in &table.contexts {
        heads.push(head("Total", tokens(*context), 44.0));
    }
    let mut rows = Vec::new();
    for model in &table.models {
        rows.push(best_row(table, model));
        for gpu in 0..table.hardware.len() {
            rows.push(gpu_row(table, model, gpu));
        }
    }
    numbers_ui(ui, theme, "costs", &heads, &rows, 2);
}

fn money(value: f64) -> String {
    if value > 0.0 && value < 0.0005 {
        format!("{value:.1e}")
    } else {
        format!("{value:.3}")
    }
}

fn best_row(table: &CostTable, model: &ModelCosts) -> Vec<Entry> {
    let named = |best: &crate::study::theory::Best| {
        let name = |at: usize| table.hardware[at].name.as_str();
        if best.is_split() {
            format!("{} + {}", name(best.attention), name(best.ffn))
        } else {
            name(best.single).to_owned()
        }
    };
    let mut row = vec![
        Entry::plain(&model.name).toned(Tone::Best),
        Entry::plain("cheapest").toned(Tone::Muted),
    ];
    let per_context = || model.best.iter().zip(&model.costs).zip(&table.contexts);
    let entry = |value: f64, spoken: String, working: String| Entry {
        text: money(value),
        spoken,
        working,
        tone: Tone::Best,
    };
    for ((best, costs), context) in per_context() {
        let value = costs[best.attention].attention().get();
        let gpu = &table.hardware[best.attention].name;
        let spoken = format!(
            "{}: attention cheapest on {gpu} at {}, {}",
            model.name,
            tokens(*context),
            money(value)
        );
        row.push(entry(value, spoken, format!("Cheapest on {gpu}")));
    }
    if let (Some(best), Some(costs)) = (model.best.first(), model.costs.first()) {
        let value = costs[best.ffn].ffn.get();
        let gpu = &table.hardware[best.ffn].name;
        let spoken = format!("{}: FFN cheapest on {gpu}, {}", model.name, money(value));
        row.push(entry(value, spoken, format!("Cheapest on {gpu}")));
    }
    for ((best, _), context) in per_context() {
        let value = best.cost.get();
        let spoken = format!(
            "{}: cheapest on {} at {}, {}",
            model.name,
            named(best),
            tokens(*context),
            money(value)
        );
        row.push(entry(value, spoken, working::best(best, table)));
    }
    row
}

fn gpu_row(table: &CostTable, model: &ModelCosts, gpu: usize) -> Vec<Entry> {
    let hardware = &table.hardware[gpu];
    let terms = table.terms;
    let spoken = |what: &str, context: Option<u64>, value: f64| {
        let at = context.map_or_else(String::new, |c| format!(" at {}", tokens(c)));
        format!(
            "{} on {}: {what}{at}, {}",
            model.name,
            hardware.name,
            money(value)
        )
    };
    let tone = |best: bool| if best { Tone::Best } else { Tone::Plain };
    let mut row = vec![Entry::plain(""), Entry::plain(&hardware.name)];
    let per_context = || {
        let best = model.best.iter().zip(&table.contexts);
        model.work.iter().zip(&model.costs).zip(best)
    };
    for ((work, costs), (best, context)) in per_context() {
        let cost: &DecodeCost = &costs[gpu];
        let value = cost.attention().get();
        row.push(Entry {
            text: money(value),
            spoken: spoken("attention", Some(*context), value),
            working: working::attention(work, cost, hardware, terms),
            tone: tone(best.attention == gpu),
        });
    }
    if let Some(((work, costs), (best, _))) = per_context().next() {
        let value = costs[gpu].ffn.get();
        row.push(Entry {
            text: money(value),
            spoken: spoken("FFN", None, value),
            working: working::ffn(work, &costs[gpu], hardware, terms),
            tone: tone(best.ffn == gpu),
        });
    }
    for ((_, costs), (best, context)) in per_context() {
        let value = costs[gpu].total().get();
        row.push(Entry {
            text: money(value),
            spoken: spoken("total", Some(*context), value),
            working: working::total(&costs[gpu]),
            tone: tone(best.single == gpu),
        });
    }
    row
}

fn intensities_ui(ui: &mut Ui, theme: &Theme, table: &CostTable) {
    let context = table.contexts.last().copied().unwrap_or_default();
    let mut heads = vec![
        head("Model", "", 112.0),
        head("Intensity", format!("at {}", tokens(context)), 60.0),
    ];
    for gpu in &table.hardware {
        let ridge = format!("bends at {:.0}", gpu.ridge(table.terms));
        heads.push(head(&gpu.name, ridge, 76.0));
    }
    let rows: Vec<Vec<Entry>> = table
        .models
        .iter()
        .map(|model| {
            let intensity = model.work.last().and_then(|work| work.intensity());
            let number = intensity.map_or_else(|| "–".to_owned(), short);
            let mut row = vec![
                Entry::plain(&model.name),
                Entry {
                    spoken: format!("{}: intensity {number}", model.name),
                    ..Entry::plain(&number)
                },
            ];
            let costs = model.costs.last().map_or(&[][..], Vec::as_slice);
            for (cost, gpu) in costs.iter().zip(&table.hardware) {
                let ridge = gpu.ridge(table.terms);
                // The share of the GPU that the other resource leaves idle.
                let (word, used) = match (intensity, cost.memory_bound()) {
                    (Some(own), true) => ("memory", own / ridge),
                    (Some(own), false) => ("units", ridge / own),
                    (None, _) => ("–", 1.0),
                };
                let working = format!(
                    "{number} against {ridge:.0} FLOP per byte: {word} decide, the other is used to {:.0} %",
                    used * 100.0
                );
                row.push(Entry {
                    working,
                    ..Entry::plain(word)
                });
            }
            row
        })
        .collect();
    numbers_ui(ui, theme, "intensities", &heads, &rows, 1);
}

fn floors_ui(ui: &mut Ui, theme: &Theme, table: &CostTable) {
    let mut heads = vec![head("Model", "", 112.0), head("Sparsity", "own", 56.0)];
    for gpu in &table.hardware {
        let net = gpu
            .network
            .map_or_else(|| "no NICs".to_owned(), |rate| format!("min at {rate}"));
        heads.push(head(&gpu.name, net, 100.0));
    }
    let rows: Vec<Vec<Entry>> = table
        .models
        .iter()
        .map(|model| {
            let own = model.sparsity;
            let number = own.map_or_else(|| "dense".to_owned(), |s| format!("{s:.3}"));
            let mut row = vec![Entry::plain(&model.name), Entry::plain(number)];
            for (at, gpu) in table.hardware.iter().enumerate() {
                let floor = model.floors[at].map(|(floor, _)| floor);
                let (text, tone) = match (floor, own) {
                    (None, _) => ("–".to_owned(), Tone::Muted),
                    (Some(floor), None) => (format!("{floor:.3}"), Tone::Muted),
                    (Some(floor), Some(own)) if own < floor => {
                        (format!("{floor:.3} too sparse"), Tone::Warning)
                    }
                    (Some(floor), Some(_)) => (format!("{floor:.3} fits"), Tone::Plain),
                };
                row.push(Entry {
                    spoken: format!("{} on {}: smallest sparsity {text}", model.name, gpu.name),
                    working: working::floor(model, gpu, table, at),
                    text,
                    tone,
                });
            }
            row
        })
        .collect();
    numbers_ui(ui, theme, "floors", &heads, &rows, 1);
}

/// Attention on the GPU that is cheapest for it.
fn network_ui(ui: &mut Ui, theme: &Theme, table: &CostTable, (attention, ffn): (u32, u32)) {
    let heads = [
        head("Model", "", 112.0),
        head("Context", "", 50.0),
        head("Attention on", "cheapest", 80.0),
        head("Micro-batch", "tokens/GPU", 68.0),
        head("FFN GPU", "Gb/s", 54.0),
        head("Attention", "Gb/s", 58.0),
    ];
    let mut rows = Vec::new();
    for model in &table.models {
        let time = table.pipeline.layer(model.layers);
        let per_context = model.work.iter().zip(&model.best).zip(&table.contexts);
        for ((work, best), context) in per_context {
            let gpu = &table.hardware[best.attention];
            let Some(tokens_each) = micro_batch(work, gpu, table.terms, &table.pipeline) else {
                continue;
            };
            let split = Split {
                attention,
                ffn,
                tokens: tokens_each,
            };
            let traffic = SplitTraffic::of(model.hidden, split, &table.pipeline, time);
            let rate = |rate: crate::units::ByteRate| short(rate.get() * 8e-9);
            let working = format!(
                "Layer time {} = TPOT {} / {} stages / {} layers\n\
                 to each FFN GPU: {attention} · {tokens_each} tokens · {} · 1 B = {}\n\
                 back: twice that, {}\nwithin the layer time: {} Gb/s",
                time,
                table.pipeline.tpot,
                table.pipeline.stages,
                model.layers,
                model.hidden,
                traffic.to_ffn,
                traffic.back,
                rate(traffic.ffn_gpu),
            );
            let cell = |text: String| Entry {
                working: working.clone(),
                ..Entry::plain(text)
            };
            rows.push(vec![
                Entry::plain(&model.name),
                Entry::plain(tokens(*context)),
                Entry::plain(&gpu.name),
                cell(short(tokens_each)),
                Entry {
                    spoken: format!(
                        "{} at {}: each FFN GPU needs {} Gb/s",
                        model.name,
                        tokens(*context),
                        rate(traffic.ffn_gpu)
                    ),
                    ..cell(rate(traffic.ffn_gpu))
                },
                cell(rate(traffic.attention_gpu)),
            ]);
        }
    }
    numbers_ui(ui, theme, "network", &heads, &rows, 1);
}
