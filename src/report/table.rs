//! Numbers beside a figure: as CSV for programs, as aligned text for people.

use super::error::ReportError;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What is listed: "TTFT p95".
    pub name: String,
    /// Unit of all its numbers: "ms"; empty for none.
    pub unit: String,
}

impl Column {
    /// A column of `name` in `unit`.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
        }
    }

    /// The heading for people: "TTFT p95 (ms)".
    pub fn title(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.unit)
        }
    }

    /// The heading for programs: snake case, the unit at the end, ASCII: `ttft_p95_ms`, `throughput_tokens_per_s_per_gpu`.
    pub fn key(&self) -> String {
        let words = if self.unit.is_empty() {
            key_of(&self.name)
        } else {
            key_of(&format!("{} {}", self.name, self.unit))
        };
        if words.is_empty() {
            "column".into()
        } else {
            words
        }
    }
}

fn key_of(text: &str) -> String {
    let spelled = text.chars().fold(String::new(), |mut out, c| {
        match c {
            '/' => out.push_str(" per "),
            '%' => out.push_str(" percent "),
            '$' => out.push_str(" usd "),
            'µ' | 'μ' => out.push('u'),
            'Δ' => out.push_str(" delta "),
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ => out.push(' '),
        }
        out
    });
    spelled.split_whitespace().collect::<Vec<_>>().join("_")
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A measured or computed number.
    Number(f64),
    /// A count.
    Count(u64),
    /// Nothing known, or not defined here.
    Empty,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Rows of cells under named columns; every row has one cell per column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) -> Result<(), ReportError> {
        if row.len() != self.columns.len() {
            let (row, cells) = (self.rows.len(), row.len());
            return Err(ReportError::RowWidth {
                row,
                cells,
                columns: self.columns.len(),
            });
        }
        self.rows.push(row);
        Ok(())
    }

    /// CSV by RFC 4180 (comma, CRLF, quotes where needed) with [`Column::key`]s as header; of columns with the same key
    /// the later ones are numbered. A number is the shortest text that reads back as the same number; an empty
    /// cell is an empty field. Text that a spreadsheet would run as a formula gets a leading apostrophe.
    pub fn to_csv(&self) -> Result<String, ReportError> {
        let mut writer = csv::WriterBuilder::new()
            .terminator(csv::Terminator::CRLF)
            .from_writer(Vec::new());
        let failed = |cause: String| ReportError::Csv { cause };
        if !self.columns.is_empty() {
            writer
                .write_record(self.keys())
                .map_err(|e| failed(e.to_string()))?;
        }
        for row in self.rows.iter().filter(|row| !row.is_empty()) {
            writer
                .write_record(row.iter().map(csv_cell))
                .map_err(|e| failed(e.to_string()))?;
        }
        let bytes = writer.into_inner().map_err(|e| failed(e.to_string()))?;
        String::from_utf8(bytes).map_err(|e| failed(e.to_string()))
    }

    fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let key = column.key();
            let mut candidate = key.clone();
            let mut number = 2;
            while keys.contains(&candidate) {
                candidate = format!("{key}_{number}");
                number += 1;
            }
            keys.push(candidate);
        }
        keys
    }

    /// Columns padded with spaces under a ruled heading, numbers to the right and to four significant digits.
    pub fn to_text(&self) -> String {
        let numeric = |column: usize| {
            let mut cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(column))
                .filter(|cell| **cell != Cell::Empty)
                .peekable();
            cells.peek().is_some()
                && cells.all(|cell| matches!(cell, Cell::Number(_) | Cell::Count(_)))
        };
        let columns: Vec<(Vec<String>, bool)> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| {
                let cells = self.rows.iter().filter_map(|row| row.get(i)).map(text_cell);
                (
                    std::iter::once(one_line(&column.title()))
                        .chain(cells)
                        .collect(),
                    numeric(i),
                )
            })
            .collect();
        let width = |cells: &[String]| {
            cells
                .iter()
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let mut out = String::new();
        for line in 0..=self.rows.len() {
            let cells: Vec<String> = columns
                .iter()
                .map(|(cells, right)| {
                    let cell = cells.get(line).map_or("", String::as_str);
                    let space = " ".repeat(width(cells) - cell.chars().count());
                    if *right {
                        format!("{space}{cell}")
                    } else {
                        format!("{cell}{space}")
                    }
                })
                .collect();
            out.push_str(cells.join("  ").trim_end());
            out.push('\n');
            if line == 0 {
                let rules: Vec<String> = columns
                    .iter()
                    .map(|(cells, _)| "─".repeat(width(cells)))
                    .collect();
                out.push_str(&rules.join("  "));
                out.push('\n');
            }
        }
        out
    }
}

fn csv_cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("'{text}")
        }
        Cell::Text(text) => text.clone(),
        Cell::Number(value) => shortest(*value),
        Cell::Count(value) => value.to_string(),
        Cell::Empty => String::new(),
    }
}

/// The shortest text that reads back as `value`; exponents where plain digits would be long.
fn shortest(value: f64) -> String {
    let size = value.abs();
    if value.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size) {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

fn text_cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => one_line(text),
        Cell::Number(value) => readable(*value),
        Cell::Count(value) => value.to_string(),
        Cell::Empty => "–".into(),
    }
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Four significant digits, no more decimals than that needs; whole above 1000.
fn readable(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() || size == 0.0 => format!("{value}"),
        s if !(1e-3..1e9).contains(&s) => format!("{value:.3e}"),
        s if s >= 999.95 => format!("{value:.0}"),
        s if s >= 99.995 => format!("{value:.1}"),
        s if s >= 9.9995 => format!("{value:.2}"),
        s if s >= 0.99995 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: Vec<Vec<Cell>>) -> Table {
        let mut table = Table::new(vec![
            Column::new("Design", ""),
            Column::new("TTFT p95", "ms"),
            Column::new("Requests", ""),
        ]);
        for row in rows {
            table.push(row).expect("row fits");
        }
        table
    }

    fn read(text: &str) -> Vec<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes());
        reader
            .records()
            .map(|r| r.expect("record").iter().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn csv_reads_back_as_the_same_values() {
        let numbers = [
            0.1 + 0.2,
            1.0 / 3.0,
            1e-300,
            5e-324,
            f64::MAX,
            -0.0,
            123_456_789.0,
            1e22,
            f64::INFINITY,
        ];
        let csv = table(
            numbers
                .iter()
                .map(|&v| vec!["a,\"b\"\nc".into(), v.into(), u64::MAX.into()])
                .collect(),
        )
        .to_csv();
        let rows = read(&csv.expect("csv"));
        assert_eq!(rows[0], ["design", "ttft_p95_ms", "requests"]);
        for (row, number) in rows[1..].iter().zip(numbers) {
            assert_eq!(row[0], "a,\"b\"\nc");
            assert_eq!(
                row[1].parse::<f64>().expect("number").to_bits(),
                number.to_bits()
            );
            assert_eq!(row[2].parse::<u64>(), Ok(u64::MAX));
        }
    }

    #[test]
    fn csv_follows_rfc_4180_and_runs_no_formula() {
        let csv = table(vec![
            vec!["=HYPERLINK(1)".into(), (-5.0).into(), Cell::Empty],
            vec!["-x".into(), Cell::Empty, 3_u64.into()],
        ]);
        assert_eq!(
            csv.to_csv().expect("csv"),
            "design,ttft_p95_ms,requests\r\n'=HYPERLINK(1),-5,\r\n'-x,,3\r\n"
        );
    }

    #[test]
    fn keys_are_stable_names_and_never_repeat() {
        for (name, unit, key) in [
            (
                "Output tokens",
                "tokens/s/GPU",
                "output_tokens_tokens_per_s_per_gpu",
            ),
            ("Cost", "$/M tokens", "cost_usd_per_m_tokens"),
            ("HBM in use", "%", "hbm_in_use_percent"),
            ("Latency", "µs", "latency_us"),
            ("数", "", "column"),
        ] {
            assert_eq!(Column::new(name, unit).key(), key);
        }
        let twice = Table::new(vec![
            Column::new("a", ""),
            Column::new("A", ""),
            Column::new("a_2", ""),
        ]);
        assert_eq!(twice.keys(), ["a", "a_2", "a_2_2"]);
    }

    #[test]
    fn text_lines_up() {
        let text = table(vec![
            vec!["PD 1:1".into(), 123.456.into(), 9_u64.into()],
            vec!["colocated".into(), Cell::Empty, 1024_u64.into()],
        ])
        .to_text();
        assert_eq!(
            text,
            "Design     TTFT p95 (ms)  Requests\n\
             ─────────  ─────────────  ────────\n\
             PD 1:1             123.5         9\n\
             colocated              –      1024\n"
        );
    }

    #[test]
    fn a_row_of_the_wrong_width_is_refused() {
        let error = table(Vec::new())
            .push(vec![Cell::Empty])
            .expect_err("too short");
        assert_eq!(
            error.to_string(),
            "row 0 has 1 cells, but the table has 3 columns"
        );
        assert_eq!(Table::default().to_csv().expect("csv"), "");
    }

    #[test]
    fn readable_numbers_have_four_digits() {
        for (value, text) in [
            (1234.5, "1234"),
            (99.996, "100.0"),
            (0.012345, "0.0123"),
            (1.5, "1.500"),
            (2e-5, "2.000e-5"),
            (0.0, "0"),
        ] {
            assert_eq!(readable(value), text);
        }
    }
}
