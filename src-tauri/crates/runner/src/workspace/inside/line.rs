//! What is said of a line whose hits were found: that it was another one, has several statements, or declares a name.

use script::SiteTable;

use crate::views::{Printed, PrintedValue};

/// How many other statements of a line are named.
const MAX_OTHERS: usize = 3;

/// A line that is asked.
pub(super) struct AskedLine<'a> {
    /// Relative to the workspace.
    pub(super) file: &'a str,
    /// From 1.
    pub(super) line: u32,
    /// From 1; without it the names choose the statement.
    pub(super) column: Option<u32>,
    /// The names that the expressions take from their scope.
    pub(super) names: &'a [String],
}

impl AskedLine<'_> {
    /// Says what must be known of the line. `ran` is the text of the file when it ran, and `today` what it has now.
    pub(super) fn known(
        &self,
        table: &SiteTable,
        ran: Option<&str>,
        today: Option<&str>,
        found: &Printed,
    ) -> Option<String> {
        let (hit, line) = (found.hits.first()?, self.line);
        let of_line = if hit.line == line {
            self.changed(ran, today)
        } else {
            Some(format!("line {line} is inside the statement that begins on line {}", hit.line))
        };
        let of_statement = not_declared_yet(found).or_else(|| self.others(table, hit.column));
        of_line.into_iter().chain(of_statement).reduce(|all, note| format!("{all}; {note}"))
    }

    /// Says what the line was when it ran, if the file has another line there today.
    fn changed(&self, ran: Option<&str>, today: Option<&str>) -> Option<String> {
        let line_of = |text: Option<&str>| text?.lines().nth(self.line as usize - 1).map(|line| line.trim().to_owned());
        let ran = line_of(ran)?;
        let is_same = line_of(today).is_some_and(|today| today == ran);
        let Self { file, line, .. } = self;
        (!is_same).then(|| format!("{file} has changed since: line {line} was `{ran}` when it ran"))
    }

    /// Names the other statements on the line that may have been meant, as that of a function inside the one that was
    /// asked, which begins at a column.
    fn others(&self, table: &SiteTable, column: u32) -> Option<String> {
        if self.column.is_some() {
            return None;
        }
        let Self { file, line, names, .. } = self;
        let meant = table.meant(file, *line, names);
        let columns = meant.iter().map(|at| table.sites[*at as usize].column);
        let others = columns.filter(|other| *other != column).take(MAX_OTHERS);
        let others: Vec<String> = others.map(|other| format!("{file}:{line}:{other}")).collect();
        let all = others.join(" or ");
        (!others.is_empty())
            .then(|| format!("of several statements on the line, this is the one at column {column}; write {all}"))
    }
}

/// Says that a name has no value before its own statement has run, if an expression has none for that reason.
fn not_declared_yet(found: &Printed) -> Option<String> {
    let name = |value: &PrintedValue| match value {
        PrintedValue::Failed { error } if error.name == "ReferenceError" => {
            let rest = error.message.strip_prefix("Cannot access '")?;
            rest.strip_suffix("' before initialization").map(str::to_owned)
        }
        _ => None,
    };
    let count = found.hits.first()?.values.len();
    let has_none = |nth: usize| found.hits.iter().all(|hit| hit.values.get(nth).and_then(name).is_some());
    let nth = (0..count).find(|nth| has_none(*nth))?;
    let name = name(found.hits.first()?.values.get(nth)?)?;
    Some(format!("values are those before the statement runs: {name} is declared by it or later, so ask a later line"))
}
