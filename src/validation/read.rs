//! Reads a table of benchmark runs: CSV with a header, one row per run.
//!
//! Files are strangers' files: bounded in size and rows, every row that can't be used is listed with
//! its line and reason. Rows of one condition (configuration, lengths, load, engine version) are
//! averaged: a condition counts once.

use super::row::{Condition, Deployment, Measured, Sharding, Workers};
use crate::plan::EngineKind;
use csv::StringRecord;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use thiserror::Error;

/// Most rows of one file.
pub const MAX_ROWS: u64 = 1_000_000;
/// Largest file, bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Longest text of a field that is kept.
const MAX_TEXT: usize = 256;
/// Most GPUs, lanes or workers of one kind a row may name.
const MAX_COUNT: u32 = 16_384;
/// Longest prompt or answer, and most requests in flight.
const MAX_TOKENS: u32 = 16_777_216;

/// Why a file can't be read at all.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file can't be opened or read.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is no CSV.
    #[error("{path}: {source}")]
    Csv {
        /// Which.
        path: String,
        /// Where and why.
        source: csv::Error,
    },
    /// A column is missing.
    #[error("{path}: there is no column “{column}”: a table of measured rows needs {needed}")]
    Column {
        /// Which file.
        path: String,
        /// Which column.
        column: &'static str,
        /// All it needs.
        needed: String,
    },
    /// Too much of it.
    #[error("{path}: more than {MAX_ROWS} rows or {MAX_BYTES} bytes")]
    TooLarge {
        /// Which file.
        path: String,
    },
}

/// A row that was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name in the file.
    pub id: String,
    /// Its line, from 1.
    pub line: u64,
    /// Why.
    pub why: String,
    /// Whether it could have been used by its own words: not a copy, not marked as wrong, complete.
    pub usable: bool,
}

/// What a file has.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Conditions in order of their first row.
    pub measured: Vec<Measured>,
    /// Rows behind them.
    pub rows: u64,
    /// Rows not used.
    pub refused: Vec<Refused>,
}

/// Columns a table must have; others are read where they are.
const NEEDED: [&str; 9] = [
    "id",
    "backend",
    "model_path",
    "system",
    "mode",
    "isl",
    "osl",
    "silicon_ttft_ms",
    "silicon_tpot_ms",
];

/// Marks of rows that say nothing new or nothing true, and what they mean.
const MARKS: [(&str, &str); 5] = [
    ("flag_exact_dup", "the same row as an earlier one"),
    ("flag_near_copy", "an earlier row, rounded again"),
    (
        "flag_mtp",
        "run with speculative decoding the row does not describe",
    ),
    ("flag_tp_gt_node", "its TP counts a whole deployment"),
    (
        "flag_label_suspect",
        "its labels contradict each other or physics",
    ),
];

/// Reads a file.
///
/// # Errors
/// It can't be opened, is no CSV with the columns needed, or is too large.
pub fn read_rows(path: &Path) -> Result<Rows, ReadError> {
    let shown = path.display().to_string();
    let io = |source| ReadError::Io {
        path: shown.clone(),
        source,
    };
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() > MAX_BYTES {
        return Err(ReadError::TooLarge { path: shown });
    }
    read_from(file.take(MAX_BYTES), &shown)
}

/// Reads a table of that name.
pub(super) fn read_from(source: impl Read, shown: &str) -> Result<Rows, ReadError> {
    let bad = |source| ReadError::Csv {
        path: shown.to_owned(),
        source,
    };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(source);
    let columns = Columns::of(reader.headers().map_err(bad)?, shown)?;
    let mut rows = Rows::default();
    // Condition → index into `rows.measured`.
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut record = StringRecord::new();
    let mut count = 0;
    while reader.read_record(&mut record).map_err(bad)? {
        count += 1;
        if count > MAX_ROWS {
            return Err(ReadError::TooLarge {
                path: shown.to_owned(),
            });
        }
        let line = record.position().map_or(0, csv::Position::line);
        let row = Row {
            columns: &columns,
            record: &record,
        };
        let id = row.text("id");
        match row.measured() {
            Err(Unusable { why, usable }) => rows.refused.push(Refused {
                id,
                line,
                why,
                usable,
            }),
            Ok((condition, ttft, tpot)) => {
                rows.rows += 1;
                let key = format!(
                    "{}|{}|{}|{}|{}|{}|{}",
                    condition.group,
                    condition.isl,
                    condition.osl,
                    condition.concurrency,
                    condition.version,
                    condition.image,
                    condition.campaign
                );
                let index = *known.entry(key).or_insert(rows.measured.len());
                if let Some(own) = rows.measured.get_mut(index) {
                    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
                    let so_far = own.ids.len() as f64;
                    own.ttft += (ttft - own.ttft) / (so_far + 1.0);
                    own.tpot += (tpot - own.tpot) / (so_far + 1.0);
                    own.ids.push(id);
                } else {
                    rows.measured.push(Measured {
                        ids: vec![id],
                        line,
                        condition,
                        ttft,
                        tpot,
                    });
                }
            }
        }
    }
    Ok(rows)
}

/// Column → place.
struct Columns(BTreeMap<String, usize>);

impl Columns {
    fn of(header: &StringRecord, path: &str) -> Result<Self, ReadError> {
        let places: BTreeMap<String, usize> = header
            .iter()
            .enumerate()
            .map(|(place, name)| (name.trim().trim_start_matches('\u{feff}').to_owned(), place))
            .collect();
        match NEEDED.iter().find(|name| !places.contains_key(**name)) {
            Some(column) => Err(ReadError::Column {
                path: path.to_owned(),
                column,
                needed: NEEDED.join(", "),
            }),
            None => Ok(Self(places)),
        }
    }
}

/// Why a row is not used.
struct Unusable {
    why: String,
    usable: bool,
}

/// Of a row that could be used but for our reading of it.
fn unread(why: String) -> Unusable {
    Unusable { why, usable: true }
}

/// One row by column names.
struct Row<'a> {
    columns: &'a Columns,
    record: &'a StringRecord,
}

impl Row<'_> {
    fn get(&self, name: &str) -> &str {
        let place = self.columns.0.get(name);
        place
            .and_then(|place| self.record.get(*place))
            .unwrap_or("")
            .trim()
    }

    fn text(&self, name: &str) -> String {
        self.get(name).chars().take(MAX_TEXT).collect()
    }

    /// A count; empty and 0: `default`, as tables have both for "not used".
    fn count(&self, name: &str, default: Option<u32>, most: u32) -> Result<u32, Unusable> {
        let text = self.get(name);
        let read = match text {
            "" | "0" | "0.0" => default,
            _ => text
                .parse::<f64>()
                .ok()
                .filter(|value| value.fract() == 0.0 && (1.0..=f64::from(most)).contains(value))
                .map(|value| {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a whole number from 1 to `most`"
                    )]
                    let whole = value as u32;
                    whole
                }),
        };
        read.ok_or_else(|| {
            unread(format!(
                "{name} is “{}”: expected a whole number from 1 to {most}",
                self.text(name)
            ))
        })
    }

    fn positive(&self, name: &str) -> Result<f64, Unusable> {
        self.get(name)
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite() && *value > 0.0)
            .ok_or_else(|| {
                unread(format!(
                    "{name} is “{}”: expected milliseconds above 0",
                    self.text(name)
                ))
            })
    }

    fn sharding(&self, prefix: &str) -> Result<Sharding, Unusable> {
        let degree = |name: &str| self.count(&format!("{prefix}{name}"), Some(1), MAX_COUNT);
        Ok(Sharding {
            tp: degree("tp_size")?,
            pp: degree("pp_size")?,
            dp: degree("attention_dp_size")?,
            moe_tp: degree("moe_tp_size")?,
            ep: degree("moe_ep_size")?,
        })
    }

    fn workers(&self, prefix: &str) -> Result<Workers, Unusable> {
        let name = format!("{prefix}num_workers");
        if self.get(&name).is_empty() {
            return Err(Unusable {
                why: format!("{name} is missing: how many workers there were is not said"),
                usable: false,
            });
        }
        Ok(Workers {
            count: self.count(&name, None, MAX_COUNT)?,
            sharding: self.sharding(prefix)?,
        })
    }

    fn deployment(&self) -> Result<Deployment, Unusable> {
        match self.get("mode") {
            "agg" => self.sharding("").map(Deployment::Colocated),
            "disagg" => Ok(Deployment::Disaggregated {
                prefill: self.workers("prefill_")?,
                decode: self.workers("decode_")?,
            }),
            _ => Err(unread(format!(
                "mode is “{}”: expected agg or disagg",
                self.text("mode")
            ))),
        }
    }

    fn measured(&self) -> Result<(Condition, f64, f64), Unusable> {
        for (mark, meaning) in MARKS {
            if !matches!(self.get(mark), "" | "0" | "0.0") {
                return Err(Unusable {
                    why: format!("{mark}: {meaning}"),
                    usable: false,
                });
            }
        }
        let engine = match self.get("backend") {
            "vllm" => EngineKind::Vllm,
            "sglang" => EngineKind::Sglang,
            "trtllm" | "tensorrt_llm" => EngineKind::TensorRtLlm,
            _ => {
                return Err(unread(format!(
                    "backend is “{}”: expected vllm, sglang or trtllm",
                    self.text("backend")
                )));
            }
        };
        let deployment = self.deployment()?;
        // Where the load is not said, it is as many as the replica's batch holds.
        let concurrency = match self.get("concurrency") {
            "" => self
                .count("batch_size", None, MAX_TOKENS)?
                .saturating_mul(match deployment {
                    Deployment::Colocated(own) => own.dp,
                    Deployment::Disaggregated { .. } => 1,
                }),
            _ => self.count("concurrency", None, MAX_TOKENS)?,
        };
        let model_path = self.text("model_path");
        let or = |name: &str, other: String| match self.text(name) {
            own if own.is_empty() => other,
            own => own,
        };
        let condition = Condition {
            engine,
            version: self.text("backend_version"),
            image: self.text("image"),
            model: or("model_canon", model_path.clone()),
            model_path,
            system: self.text("system"),
            precision: or("precision_filled", self.text("precision")),
            gemm: self.text("gemm_quant_mode"),
            deployment,
            isl: self.count("isl", None, MAX_TOKENS)?,
            osl: self.count("osl", None, MAX_TOKENS)?,
            concurrency,
            campaign: self.text("campaign"),
            date: self.text("measured"),
            group: or("config_group", self.text("id")),
        };
        let ttft = self.positive("silicon_ttft_ms")? * 1e-3;
        let tpot = self.positive("silicon_tpot_ms")? * 1e-3;
        Ok((condition, ttft, tpot))
    }
}
