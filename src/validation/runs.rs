//! Reads runs that were measured request by request: a folder with `runs.csv`, a run a line with its
//! engine's settings, and a file `requests_<gpu>_<model>.csv` of each, a request a line.
//!
//! Times are the engine's own: when a request was queued, when its first and last token left. Columns
//! of `runs.csv` that are settings of the engine are settings of the run; of what a run does not say
//! there, recipes may know more. Files are strangers' files: bounded, and every run that can't be used
//! is listed with its line and reason.

use super::read::ReadError;
use crate::plan::EngineKind;
use csv::StringRecord;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Most runs of a folder, and most requests of a run.
const MAX_RUNS: usize = 1_000;
const MAX_REQUESTS: usize = 1_000_000;
/// Largest file, bytes.
const MAX_BYTES: u64 = 256 << 20;
/// Longest name of a GPU or model.
const MAX_NAME: usize = 128;
/// Most ranks of a run.
const MAX_RANKS: u32 = 16_384;
/// Longest prompt or answer.
const MAX_TOKENS: u64 = 16_777_216;
/// Latest time, s: a month.
const MAX_SECONDS: f64 = 2_678_400.0;

/// A run: what was asked of which engine.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRun {
    /// Its line in `runs.csv`, from 1.
    pub line: u64,
    /// The GPU as the file names it.
    pub gpu: String,
    /// The model as the file names it.
    pub model: String,
    /// Version of vLLM.
    pub version: String,
    /// Ranks of tensor parallelism.
    pub tp: u32,
    /// Lanes; recipes may know of more.
    pub dp: u32,
    /// Settings of the engine the file says, under the engine's names.
    pub settings: Vec<(String, String)>,
    /// Its requests by arrival; of those at one time by prompt and answer.
    pub requests: Vec<MeasuredRequest>,
}

/// A request, as the engine saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRequest {
    /// Since the first arrival, s.
    pub arrival: f64,
    /// Prompt tokens.
    pub input: u64,
    /// Answer tokens.
    pub output: u64,
    /// From being queued to the first token, s.
    pub ttft: f64,
    /// Between tokens after the first, s; of an answer of one token nothing.
    pub tpot: Option<f64>,
    /// From being queued to the last token, s.
    pub e2e: f64,
}

/// A run that was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRefused {
    /// Its line in `runs.csv`, from 1.
    pub line: u64,
    /// GPU and model.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What a folder has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestRuns {
    /// Runs in order.
    pub runs: Vec<RequestRun>,
    /// Runs that can't be read.
    pub refused: Vec<RunRefused>,
}

/// Reads a folder.
///
/// # Errors
/// `runs.csv` can't be read or lacks a column. A run whose requests can't be read is refused.
pub fn read_runs(dir: &Path) -> Result<RequestRuns, ReadError> {
    let path = dir.join("runs.csv");
    let table = Table::read(&path, &["gpu", "model"], MAX_RUNS)?;
    let mut found = RequestRuns::default();
    for (line, record) in &table.rows {
        let text = |name: &str| table.text(record, name);
        let (gpu, model) = (text("gpu"), text("model"));
        let name: String = format!("{gpu} {model}").chars().take(MAX_NAME).collect();
        match run_of(dir, &table, record, *line) {
            Ok(run) => found.runs.push(run),
            Err(why) => found.refused.push(RunRefused {
                line: *line,
                name,
                why,
            }),
        }
    }
    Ok(found)
}

/// A name that can stand in a file's name.
fn plain(what: &str, text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.+ ".contains(c);
    if text.is_empty() || text.len() > MAX_NAME || !text.chars().all(fits) || text.starts_with('.')
    {
        let shown: String = text.chars().take(40).collect();
        return Err(format!("“{shown}” is no name of a {what}"));
    }
    Ok(text.to_owned())
}

fn run_of(
    dir: &Path,
    table: &Table,
    record: &StringRecord,
    line: u64,
) -> Result<RequestRun, String> {
    let text = |name: &str| table.text(record, name);
    let (gpu, model) = (plain("GPU", text("gpu"))?, plain("model", text("model"))?);
    let ranks = |name: &str| match text(name) {
        "" => Ok(1),
        own => own
            .parse::<u32>()
            .ok()
            .filter(|count| (1..=MAX_RANKS).contains(count))
            .ok_or_else(|| format!("{name} is “{own}”: expected 1 to {MAX_RANKS}")),
    };
    match text("dtype") {
        "" | "auto" | "bfloat16" | "float16" => {}
        other => return Err(format!("dtype “{other}” is neither bfloat16 nor float16")),
    }
    let settings = table
        .columns
        .keys()
        .filter(|name| EngineKind::Vllm.setting(name).is_some())
        .map(|name| (name.clone(), text(name).to_owned()))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let own = RequestRun {
        line,
        tp: ranks("tensor_parallel_size")?,
        dp: ranks("data_parallel_size")?,
        version: text("vllm_version").chars().take(MAX_NAME).collect(),
        settings,
        requests: requests_of(&dir.join(format!("requests_{gpu}_{model}.csv")))?,
        gpu,
        model,
    };
    match text("num_requests").parse::<usize>() {
        Ok(count) if count != own.requests.len() => Err(format!(
            "{count} requests are said and {} listed",
            own.requests.len()
        )),
        _ => Ok(own),
    }
}

const COLUMNS: [&str; 6] = [
    "input_tokens",
    "output_tokens",
    "arrival_s",
    "queued_s",
    "first_token_s",
    "last_token_s",
];

fn requests_of(path: &Path) -> Result<Vec<MeasuredRequest>, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.is_file() {
        return Err(format!("there is no {name}: its requests are not given"));
    }
    let table = Table::read(path, &COLUMNS, MAX_REQUESTS).map_err(|error| error.to_string())?;
    let mut requests = Vec::with_capacity(table.rows.len());
    for (line, record) in &table.rows {
        let bad = |name: &str| {
            let shown: String = table.text(record, name).chars().take(40).collect();
            format!("line {line}: {name} is “{shown}”")
        };
        let tokens = |name: &str| {
            let read = table.text(record, name).parse::<u64>().ok();
            read.filter(|count| (1..=MAX_TOKENS).contains(count))
                .ok_or_else(|| bad(name))
        };
        let seconds = |name: &str| {
            let read = table.text(record, name).parse::<f64>().ok();
            read.filter(|value| value.is_finite() && value.abs() < MAX_SECONDS)
                .ok_or_else(|| bad(name))
        };
        let (queued, first, last) = (
            seconds("queued_s")?,
            seconds("first_token_s")?,
            seconds("last_token_s")?,
        );
        let arrival = seconds("arrival_s")?;
        let output = tokens("output_tokens")?;
        if !(queued < first && first <= last && arrival >= 0.0) {
            return Err(format!(
                "line {line}: queued, first and last token are not one after another"
            ));
        }
        #[expect(clippy::cast_precision_loss, reason = "tokens of an answer")]
        let later = output.saturating_sub(1) as f64;
        requests.push(MeasuredRequest {
            arrival,
            input: tokens("input_tokens")?,
            output,
            ttft: first - queued,
            tpot: (output > 1).then(|| (last - first) / later),
            e2e: last - queued,
        });
    }
    if requests.is_empty() {
        return Err(format!("{name} has no request"));
    }
    requests.sort_by(|a, b| {
        let tie = (a.input, a.output).cmp(&(b.input, b.output));
        a.arrival.total_cmp(&b.arrival).then(tie)
    });
    Ok(requests)
}

/// A bounded CSV file in memory.
struct Table {
    columns: BTreeMap<String, usize>,
    rows: Vec<(u64, StringRecord)>,
}

impl Table {
    fn read(path: &Path, needed: &[&'static str], most: usize) -> Result<Self, ReadError> {
        let shown = path.display().to_string();
        let io = |source| ReadError::Io {
            path: shown.clone(),
            source,
        };
        let csv = |source| ReadError::Csv {
            path: shown.clone(),
            source,
        };
        let file = File::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.len() > MAX_BYTES {
            return Err(ReadError::TooLarge { path: shown });
        }
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(file.take(MAX_BYTES));
        let columns: BTreeMap<String, usize> = reader
            .headers()
            .map_err(csv)?
            .iter()
            .enumerate()
            .map(|(place, name)| (name.trim().trim_start_matches('\u{feff}').to_owned(), place))
            .collect();
        if let Some(column) = needed.iter().find(|name| !columns.contains_key(**name)) {
            return Err(ReadError::Column {
                path: shown,
                column,
                needed: needed.join(", "),
            });
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(csv)?;
            if rows.len() == most {
                return Err(ReadError::TooLarge { path: shown });
            }
            rows.push((record.position().map_or(0, csv::Position::line), record));
        }
        Ok(Self { columns, rows })
    }

    fn text<'a>(&self, record: &'a StringRecord, name: &str) -> &'a str {
        let place = self.columns.get(name);
        place
            .and_then(|place| record.get(*place))
            .unwrap_or("")
            .trim()
    }
}
