//! The accuracy table of the README, as `frontier validate --rows FILE --markdown` prints it: errors of
//! each class, of each setup, the worst of them, and what was refused. Never typed.

use crate::validation::{By, Group, Outcome, Scores};
use std::collections::BTreeMap;

/// Where the table starts in a file that holds it.
const BEGIN: &str =
    "<!-- accuracy: printed by `frontier validate --rows FILE --markdown`, not edited by hand -->";
/// Where it ends.
const END: &str = "<!-- accuracy: end -->";
/// Groups of the list of misses.
const WORST: usize = 10;
/// Fewest conditions of a class or a group that is shown: the error of one would give its measurement
/// away.
const LEAST: usize = 5;

const HEAD: &str = "Rows | TPOT median error | within 10 % | within 20 % | bias | TTFT median error | within 20 % | bias |";
const RULE: &str = "--:|--:|--:|--:|--:|--:|--:|--:|";

/// All of it.
pub(super) fn table(found: &Outcome) -> String {
    let mut lines = vec![BEGIN.to_owned()];
    lines.push(format!(
        "{} of {} usable rows predicted; {} refused. Repeats of a condition count once.",
        found.predicted_rows(),
        found.usable_rows(),
        found.refused.len()
    ));
    let shown = |scores: &Scores| scores.tpot.rows == 0 || scores.tpot.rows >= LEAST;
    let classes = found.headlines().into_iter();
    let classes = classes.filter(|own| shown(&own.scores));
    section(
        &mut lines,
        "Deployments",
        classes.map(|own| (own.name(), own.scores)),
    );
    for by in [By::Engine, By::Gpu, By::Precision, By::Model] {
        let mut groups = by.groups(&found.predicted);
        groups.retain(|group| shown(&group.scores));
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        section(&mut lines, by.name(), rows(groups));
    }
    let mut worst = By::Setup.groups(&found.predicted);
    worst.retain(|group| group.scores.tpot.rows >= LEAST);
    worst.truncate(WORST);
    lines.push(String::new());
    lines.push(format!(
        "The worst setups of {LEAST} conditions and more, by TPOT:"
    ));
    section(&mut lines, "Worst setups", rows(worst));
    refused(&mut lines, found);
    lines.push(END.to_owned());
    lines.join("\n")
}

fn rows(groups: Vec<Group>) -> impl Iterator<Item = (String, Scores)> {
    groups.into_iter().map(|group| (group.name, group.scores))
}

fn section(lines: &mut Vec<String>, what: &str, rows: impl Iterator<Item = (String, Scores)>) {
    lines.push(String::new());
    lines.push(format!("| {what} | {HEAD}"));
    lines.push(format!("|---|{RULE}"));
    lines.extend(rows.map(|(name, scores)| row(&name, &scores)));
}

fn row(name: &str, scores: &Scores) -> String {
    let (tpot, ttft) = (&scores.tpot, &scores.ttft);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let signed = |share: f64| format!("{:+.1} %", share * 100.0).replace('-', "−");
    // A name of the file must not end the cell.
    let name: String = name.chars().filter(|c| !"|\r\n<>`".contains(*c)).collect();
    format!(
        "| {name} | {} | {:.1} % | {} | {} | {} | {:.1} % | {} | {} |",
        tpot.rows,
        tpot.median_ape * 100.0,
        percent(tpot.within_10),
        percent(tpot.within_20),
        signed(tpot.bias),
        ttft.median_ape * 100.0,
        percent(ttft.within_20),
        signed(ttft.bias),
    )
}

/// Usable rows that were refused, by reason.
fn refused(lines: &mut Vec<String>, found: &Outcome) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for own in found.refused.iter().filter(|own| own.usable) {
        *reasons.entry(&own.why).or_default() += 1;
    }
    lines.push(String::new());
    if reasons.is_empty() {
        lines.push("No usable row was refused.".to_owned());
        return;
    }
    lines.push("Usable rows that were refused:".to_owned());
    lines.push(String::new());
    for (why, count) in reasons {
        let why: String = why.chars().filter(|c| !"\r\n<>`".contains(*c)).collect();
        lines.push(format!("- {count}: {why}"));
    }
}
