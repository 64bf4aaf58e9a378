//! Fields: text that is committed on Enter or when the field is left, quantities typed as people
//! write them, numbers that can be scrubbed, and choices.

use crate::app::theme::Theme;
use eframe::egui::{self, ComboBox, DragValue, Key, Label, Response, RichText, TextEdit, Ui};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A field's text while it differs from the document.
#[derive(Clone, Default)]
struct Draft {
    text: String,
    /// What the document said when typing began: if that changes, the draft is out of date.
    base: String,
    error: Option<String>,
}

/// What a text field returned.
pub struct Typed<T> {
    /// A new value, once, when it is committed.
    pub value: Option<T>,
    /// The field.
    pub response: Response,
}

/// A line of text; a new one when it is committed and not empty.
pub fn text_field(ui: &mut Ui, theme: &Theme, salt: &str, current: &str) -> Typed<String> {
    typed(ui, theme, salt, current, |text| {
        let text = text.trim();
        if text.is_empty() {
            Err("can't be empty".to_owned())
        } else {
            Ok(text.to_owned())
        }
    })
}

/// A quantity, typed with its unit; what can't be read is said below the field, and nothing is
/// changed by it.
pub fn typed_field<T>(ui: &mut Ui, theme: &Theme, salt: &str, current: T) -> Typed<T>
where
    T: FromStr + Display + PartialEq,
    T::Err: Display,
{
    let shown = current.to_string();
    let mut typed = typed(ui, theme, salt, &shown, |text| {
        text.parse::<T>().map_err(|error| error.to_string())
    });
    typed.value = typed.value.filter(|value| *value != current);
    typed
}

fn typed<T>(
    ui: &mut Ui,
    theme: &Theme,
    salt: &str,
    current: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Typed<T> {
    let id = ui.make_persistent_id(salt);
    let draft_id = id.with("draft");
    let mut draft = ui
        .data(|d| d.get_temp::<Draft>(draft_id))
        .filter(|draft| draft.base == current)
        .unwrap_or_else(|| Draft {
            text: current.to_owned(),
            base: current.to_owned(),
            error: None,
        });
    let mut value = None;
    let response = ui
        .vertical(|ui| {
            let mut edit = TextEdit::singleline(&mut draft.text)
                .id(id)
                .desired_width(f32::INFINITY)
                .margin(egui::Margin::symmetric(10, 4));
            if draft.error.is_some() {
                edit = edit.text_color(theme.error);
            }
            let response = ui.add(edit);
            if response.changed() {
                draft.error = None;
            }
            if response.lost_focus() {
                if ui.input(|i| i.key_pressed(Key::Escape)) {
                    draft.text = current.to_owned();
                    draft.error = None;
                } else if draft.text != current {
                    match parse(&draft.text) {
                        Ok(read) => value = Some(read),
                        Err(error) => draft.error = Some(error),
                    }
                }
            }
            if let Some(error) = &draft.error {
                ui.add(Label::new(RichText::new(error).small().color(theme.error)).wrap());
            }
            response
        })
        .inner;
    let keep = value.is_none() && (draft.text != current || draft.error.is_some());
    ui.data_mut(|d| {
        if keep {
            d.insert_temp(draft_id, draft);
        } else {
            d.remove_temp::<Draft>(draft_id);
        }
    });
    Typed { value, response }
}

/// A whole number that can be scrubbed or typed; a new one as it changes.
pub fn count_field(
    ui: &mut Ui,
    current: u64,
    range: RangeInclusive<u64>,
) -> (Option<u64>, Response) {
    let mut value = current;
    // A pixel is a hundredth of the number: 8 and 8,192 scrub at a useful pace alike.
    #[expect(clippy::cast_precision_loss, reason = "only a pace")]
    let speed = (current as f64 / 100.0).clamp(0.05, 1000.0);
    let field = DragValue::new(&mut value)
        .range(range)
        .speed(speed)
        .update_while_editing(false)
        .custom_formatter(|n, _| grouped(n));
    let response = full_width(ui, field);
    ((value != current).then_some(value), response)
}

/// A real number that can be scrubbed or typed.
pub fn number_field(
    ui: &mut Ui,
    current: f64,
    range: RangeInclusive<f64>,
    speed: f64,
    suffix: &str,
) -> (Option<f64>, Response) {
    let mut value = current;
    let field = DragValue::new(&mut value)
        .range(range)
        .speed(speed)
        .max_decimals(3)
        .suffix(suffix.to_owned())
        .update_while_editing(false);
    let response = full_width(ui, field);
    let changed = value.total_cmp(&current).is_ne();
    (changed.then_some(value), response)
}

/// As wide as the row, the words at the left as in other fields.
fn full_width(ui: &mut Ui, field: DragValue<'_>) -> Response {
    let size = egui::vec2(ui.available_width(), ui.spacing().interact_size.y);
    let layout = egui::Layout::left_to_right(egui::Align::Center)
        .with_main_justify(true)
        .with_main_align(egui::Align::Min);
    ui.allocate_ui_with_layout(size, layout, |ui| ui.add(field))
        .inner
}

/// 131072 with thin spaces between thousands.
fn grouped(n: f64) -> String {
    let digits = format!("{:.0}", n.abs());
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        // A thin space: the parser overlooks spaces, but not commas.
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{2009}');
        }
        out.push(c);
    }
    out
}

/// A choice among a few values; a new one when it is chosen.
pub fn choice<T: PartialEq + Clone>(
    ui: &mut Ui,
    salt: impl egui::AsIdSalt,
    current: &T,
    all: &[T],
    name: impl Fn(&T) -> String,
) -> (Option<T>, Response) {
    let mut chosen = None;
    let shown = name(current);
    let response = ComboBox::from_id_salt(salt)
        .width(ui.available_width())
        .selected_text(shown.clone())
        .truncate()
        .show_ui(ui, |ui| {
            for value in all {
                if ui.selectable_label(value == current, name(value)).clicked() && value != current
                {
                    chosen = Some(value.clone());
                }
            }
        })
        .response;
    (chosen, response)
}
