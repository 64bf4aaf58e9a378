//! Text that has to fit: cleaning, shortening and wrapping by the embedded font's advances.

use super::fonts::{Weight, text_width};

/// No label is longer than this, in characters; more would not be read and costs time to measure.
const LONGEST: usize = 600;

/// One typeface at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Font {
    /// Weight.
    pub(super) weight: Weight,
    /// Size, in the figure's unit.
    pub(super) size: f64,
}

impl Font {
    /// Width of `text`.
    pub(super) fn width(self, text: &str) -> f64 {
        text_width(text, self.weight, self.size)
    }

    /// `text`, cut and ended with "…" where it is wider than `width`; empty where not even that fits.
    pub(super) fn shorten(self, text: &str, width: f64) -> String {
        let text = clean(text);
        if self.width(&text) <= width {
            return text;
        }
        let ellipsis = self.width("…");
        let kept = self.prefix(&text, width - ellipsis);
        if kept == 0 && ellipsis > width {
            return String::new();
        }
        format!("{}…", text[..kept].trim_end())
    }

    /// `text` in at most `most` lines of at most `width`, the last one shortened where it must be.
    pub(super) fn wrap(self, text: &str, width: f64, most: usize) -> Vec<String> {
        let text = clean(text);
        let mut rest = text.trim();
        let mut lines = Vec::new();
        while !rest.is_empty() && lines.len() < most {
            if lines.len() + 1 == most || self.width(rest) <= width {
                lines.push(self.shorten(rest, width));
                break;
            }
            // At least one character a line, however narrow: progress.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let fitting = self.prefix(rest, width).max(first);
            let at = match rest[..fitting].rfind(' ') {
                _ if rest[fitting..].starts_with(' ') => fitting,
                Some(space) if space > 0 => space,
                _ => fitting,
            };
            lines.push(rest[..at].trim_end().to_owned());
            rest = rest[at..].trim_start();
        }
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// Bytes of the longest prefix no wider than `width`.
    fn prefix(self, text: &str, width: f64) -> usize {
        let mut used = 0.0;
        for (at, c) in text.char_indices() {
            used += self.width(c.encode_utf8(&mut [0; 4]));
            if used > width {
                return at;
            }
        }
        text.len()
    }
}

/// One line without control characters, white space run together.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    let mut pending = false;
    for c in text.chars().take(LONGEST) {
        if c.is_control() || c == ' ' {
            pending = true;
            continue;
        }
        // Not characters, so neither XML nor a font knows them.
        if matches!(c, '\u{FFFE}' | '\u{FFFF}') {
            continue;
        }
        if pending && !out.is_empty() {
            out.push(' ');
        }
        pending = false;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: Font = Font {
        weight: Weight::Regular,
        size: 10.0,
    };

    #[test]
    fn shortened_text_fits_and_says_that_it_was_cut() {
        let text = "DeepSeek-V3.1 on 4 × 8 H200, prefill and decode disaggregated";
        for width in 0..400 {
            let width = f64::from(width);
            let cut = FONT.shorten(text, width);
            assert!(FONT.width(&cut) <= width);
            assert!(cut == text || cut.is_empty() || cut.ends_with('…'));
        }
    }

    #[test]
    fn wrapping_keeps_every_word_and_breaks_endless_ones() {
        let text = "Output tokens per second and GPU of the whole design";
        let lines = FONT.wrap(text, 90.0, 10);
        assert!(lines.len() > 2 && lines.iter().all(|line| FONT.width(line) <= 90.0));
        assert_eq!(lines.join(" "), text);
        let endless = "x".repeat(300);
        let lines = FONT.wrap(&endless, 50.0, 4);
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| FONT.width(line) <= 50.0) && lines[3].ends_with('…'));
        assert!(FONT.wrap("", 50.0, 4).is_empty() && FONT.wrap(" \n\t", 50.0, 4).is_empty());
        assert!(FONT.wrap("anything", -1.0, 4).len() <= 4);
    }

    #[test]
    fn control_characters_become_one_space() {
        assert_eq!(clean("  a\n\tb\u{0}\u{7}c  "), "a b c");
        assert_eq!(clean(&"é".repeat(5_000)).chars().count(), LONGEST);
    }
}
