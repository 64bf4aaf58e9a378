//! The settings a condition was served with and who says so: what a table of rows leaves open, shown
//! beside each prediction.

use super::recipe::{Client, Served};
use super::row::Condition;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Whose: a pool's name, or `client`.
    pub of: String,
    /// Its name in the table of recipes.
    pub name: String,
    /// What it is set to, in the table's words; what that comes to, where it is worked out.
    pub value: String,
    /// Who says so.
    pub source: String,
}

/// What a pool was served with.
pub(super) fn of_pool(pool: &str, served: &Served, condition: &Condition) -> Vec<Setting> {
    let each = served.settings.iter().map(|(name, (text, source))| {
        let value = match served.worked_out(text, condition) {
            Some(count) if count.to_string() != *text => format!("{count} ({text})"),
            _ => text.clone(),
        };
        Setting {
            of: pool.to_owned(),
            name: name.clone(),
            value,
            source: source.clone(),
        }
    });
    each.collect()
}

/// How the client sends.
pub(super) fn of_client(client: &Client) -> Vec<Setting> {
    let (low, high) = client.lengths;
    let lengths = if low < high {
        format!("drawn evenly from {low} to {high} of the nominal ones")
    } else {
        "as named".to_owned()
    };
    let requests = format!("{} of each slot in flight", client.requests_per_slot);
    [("lengths", lengths), ("requests", requests)]
        .into_iter()
        .map(|(name, value)| Setting {
            of: "client".to_owned(),
            name: name.to_owned(),
            value,
            source: client.source.clone(),
        })
        .collect()
}
