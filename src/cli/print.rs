//! Readable lines and tables for the terminal.

use crate::plan::{Finding, Place, Severity};
use crate::report::extrapolation_text;
use crate::sim::{PoolTime, Stats, Summary};
use crate::workload::Load;

/// A text of the document for the terminal: control characters, which could steer it, are shown as
/// a replacement sign.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Writes to standard output; a reader that went away (`| head`) is no reason to fail.
pub(super) fn out(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a line; a reader that went away is no reason to fail.
pub(super) fn line(out: &mut impl std::io::Write, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text).and_then(|()| out.write_all(b"\n"));
}

/// One finding, one line.
pub(super) fn finding(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "hint",
    };
    let repair = finding
        .repair
        .as_ref()
        .map_or(String::new(), |repair| format!(" [{}]", repair.label));
    format!(
        "  {severity:<8}{}: {}{repair}",
        place(&finding.place),
        plain(&finding.cause)
    )
}

/// Where a finding is, in words.
pub(super) fn place(place: &Place) -> String {
    match place {
        Place::Design => "design".to_owned(),
        Place::Group(id) => format!("group {id}"),
        Place::Link(id) => format!("link {id}"),
        Place::Pool(id) => format!("pool {id}"),
        Place::Service(id) => format!("service {id}"),
        Place::Model => "model".to_owned(),
        Place::Workload => "workload".to_owned(),
    }
}

/// A load in words.
pub(super) fn load(load: Load) -> String {
    match load {
        Load::Rate(rate) => format!("{} requests/s", number(rate)),
        Load::Concurrency(n) => format!("{n} in flight"),
        Load::TraceSpeed(speed) => format!("trace at {}×", number(speed)),
    }
}

/// A number to four decimals, or as a power of ten where those would show nothing or too much.
pub(super) fn number(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e9).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Milliseconds with three digits or so, `n/a` without samples.
pub(super) fn ms(stats: &Stats, seconds: f64) -> String {
    if stats.count == 0 {
        return "n/a".to_owned();
    }
    let ms = seconds * 1e3;
    match ms {
        ms if ms < 10.0 => format!("{ms:.2}"),
        ms if ms < 100.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

/// A run, readable.
pub(super) fn summary(summary: &Summary) -> String {
    let counts = summary.requests;
    let mut lines = vec![
        format!(
            "  requests   {} arrived, {} completed, {} failed, {} in flight",
            counts.arrived, counts.completed, counts.failed, counts.in_flight
        ),
        format!(
            "  {:<10} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "ms", "mean", "p50", "p90", "p95", "p99"
        ),
    ];
    let rows = [
        ("TTFT", &summary.ttft_s),
        ("TPOT", &summary.tpot_s),
        ("ITL", &summary.itl_s),
        ("E2E", &summary.e2e_s),
    ];
    for (name, stats) in rows {
        lines.push(format!(
            "  {name:<10} {:>9} {:>9} {:>9} {:>9} {:>9}",
            ms(stats, stats.mean),
            ms(stats, stats.p50),
            ms(stats, stats.p90),
            ms(stats, stats.p95),
            ms(stats, stats.p99)
        ));
    }
    if let Some(hidden) = &summary.hidden {
        lines.push(format!(
            "  hidden     {} rounds of {} tokens, {} ms of a request on average (in its TTFT)",
            hidden.rounds,
            hidden.tokens,
            ms(&hidden.time_s, hidden.time_s.mean)
        ));
    }
    lines.push(format!(
        "  output     {:.1} tokens/s, {:.2} tokens/s/GPU, {:.3} requests/s",
        summary.output_tokens_per_s, summary.output_tokens_per_s_per_gpu, summary.requests_per_s
    ));
    let window = summary.window;
    lines.push(format!(
        "  window     {} ({:.2} to {:.2} s of {:.2} s)",
        window.kind, window.start_s, window.end_s, window.run_end_s
    ));
    if summary.saturated {
        lines.push(
            "  saturated  the queue grows all through the run: latencies depend on its length"
                .to_owned(),
        );
    }
    if let Some((link, share)) = &summary.busiest_link {
        lines.push(format!(
            "  busiest    {}, {:.1} % of its rate, full {:.1} % of the time",
            plain(link),
            share * 100.0,
            summary.busiest_link_full * 100.0
        ));
    }
    for own in &summary.splits {
        lines.push(format!(
            "  AFD        {} micro-batches; of a step attention works {:.0} %, dispatch {:.0} %, FFN {:.0} %, combine {:.0} %",
            own.micro_batches,
            own.attention * 100.0,
            own.dispatch * 100.0,
            own.ffn * 100.0,
            own.combine * 100.0
        ));
    }
    let peaks: Vec<String> = summary
        .kv_peak
        .iter()
        .map(|(pool, share)| format!("{} {:.0} %", plain(pool), share * 100.0))
        .collect();
    lines.push(format!("  KV peak    {}", peaks.join(", ")));
    if summary.work.preemptions > 0 {
        lines.push(format!("  preempted  {} times", summary.work.preemptions));
    }
    lines.extend(summary.breakdown.iter().flat_map(pool_time));
    let provenance = &summary.provenance;
    let routing = &provenance.routing;
    if !routing.is_default() {
        lines.push(format!(
            "  routing    {}; from prefill to decode {}",
            routing.entry.name(),
            routing.handover.name()
        ));
    }
    if summary.work.local_prefills > 0 {
        lines.push(format!(
            "  local      {} prompts prefilled where they decode",
            summary.work.local_prefills
        ));
    }
    let shares: Vec<String> = provenance
        .time_shares
        .iter()
        .map(|(class, share)| format!("{class} {:.0} %", share * 100.0))
        .collect();
    lines.push(format!("  time       {}", shares.join(", ")));
    lines.push(format!(
        "  of it      {}",
        origins_text(&provenance.origins)
    ));
    if let Some(beyond) = extrapolation_text(provenance) {
        lines.push(format!("             {beyond}"));
    }
    lines.push(format!(
        "  prices     {} fidelity (step times −{:.0} % … +{:.0} %), {}, seed {}",
        provenance.fidelity,
        -provenance.band.0 * 100.0,
        provenance.band.1 * 100.0,
        provenance.engines.join(" and "),
        provenance.seed
    ));
    for (index, limit) in summary.limits.iter().enumerate() {
        let head = if index == 0 { "limits" } else { "" };
        lines.push(format!("  {head:<10} {}", plain(&limit.text)));
    }
    lines.join("\n")
}

/// Where a pool's device time went, a line for each kind of steps.
fn pool_time(pool: &PoolTime) -> Vec<String> {
    let mut lines = vec![format!(
        "  {:<10} busy {:.0} %; {:.1} run, {:.1} wait, KV {:.0} % on average",
        plain(&pool.pool),
        pool.busy * 100.0,
        pool.running,
        pool.waiting,
        pool.kv * 100.0
    )];
    let steps = pool.phases.iter().filter(|phase| phase.steps > 0);
    lines.extend(steps.map(|phase| {
        let classes: Vec<String> = phase
            .by_class
            .iter()
            .map(|(class, seconds)| (class, seconds / pool.seconds))
            .filter(|(_, share)| *share >= 0.005)
            .map(|(class, share)| format!("{class} {:.0} %", share * 100.0))
            .collect();
        format!(
            "  {:<10} {} steps {}, {:.0} tokens each: {}",
            "",
            phase.steps,
            phase.carries,
            phase.tokens_per_step,
            classes.join(", ")
        )
    }));
    lines
}

/// `83 % calibrated, 17 % roofline`.
fn origins_text(origins: &[(&'static str, f64)]) -> String {
    let words: Vec<String> = origins
        .iter()
        .map(|(name, share)| format!("{:.0} % {name}", share * 100.0))
        .collect();
    words.join(", ")
}
