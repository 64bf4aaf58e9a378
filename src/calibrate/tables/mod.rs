//! Measured tables as rows of shapes and seconds, whatever layout they come in.

mod aic;
mod csv;
mod layers;
mod libraries;
mod profile;
mod routing;
mod walk;

use crate::catalog::Catalog;
use crate::cost::calibrated::{Attributes, Shape, TableId};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// What was run.
    pub shape: Shape,
    /// How long it took, seconds.
    pub seconds: f64,
}

/// The measurements of one kernel of one engine on one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The operator as the file's layout calls it.
    pub operator: &'static str,
    /// Which.
    pub id: TableId,
    /// What its times contain.
    pub attributes: Attributes,
    /// Its rows, in the file's order.
    pub rows: Vec<Row>,
}

/// Rows that were not taken, by reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// File, as named in the folder.
    pub file: String,
    /// Why.
    pub why: String,
    /// Line of the first.
    pub line: u64,
    /// How many.
    pub rows: usize,
}

/// Why tables can't be read at all.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// The folder or a file of it can't be read.
    #[error("{place}: {why}")]
    Unreadable {
        /// Which.
        place: String,
        /// Why.
        why: String,
    },
    /// The folder holds no table this program knows.
    #[error("{0} holds no table this program reads")]
    Nothing(String),
}

/// Every table in a folder, by id, and what was refused.
///
/// # Errors
/// The folder or a file can't be read, or there is no known table in it.
pub fn read_tables(
    dir: &Path,
    catalog: &Catalog,
) -> Result<(Vec<Table>, Vec<Refused>), TablesError> {
    let unreadable = |why: std::io::Error| TablesError::Unreadable {
        place: dir.display().to_string(),
        why: why.to_string(),
    };
    dir.read_dir().map_err(unreadable)?;
    let read: Vec<Result<Found, TablesError>> = walk::files(dir)
        .par_iter()
        .map(|path| {
            let mut found = Found::default();
            let known = aic::read(dir, path, catalog, &mut found)?
                || libraries::read(dir, path, catalog, &mut found)?
                || profile::read(dir, path, catalog, &mut found)?
                || layers::read(dir, path, catalog, &mut found)?;
            if !known {
                let place = path.strip_prefix(dir).unwrap_or(path).display().to_string();
                found.refuse(
                    &place,
                    1,
                    "not a table of any operator or layout known".to_owned(),
                );
            }
            Ok(found)
        })
        .collect();
    let mut found = Found::default();
    for part in read {
        found.merge(part?);
    }
    if found.tables.is_empty() && found.refused.is_empty() {
        return Err(TablesError::Nothing(dir.display().to_string()));
    }
    let refused = found
        .refused
        .into_iter()
        .map(|((file, why), (line, rows))| Refused {
            file,
            why,
            line,
            rows,
        })
        .collect();
    Ok((found.tables.into_values().collect(), refused))
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Found {
    tables: BTreeMap<TableId, Table>,
    /// By file and reason: line of the first, how many.
    refused: BTreeMap<(String, String), (u64, usize)>,
}

impl Found {
    fn add(&mut self, operator: &'static str, id: TableId, attributes: Attributes, row: Row) {
        self.tables
            .entry(id)
            .or_insert_with_key(|id| Table {
                operator,
                id: id.clone(),
                attributes,
                rows: Vec::new(),
            })
            .rows
            .push(row);
    }

    fn merge(&mut self, other: Self) {
        for (id, table) in other.tables {
            match self.tables.entry(id) {
                std::collections::btree_map::Entry::Occupied(mut own) => {
                    own.get_mut().rows.extend(table.rows)
                }
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(table);
                }
            }
        }
        for (place, (line, rows)) in other.refused {
            self.refused.entry(place).or_insert((line, 0)).1 += rows;
        }
    }

    fn refuse(&mut self, file: &str, line: u64, why: String) {
        self.refused
            .entry((file.to_owned(), why))
            .or_insert((line, 0))
            .1 += 1;
    }
}
