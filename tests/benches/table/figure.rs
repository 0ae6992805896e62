//! A line of the table: what was measured, against what, and whether that will do.

use serde_json::{Value, json};

/// The whole table, in the order it was measured.
pub(crate) type Table = Vec<Figure>;

/// One line.
pub(crate) struct Figure {
    /// What was done.
    pub(crate) what: String,
    /// The median, in `unit`.
    pub(crate) ours: f64,
    pub(crate) unit: &'static str,
    /// What it is held against, in the same unit.
    pub(crate) against: f64,
    /// What that is.
    pub(crate) name: &'static str,
    pub(crate) limit: Limit,
}

/// What the ratio of a figure to what it is held against may be.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// Nothing of ours is judged: it says what the machine gives.
    Told,
}

impl Figure {
    /// Held against a figure of the same run.
    pub(crate) fn line(what: &str, ours: f64, unit: &'static str, name: &'static str, line: f64, limit: Limit) -> Self {
        Figure { what: what.to_owned(), ours, unit, against: line, name, limit }
    }

    /// Not above a target.
    pub(crate) fn below(what: &str, ours: f64, unit: &'static str, target: f64) -> Self {
        Figure { what: what.to_owned(), ours, unit, against: target, name: "target", limit: Limit::AtMost(1.0) }
    }

    /// Not below a target.
    pub(crate) fn above(what: &str, ours: f64, unit: &'static str, target: f64) -> Self {
        Figure { what: what.to_owned(), ours, unit, against: target, name: "target", limit: Limit::AtLeast(1.0) }
    }

    /// Held against nothing here; `why` says what there would have to be.
    pub(crate) fn alone(what: &str, ours: f64, unit: &'static str, why: &'static str) -> Self {
        Figure { what: what.to_owned(), ours, unit, against: f64::NAN, name: why, limit: Limit::Told }
    }

    fn ratio(&self) -> f64 {
        self.ours / self.against
    }

    fn passes(&self) -> bool {
        match self.limit {
            Limit::AtMost(most) => self.ratio() <= most,
            Limit::AtLeast(least) => self.ratio() >= least,
            Limit::Told => true,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.limit {
            Limit::Told => "",
            _ if self.passes() => "pass",
            _ => "FAIL",
        }
    }

    fn wanted(&self) -> String {
        match self.limit {
            Limit::AtMost(most) => format!("≤ {most:.2}"),
            Limit::AtLeast(least) => format!("≥ {least:.2}"),
            Limit::Told => String::new(),
        }
    }
}

/// Whether a figure is held against nothing.
fn is_alone(figure: &Figure) -> bool {
    figure.against.is_nan()
}

/// The table for people.
pub(crate) fn print(table: &Table) -> String {
    let heads = ["WHAT", "OURS", "AGAINST", "", "RATIO", "WANTED", ""];
    let rows: Vec<[String; 7]> = table
        .iter()
        .map(|figure| {
            [
                figure.what.clone(),
                number(figure.ours, figure.unit),
                if is_alone(figure) { String::new() } else { number(figure.against, figure.unit) },
                figure.name.to_owned(),
                if is_alone(figure) { String::new() } else { format!("{:.2}", figure.ratio()) },
                figure.wanted(),
                figure.verdict().to_owned(),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|n| rows.iter().map(|row| row[n].chars().count()).chain([heads[n].len()]).max().unwrap_or(0))
        .collect();
    let line = |cells: Vec<String>| {
        let cells = cells.iter().enumerate().map(|(n, cell)| match n {
            0 | 3 | 6 => format!("{cell:<width$}", width = widths[n]),
            _ => format!("{cell:>width$}", width = widths[n]),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let head = line(heads.map(str::to_owned).to_vec());
    let failed = table.iter().filter(|figure| !figure.passes()).count();
    let judged = table.iter().filter(|figure| !matches!(figure.limit, Limit::Told)).count();
    let sum = format!("{} of {judged} pass\n", judged - failed);
    head + &rows.into_iter().map(|row| line(row.to_vec())).collect::<String>() + &sum
}

/// The table for programs.
pub(crate) fn as_json(table: &Table) -> String {
    let rows: Vec<Value> = table
        .iter()
        .map(|figure| {
            let (most, least) = match figure.limit {
                Limit::AtMost(most) => (Some(most), None),
                Limit::AtLeast(least) => (None, Some(least)),
                Limit::Told => (None, None),
            };
            json!({
                "what": figure.what, "ours": figure.ours, "unit": figure.unit, "against": figure.against,
                "name": figure.name, "ratio": figure.ratio(), "atMost": most, "atLeast": least,
                "pass": figure.passes(),
            })
        })
        .collect();
    serde_json::to_string_pretty(&rows).expect("numbers and texts can be written") + "\n"
}

fn number(value: f64, unit: &str) -> String {
    match value {
        value if value >= 1_000.0 => format!("{} {unit}", thousands(value.round() as u64)),
        value if value >= 100.0 => format!("{value:.0} {unit}"),
        value if value >= 10.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}

fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}
