//! How long something is, in tokens: the shape and its numbers.

use super::edit;
use crate::app::command::Actions;
use crate::app::widgets::{Rows, choice, count_field, number_field};
use crate::project::Project;
use crate::units::Tokens;
use crate::workload::{Length, MAX_TOKENS};
use eframe::egui::Ui;

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Fixed,
    Uniform,
    LogNormal,
}

impl Shape {
    const ALL: [Self; 3] = [Self::Fixed, Self::Uniform, Self::LogNormal];

    const fn of(length: Length) -> Self {
        match length {
            Length::Fixed(_) => Self::Fixed,
            Length::Uniform { .. } => Self::Uniform,
            Length::LogNormal { .. } => Self::LogNormal,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Uniform => "uniform",
            Self::LogNormal => "log-normal",
        }
    }

    /// The same mean in another shape.
    fn with_mean_of(self, length: Length) -> Length {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded by MAX_TOKENS"
        )]
        let mean = (length.mean().round() as u64).clamp(1, MAX_TOKENS);
        let tokens = |n: u64| Tokens::new(n.clamp(1, MAX_TOKENS));
        match self {
            Self::Fixed => Length::Fixed(tokens(mean)),
            Self::Uniform => Length::Uniform {
                min: tokens(mean / 2),
                max: tokens(mean + mean / 2),
            },
            Self::LogNormal => Length::LogNormal {
                mean: tokens(mean),
                cv: 1.0,
                max: tokens(mean * 8),
            },
        }
    }
}

pub(super) fn length_ui(
    ui: &mut Ui,
    rows: &Rows<'_>,
    what: &'static str,
    length: Length,
    actions: &mut Actions,
    set: fn(&mut Project, Length),
) {
    let shape = Shape::of(length);
    let chosen = rows.field(ui, what, "Lengths in tokens", |ui| {
        choice(ui, (what, "shape"), &shape, &Shape::ALL, |s| {
            s.name().to_owned()
        })
    });
    if let Some(shape) = chosen {
        let next = shape.with_mean_of(length);
        edit(actions, &format!("{what} lengths"), false, move |p| {
            set(p, next)
        });
    }
    let tokens = |ui: &mut Ui, words: &str, now: Tokens, range| {
        rows.field(ui, words, "", |ui| {
            let (changed, response) = count_field(ui, now.get(), range);
            (changed.map(Tokens::new), response)
        })
    };
    let next = match length {
        Length::Fixed(n) => {
            tokens(ui, &format!("{what} tokens"), n, 1..=MAX_TOKENS).map(Length::Fixed)
        }
        Length::Uniform { min, max } => {
            let low = tokens(ui, "· from", min, 1..=max.get());
            let high = tokens(ui, "· to", max, min.get()..=MAX_TOKENS);
            (low.is_some() || high.is_some()).then(|| Length::Uniform {
                min: low.unwrap_or(min),
                max: high.unwrap_or(max),
            })
        }
        Length::LogNormal { mean, cv, max } => {
            let new_mean = tokens(ui, "· mean", mean, 1..=MAX_TOKENS);
            let new_cv = rows.field(ui, "· spread", "Standard deviation over mean", |ui| {
                number_field(ui, cv, 0.0..=20.0, 0.01, "")
            });
            let new_max = tokens(ui, "· at most", max, 1..=MAX_TOKENS);
            (new_mean.is_some() || new_cv.is_some() || new_max.is_some()).then(|| {
                Length::LogNormal {
                    mean: new_mean.unwrap_or(mean),
                    cv: new_cv.unwrap_or(cv),
                    max: new_max.unwrap_or(max),
                }
            })
        }
    };
    if let Some(next) = next {
        edit(actions, &format!("{what} lengths"), true, move |p| {
            set(p, next)
        });
    }
}
