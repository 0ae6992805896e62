//! Finds where two executions of a block first differ: in the value of a local variable, or in the next statement.
//!
//! Pure: it compares captured values. Statements are equal if their texts and functions are equal, so that a block can
//! be compared although other lines of its file were changed.

use serde_json::Value;

/// The captured values before a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'s> {
    /// The text of the statement.
    pub(super) text: &'s str,
    /// The function around it.
    pub(super) function: &'s str,
    /// The names in its scope, the nearest first.
    pub(super) names: &'s [String],
    /// Their captured values, in the order of the names.
    pub(super) values: &'s [Value],
}

/// The first statement at which two executions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FirstDifference {
    /// How many statements come before it.
    pub(super) equal: usize,
    /// The names whose values differ, in the order of the left statement and then the right one; empty if the
    /// statements differ, or one execution has ended.
    pub(super) names: Vec<String>,
}

/// Compares the statements of two executions. `None` if nothing differs.
pub(super) fn first_difference<'s>(
    left: impl IntoIterator<Item = Seen<'s>>,
    right: impl IntoIterator<Item = Seen<'s>>,
) -> Option<FirstDifference> {
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    for equal in 0.. {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (Some(left), Some(right)) if (left.text, left.function) == (right.text, right.function) => {
                let names = differing(left, right);
                if !names.is_empty() {
                    return Some(FirstDifference { equal, names });
                }
            }
            _ => return Some(FirstDifference { equal, names: Vec::new() }),
        }
    }
    None
}

/// Returns the names whose values differ, or that only one of the statements has in its scope.
fn differing(left: Seen<'_>, right: Seen<'_>) -> Vec<String> {
    let all = left.names.iter().chain(right.names.iter().filter(|name| !left.names.contains(name)));
    all.filter(|name| left.value(name) != right.value(name)).cloned().collect()
}

impl<'s> Seen<'s> {
    /// The value of a name; `None` if it is not in scope, or its declaration has not run.
    pub(super) fn value(&self, name: &str) -> Option<&'s Value> {
        let at = self.names.iter().position(|known| known == name)?;
        self.values.get(at).filter(|value| value["error"]["name"] != "ReferenceError")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A statement, and the values of its names.
    type Row = (&'static str, Vec<String>, Vec<Value>);

    fn row(text: &'static str, locals: &Value) -> Row {
        let locals = locals.as_object().expect("locals");
        (text, locals.keys().cloned().collect(), locals.values().cloned().collect())
    }

    fn seen(rows: &[Row]) -> impl Iterator<Item = Seen<'_>> {
        rows.iter().map(|(text, names, values)| Seen { text, function: "execute", names, values })
    }

    #[track_caller]
    fn check(left: &[Row], right: &[Row], expected: Option<(usize, &[&str])>) {
        let found = first_difference(seen(left), seen(right));
        let expected = expected.map(|(equal, names)| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            FirstDifference { equal, names }
        });
        assert_eq!(found, expected);
        let mirrored = first_difference(seen(right), seen(left)).map(|it| it.equal);
        assert_eq!(mirrored, found.map(|it| it.equal), "the sides do not matter for the place");
    }

    #[test]
    fn the_first_local_that_differs_is_found() {
        let run = |sum: i32| {
            vec![
                row("let sum = 0;", &json!({ "input": { "kind": "number", "preview": "1" } })),
                row("sum += n;", &json!({ "input": { "kind": "number", "preview": "1" }, "sum": { "preview": sum } })),
                row("return sum;", &json!({ "input": { "kind": "number", "preview": "1" }, "sum": { "preview": 9 } })),
            ]
        };
        check(&run(1), &run(1), None);
        check(&run(1), &run(2), Some((1, &["sum"])));
    }

    #[test]
    fn another_statement_is_a_difference_without_names() {
        let same = row("if (n)", &json!({}));
        let (one, other) = (row("a();", &json!({ "x": 1 })), row("b();", &json!({ "x": 2 })));
        check(&[same.clone(), one.clone()], &[same.clone(), other], Some((1, &[])));
        check(&[same.clone(), one], std::slice::from_ref(&same), Some((1, &[])));
        check(&[], &[], None);
    }

    #[test]
    fn an_uninitialized_name_counts_as_missing() {
        let unborn = json!({ "n": { "error": { "name": "ReferenceError", "message": "n is not initialized" } } });
        check(&[row("f();", &unborn)], &[row("f();", &json!({}))], None);
        check(&[row("f();", &json!({ "n": 1 }))], &[row("f();", &json!({}))], Some((0, &["n"])));
    }
}
