//! The workload: version 1, and what version 3 adds (how a trace is read, conversations, hidden
//! rounds, priorities).

use super::bounds::{self, MAX_NAME, MAX_TEXT};
use super::mirror::{Frozen, frozen_enum, frozen_struct};
use crate::units::{Seconds, Tokens};
use crate::workload::{self, MAX_CLASSES};
use serde::{Deserialize, Serialize};

frozen_struct!(Workload as workload::Workload {
    arrivals: Arrivals,
    input: Length,
    output: Length,
    requests: u64,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<TraceFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sessions: Option<Sessions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hidden: Option<Hidden>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounds::at_most::<_, _, MAX_CLASSES>")]
    priorities: Vec<PriorityClass>,
});

frozen_enum!(Process as workload::Process {
    Poisson,
    Gamma { cv: f64 },
    Constant,
});

frozen_enum!(Arrivals as workload::Arrivals {
    Open { process: Process },
    Closed,
    Trace,
});

frozen_enum!(Length as workload::Length {
    Fixed(tokens: Tokens),
    Uniform { min: Tokens, max: Tokens },
    LogNormal { mean: Tokens, cv: f64, max: Tokens },
});

frozen_enum!(Count as workload::Count {
    Fixed(n: u32),
    Uniform { min: u32, max: u32 },
    Geometric {
        #[serde(deserialize_with = "bounds::finite")]
        mean: f64,
        max: u32,
    },
});

frozen_struct!(Wait as workload::Wait {
    mean: Seconds,
    #[serde(deserialize_with = "bounds::finite")]
    cv: f64,
});

frozen_struct!(SystemPrompt as workload::SystemPrompt {
    tokens: Tokens,
    distinct: u32,
});

frozen_struct!(Sessions as workload::Sessions {
    turns: Count,
    think: Wait,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<SystemPrompt>,
});

frozen_struct!(Hidden as workload::Hidden {
    rounds: Count,
    tokens: Length,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Length>,
    wait: Wait,
    kept: bool,
});

frozen_struct!(PriorityClass as workload::PriorityClass {
    priority: i32,
    #[serde(deserialize_with = "bounds::finite")]
    share: f64,
});

/// A trace and how it is read. Version 1 kept `drop_failed` with the columns.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::project) struct TraceFile {
    #[serde(deserialize_with = "bounds::text::<_, MAX_TEXT>")]
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<ColumnMap>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drop_failed: bool,
    #[serde(default, skip_serializing_if = "Ties::is_together")]
    ties: Ties,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
}

impl Frozen for TraceFile {
    type Live = workload::TraceFile;

    fn freeze(live: &workload::TraceFile) -> Self {
        let workload::TraceFile { path, options } = live;
        let workload::TraceOptions {
            columns,
            drop_failed,
            ties,
            block_tokens,
            window,
        } = options;
        Self {
            path: path.clone(),
            columns: columns.as_ref().map(ColumnMap::freeze),
            drop_failed: *drop_failed,
            ties: Ties::freeze(ties),
            block_tokens: *block_tokens,
            window: window.as_ref().map(Window::freeze),
        }
    }

    fn thaw(self) -> workload::TraceFile {
        let with_columns = self.columns.as_ref().is_some_and(|map| map.drop_failed);
        workload::TraceFile {
            path: self.path,
            options: workload::TraceOptions {
                columns: self.columns.map(Frozen::thaw),
                drop_failed: self.drop_failed || with_columns,
                ties: self.ties.thaw(),
                block_tokens: self.block_tokens,
                window: self.window.map(Frozen::thaw),
            },
        }
    }
}

frozen_enum!(#[derive(Default)] Ties as workload::Ties {
    #[default]
    Together,
    Even,
    Random,
});

impl Ties {
    const fn is_together(&self) -> bool {
        matches!(self, Self::Together)
    }
}

frozen_struct!(Window as workload::Window {
    from: Seconds,
    to: Seconds,
});

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::project) struct ColumnMap {
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    arrival: String,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    input: String,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrival_unit: Option<TimeUnit>,
    /// Read from files of version 1, never written.
    #[serde(default, skip_serializing)]
    drop_failed: bool,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounds::maybe_name"
    )]
    priority: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounds::maybe_name"
    )]
    session: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "bounds::maybe_name"
    )]
    blocks: Option<String>,
}

impl Frozen for ColumnMap {
    type Live = workload::ColumnMap;

    fn freeze(live: &workload::ColumnMap) -> Self {
        let workload::ColumnMap {
            arrival,
            input,
            output,
            arrival_unit,
            priority,
            session,
            blocks,
        } = live.clone();
        Self {
            arrival,
            input,
            output,
            arrival_unit: arrival_unit.as_ref().map(TimeUnit::freeze),
            drop_failed: false,
            priority,
            session,
            blocks,
        }
    }

    fn thaw(self) -> workload::ColumnMap {
        workload::ColumnMap {
            arrival: self.arrival,
            input: self.input,
            output: self.output,
            arrival_unit: self.arrival_unit.map(Frozen::thaw),
            priority: self.priority,
            session: self.session,
            blocks: self.blocks,
        }
    }
}

frozen_enum!(TimeUnit as workload::TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
});
