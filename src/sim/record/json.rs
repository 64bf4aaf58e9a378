//! Events in Chrome's trace format, written one by one: `{"traceEvents":[…],…}`, times in
//! microseconds to the nanosecond. Source: *Trace Event Format* (the Catapult project's document;
//! Perfetto and chrome://tracing both read it).

use crate::sim::queue::Nanos;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A value of an event's arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arg<'a> {
    Count(u64),
    Share(f64),
    Text(&'a str),
}

/// An event before it is written; what does not apply is left out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Event<'a> {
    /// The format's letter.
    pub(super) phase: &'static str,
    pub(super) name: &'a str,
    pub(super) category: Option<&'static str>,
    pub(super) process: u64,
    pub(super) thread: u64,
    pub(super) at: Nanos,
    pub(super) took: Option<Nanos>,
    pub(super) id: Option<u64>,
    /// A colour of chrome://tracing's; Perfetto goes by the name.
    pub(super) colour: Option<&'static str>,
    pub(super) args: &'a [(&'static str, Arg<'a>)],
}

/// Writes events up to a limit. The first error ends it and is told at the end.
pub(super) struct Events {
    out: Box<dyn Write + Send>,
    line: String,
    count: u64,
    limit: u64,
    /// When the first event was left out.
    cut_at: Option<Nanos>,
    error: Option<io::Error>,
}

impl Events {
    pub(super) fn new(out: Box<dyn Write + Send>, limit: u64) -> Self {
        Self {
            out,
            line: String::new(),
            count: 0,
            limit,
            cut_at: None,
            error: None,
        }
    }

    /// Whether nothing more is written.
    pub(super) const fn is_full(&self) -> bool {
        self.cut_at.is_some()
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn cut_at(&self) -> Option<Nanos> {
        self.cut_at
    }

    pub(super) fn add(&mut self, event: &Event<'_>) {
        if self.count >= self.limit {
            self.cut_at.get_or_insert(event.at);
            return;
        }
        let start = if self.count == 0 {
            "{\"traceEvents\":[\n"
        } else {
            ",\n"
        };
        self.count += 1;
        self.line.clear();
        self.line.push_str(start);
        // A `String` takes whatever is written to it.
        let _ = write_event(&mut self.line, event);
        self.flush_line();
    }

    fn flush_line(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.out.write_all(self.line.as_bytes())
        {
            self.error = Some(error);
        }
    }

    /// Closes the file: what else belongs to it is `more`, a JSON object.
    pub(super) fn finish(mut self, more: &serde_json::Value) -> io::Result<()> {
        self.line.clear();
        if self.count == 0 {
            self.line.push_str("{\"traceEvents\":[");
        }
        let _ = write!(
            self.line,
            "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{more}}}"
        );
        self.line.push('\n');
        self.flush_line();
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

fn write_event(line: &mut String, event: &Event<'_>) -> std::fmt::Result {
    write!(line, "{{\"ph\":\"{}\",\"name\":", event.phase)?;
    text(line, event.name)?;
    if let Some(category) = event.category {
        write!(line, ",\"cat\":\"{category}\"")?;
    }
    write!(line, ",\"pid\":{},\"tid\":{}", event.process, event.thread)?;
    line.push_str(",\"ts\":");
    micros(line, event.at)?;
    if let Some(took) = event.took {
        line.push_str(",\"dur\":");
        micros(line, took)?;
    }
    if let Some(id) = event.id {
        write!(line, ",\"id\":{id}")?;
    }
    if let Some(colour) = event.colour {
        write!(line, ",\"cname\":\"{colour}\"")?;
    }
    for (index, (name, arg)) in event.args.iter().enumerate() {
        let open = if index == 0 { ",\"args\":{" } else { "," };
        write!(line, "{open}\"{name}\":")?;
        match arg {
            Arg::Count(count) => write!(line, "{count}")?,
            Arg::Share(share) => write!(line, "{share:.3}")?,
            Arg::Text(words) => text(line, words)?,
        }
    }
    line.push_str(if event.args.is_empty() { "}" } else { "}}" });
    Ok(())
}

fn micros(line: &mut String, ns: Nanos) -> std::fmt::Result {
    write!(line, "{}.{:03}", ns / 1000, ns % 1000)
}

/// A string as JSON has it: names come from documents.
fn text(line: &mut String, words: &str) -> std::fmt::Result {
    line.push('"');
    for c in words.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            c if c.is_control() => write!(line, "\\u{:04x}", u32::from(c))?,
            c => line.push(c),
        }
    }
    line.push('"');
    Ok(())
}
