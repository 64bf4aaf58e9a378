//! Small pieces the panels are made of.

mod card;
mod chip;
mod field;
mod layers;
mod row;

pub use card::{finding_card, sentence};
pub use chip::{dot, key_value, marker, pill};
pub use field::{choice, count_field, number_field, text_field, typed_field};
pub use layers::{layers_legend_ui, layers_ui};
pub use row::{Rows, hint, section};
