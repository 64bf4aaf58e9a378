//! Version 1 of the workload.

use super::bounds::{self, MAX_NAME, MAX_TEXT};
use super::mirror::{Frozen, frozen_enum, frozen_struct};
use crate::units::Tokens;
use crate::workload;

frozen_struct!(Workload as workload::Workload {
    arrivals: Arrivals,
    input: Length,
    output: Length,
    requests: u64,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<TraceFile>,
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

frozen_struct!(TraceFile as workload::TraceFile {
    #[serde(deserialize_with = "bounds::text::<_, MAX_TEXT>")]
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<ColumnMap>,
});

frozen_struct!(ColumnMap as workload::ColumnMap {
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    arrival: String,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    input: String,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arrival_unit: Option<TimeUnit>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drop_failed: bool,
});

frozen_enum!(TimeUnit as workload::TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
});
