//! The model for people, in a hundred columns.

use super::Asked;
use crate::cli::print::plain;
use crate::model::{
    Amount, Row, Section, attention_kinds, ffn_kinds, grouped, kv_bytes_per_sequence,
    kv_bytes_per_token, parameters, state_bytes_per_sequence, weight_bytes,
};

/// Columns of the terminal.
const WIDTH: usize = 100;
/// Columns of a row's name, at most.
const NAME: usize = 34;

/// The numbers people look for first, and what was taken for granted.
pub(super) fn summary(asked: &Asked) {
    let model = asked.model();
    let (precision, at) = (asked.precision, asked.at);
    let all = parameters(model);
    let line = |name: &str, text: String| {
        for (index, part) in wrapped(&plain(&text), WIDTH - 14).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            say!("  {name:<12}{part}");
        }
    };
    say!("{}", plain(&model.name));
    line("layers", grouped(u64::from(model.layer_count())));
    kinds(&line, "attention", attention_kinds(model));
    kinds(&line, "FFN", ffn_kinds(model));
    let active = if all.active() == all.total() {
        String::new()
    } else {
        format!(", {} active", Amount::Parameters(all.active()).short())
    };
    let total = Amount::Parameters(all.total());
    line("parameters", format!("{} ({total}){active}", total.short()));
    line(
        "weights",
        format!(
            "{} in {}",
            Amount::Bytes(weight_bytes(model, precision).get()).short(),
            precision.weights.name()
        ),
    );
    let kv = precision.kv;
    line(
        "KV",
        format!(
            "{} bytes per token in {}",
            grouped(kv_bytes_per_token(model, kv).get()),
            kv.name()
        ),
    );
    line(
        "",
        format!(
            "{} for a sequence of {} tokens",
            Amount::Bytes(kv_bytes_per_sequence(model, kv, at.context).get()).short(),
            grouped(at.context)
        ),
    );
    let state = state_bytes_per_sequence(&model.layers, 1).get();
    if state > 0 {
        let state = Amount::Bytes(state).short();
        line("", format!("{state} of it whatever its length"));
    }
    for assumption in &asked.imported.assumptions {
        line("assumed", assumption.clone());
    }
    if !asked.imported.unused_keys.is_empty() {
        line("not used", asked.imported.unused_keys.join(", "));
    }
}

/// Kinds of layers, the first few.
fn kinds(line: &impl Fn(&str, String), name: &str, kinds: Vec<(String, u64)>) {
    const MOST: usize = 6;
    let more = kinds.len().saturating_sub(MOST);
    for (index, (words, layers)) in kinds.into_iter().take(MOST).enumerate() {
        let name = if index == 0 { name } else { "" };
        line(name, format!("{} × {words}", grouped(layers)));
    }
    if more > 0 {
        line("", format!("and {more} kinds more"));
    }
}

/// Sections: name, formula, value at the right edge; a long formula has lines of its own.
pub(super) fn sections(sections: &[Section]) {
    for section in sections {
        say!();
        say!("{}", plain(&section.title));
        let name = section
            .all_rows()
            .map(|row| row.what.chars().count())
            .max()
            .unwrap_or(0)
            .min(NAME);
        let value = section
            .all_rows()
            .map(|row| row.value.to_string().chars().count())
            .max()
            .unwrap_or(0);
        for row in &section.rows {
            row_lines(row, name, value);
        }
        if let Some(total) = &section.total {
            say!("  {}", "─".repeat(WIDTH - 2));
            row_lines(total, name, value);
        }
        for row in &section.beside {
            row_lines(row, name, value);
        }
        for note in &section.notes {
            for part in wrapped(&plain(note), WIDTH - 2) {
                say!("  {part}");
            }
        }
    }
}

fn row_lines(row: &Row, name: usize, value: usize) {
    let formula = WIDTH - 2 - name - 2 - 2 - value;
    let names = wrapped(&plain(&row.what), name);
    let formulas = wrapped(&plain(&row.formula), formula);
    for index in 0..names.len().max(formulas.len()) {
        let words = names.get(index).map_or("", String::as_str);
        let work = formulas.get(index).map_or("", String::as_str);
        // The value stands beside the last line of its working.
        let amount = if index + 1 == names.len().max(formulas.len()) {
            row.value.to_string()
        } else {
            String::new()
        };
        let line = format!("  {words:<name$}  {work:<formula$}  {amount:>value$}");
        say!("{}", line.trim_end());
    }
}

/// Lines of at most so many characters, broken at spaces; a longer word is cut.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split(' ') {
        let word: Vec<char> = word.chars().collect();
        for (index, piece) in word.chunks(width).enumerate() {
            let joins = index == 0 && used + 1 + piece.len() <= width;
            match lines.last_mut().filter(|_| joins) {
                Some(line) => {
                    line.push(' ');
                    line.extend(piece);
                    used += 1 + piece.len();
                }
                None => {
                    lines.push(piece.iter().collect());
                    used = piece.len();
                }
            }
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrapped("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("ab", 0), ["a", "b"]);
        assert_eq!(wrapped("x aaaaaaaaaa b", 4), ["x", "aaaa", "aaaa", "aa b"]);
    }
}
