//! `--columns`: how a trace is read, in one word.

use super::Failure;
use crate::units::Seconds;
use crate::workload::{ColumnMap, MAX_TOKENS, Ties, TimeUnit, TraceOptions, Window};

/// What can be said.
const SYNTAX: &str = "write arrival=NAME,input=NAME,output=NAME[,unit=s|ms|us|ns][,priority=NAME]\
[,session=NAME][,blocks=NAME] (or none of these, if the columns are known) and any of drop-failed, \
block=TOKENS, ties=together|even|random, window=FROM:TO (seconds)";

/// Reads it.
///
/// # Errors
/// What is not understood, and what would be.
pub(super) fn trace_options(text: &str) -> Result<TraceOptions, Failure> {
    let wrong = |what: &str| Failure::Usage(format!("--columns {text}: {what}; {SYNTAX}"));
    let mut options = TraceOptions::default();
    let mut map = ColumnMap::new("", "", "");
    let mut unit = None;
    let mut named = false;
    for part in text.split(',') {
        let column = match part.split_once('=') {
            Some(("arrival", name)) => Some((&mut map.arrival, name)),
            Some(("input", name)) => Some((&mut map.input, name)),
            Some(("output", name)) => Some((&mut map.output, name)),
            Some(("priority", name)) => Some((map.priority.insert(String::new()), name)),
            Some(("session", name)) => Some((map.session.insert(String::new()), name)),
            Some(("blocks", name)) => Some((map.blocks.insert(String::new()), name)),
            Some(("unit", name)) => {
                unit = Some(match name {
                    "s" => TimeUnit::Seconds,
                    "ms" => TimeUnit::Milliseconds,
                    "us" => TimeUnit::Microseconds,
                    "ns" => TimeUnit::Nanoseconds,
                    _ => return Err(wrong("the unit is not one of s, ms, us, ns")),
                });
                named = true;
                None
            }
            Some(("ties", name)) => {
                options.ties = match name {
                    "together" => Ties::Together,
                    "even" => Ties::Even,
                    "random" => Ties::Random,
                    _ => return Err(wrong("ties are not one of together, even, random")),
                };
                None
            }
            Some(("block", tokens)) => {
                let tokens = tokens.parse().ok().filter(|n| (1..=MAX_TOKENS).contains(n));
                let tokens = tokens.and_then(|n: u64| u32::try_from(n).ok());
                options.block_tokens =
                    Some(tokens.ok_or_else(|| wrong("a block has a whole number of tokens"))?);
                None
            }
            Some(("window", window)) => {
                options.window = Some(parse_window(window).ok_or_else(|| {
                    wrong("a window is two times in seconds, the first before the second")
                })?);
                None
            }
            None if part == "drop-failed" => {
                options.drop_failed = true;
                None
            }
            _ => return Err(wrong(&format!("“{part}” is not understood"))),
        };
        if let Some((column, name)) = column {
            name.clone_into(column);
            named = true;
        }
    }
    if named {
        if [&map.arrival, &map.input, &map.output]
            .iter()
            .any(|name| name.is_empty())
        {
            return Err(wrong("arrival, input and output are all needed"));
        }
        map.arrival_unit = unit;
        options.columns = Some(map);
    }
    Ok(options)
}

fn parse_window(text: &str) -> Option<Window> {
    let (from, to) = text.split_once(':')?;
    let seconds = |text: &str| text.parse::<f64>().ok().filter(|s| s.is_finite());
    let (from, to) = (seconds(from)?, seconds(to)?);
    (0.0 <= from && from < to).then(|| Window {
        from: Seconds::new(from),
        to: Seconds::new(to),
    })
}
