//! Where an author called something that threw while a file loaded.
//!
//! The runtime knows the place of a call only until it meets another call among the arguments: of
//! `defineFlow({ block: handler({ … }) })` it remembers `handler`. A definition is mostly such calls
//! within calls, so the place is looked for again in the bundle's text, from the one that is known
//! outwards. Must not guess: without a call of that name around the place, the place stays.

use engine::error::Location;

use crate::trace::{Trace, frame};

/// How far a call may reach, in characters.
const FARTHEST: usize = 200_000;

/// The first place on a stack that is the author's: of the call that led out of the author's code.
pub(crate) fn of_stack(trace: &Trace, code: &str, stack: &str) -> Option<Location> {
    let mut called = None;
    for line in stack.lines() {
        let Some((name, (line, column))) = frame(line) else { continue };
        if trace.locate(line, column).is_none() {
            called = Some(name);
            continue;
        }
        let (line, column) = called.and_then(|name| around(code, line, column, name)).unwrap_or((line, column));
        return trace.locate(line, column);
    }
    None
}

/// The call of `name` whose arguments hold a place, both 1-based; `None` where the place is itself
/// such a call, or nothing of that name is around it.
fn around(code: &str, line: u32, column: u32, name: &str) -> Option<(u32, u32)> {
    let start: usize = code.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
    let width: usize = code[start..].chars().take(column as usize - 1).map(char::len_utf8).sum();
    let place = start + width;
    if code[place..].trim_start_matches('.').starts_with(name) {
        return None;
    }
    let mut closed = 0;
    for (at, c) in code[..place].char_indices().rev().take(FARTHEST) {
        match c {
            ')' => closed += 1,
            '(' if closed > 0 => closed -= 1,
            '(' if ends_with_name(&code[..at], name) => return Some(position(code, at - name.len())),
            _ => {}
        }
    }
    None
}

fn ends_with_name(text: &str, name: &str) -> bool {
    let Some(before) = text.strip_suffix(name) else { return false };
    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$')
}

/// The line and column of a byte, both 1-based.
fn position(code: &str, at: usize) -> (u32, u32) {
    let before = &code[..at];
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) as u32 + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `around` finds, from the place of `@` in the text.
    #[track_caller]
    fn check(text: &str, name: &str, expected: Option<(u32, u32)>) {
        let (line, column) = position(text, text.find('@').expect("a marked place"));
        assert_eq!(around(&text.replace('@', ""), line, column, name), expected, "{name} in {text}");
    }

    #[test]
    fn the_call_around_is_found_over_lines_and_other_calls() {
        check("var f = defineFlow({\n\tactions: { go: @handler({}) }\n});", "defineFlow", Some((1, 9)));
        check("a.step(one(1), two(2), @three(3))", "step", Some((1, 3)));
        check("ä.step(\n @three(3))", "step", Some((1, 3)));
    }

    #[test]
    fn a_place_that_is_the_call_stays() {
        check("var f = @defineFlow({})", "defineFlow", None);
        check("chain@.step('x')", "step", None);
    }

    #[test]
    fn calls_that_ended_before_and_longer_names_are_not_meant() {
        check("step(1); other(@inner())", "step", None);
        check("mystep(@inner())", "step", None);
        check("step(mystep(@inner()))", "step", Some((1, 1)));
    }
}
