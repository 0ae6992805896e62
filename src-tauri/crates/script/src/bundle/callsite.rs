//! Where an author's code went wrong, from the place that the runtime knows.
//!
//! The runtime notes places of calls, operators and names only. Of `defineFlow({ block: handler({ … }) })` it
//! remembers `handler`, of a property read over several lines the name that it began with, of `new Error(…)`
//! the last argument. So the place is looked for again in the bundle's text, from the one that is known: outwards
//! for a call, onwards for a property. Must not guess: without what it looks for around the place, the place stays.

use engine::error::Location;

use crate::bundle::trace::{Trace, frame};

/// How far a call may reach, in characters.
const FARTHEST: usize = 200_000;
/// How far a property may stand from the name or call before it.
const FARTHEST_PROPERTY: usize = 20_000;

/// What is known of an error besides its place.
pub(crate) struct Hint<'a> {
    /// The function that was called there, and threw.
    pub(crate) called: Option<&'a str>,
    /// What was thrown says.
    pub(crate) message: &'a str,
    /// Its class names, nearest first.
    pub(crate) classes: &'a [String],
}

/// The place that is meant, both 1-based.
pub(crate) fn refine(code: &str, line: u32, column: u32, hint: &Hint<'_>) -> (u32, u32) {
    let found = match hint.called {
        Some(name) => around(code, line, column, name),
        None => property_of(hint.message)
            .and_then(|name| {
                let is_write = hint.message.starts_with("cannot set");
                let before = is_write.then(|| property_before(code, line, column, name)).flatten();
                before.or_else(|| property_after(code, line, column, name)).or_else(|| read_of_nothing(code, name))
            })
            .or_else(|| (hint.message == "not a function").then(|| callee_before(code, line, column)).flatten())
            .or_else(|| hint.classes.iter().find_map(|class| construction_around(code, line, column, class))),
    };
    found.unwrap_or((line, column))
}

/// The property that the runtime could not read or write.
fn property_of(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("cannot read property '").or(message.strip_prefix("cannot set property '"))?;
    rest.rsplit_once("' of ").map(|(name, _)| name)
}

/// Where `.name` follows a place within its statement, in no list or call that begins after the place.
fn property_after(code: &str, line: u32, column: u32, name: &str) -> Option<(u32, u32)> {
    let start = offset(code, line, column)?;
    let (mut depth, mut quote, mut is_escaped) = (0_i32, None, false);
    for (at, c) in code[start..].char_indices().take(FARTHEST_PROPERTY) {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ';') if depth <= 0 => return None,
            (None, '.') if depth <= 0 && is_property(code, start + at, name) => {
                return Some(position(code, start + at + 1));
            }
            _ => {}
        }
    }
    None
}

/// Where `.name` stands before a place within its statement: a value that is written is read after it.
fn property_before(code: &str, line: u32, column: u32, name: &str) -> Option<(u32, u32)> {
    let end = offset(code, line, column)?;
    let start = code[..end].rfind([';', '{', '}']).map_or(0, |at| at + 1);
    let found = code[start..end].rmatch_indices('.').find(|(at, _)| is_property(code, start + at, name))?;
    Some(position(code, start + found.0 + 1))
}

/// The one place where a property of a written `undefined` or `null` is read: the bundler puts a constant where it
/// is used, and the runtime notes no place of a constant.
fn read_of_nothing(code: &str, name: &str) -> Option<(u32, u32)> {
    let mut found = Vec::new();
    for nothing in ["(void 0).", "null.", "undefined."] {
        let reads = code.match_indices(nothing).map(|(at, _)| at + nothing.len() - 1);
        found.extend(reads.filter(|at| is_property(code, *at, name)));
    }
    if let [only] = found[..] { Some(position(code, only + 1)) } else { None }
}

/// Whether `.name` stands here.
fn is_property(code: &str, at: usize, name: &str) -> bool {
    let rest = code[at..].strip_prefix('.').and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$'))
}

/// The name of what is called with arguments that hold a place.
fn callee_before(code: &str, line: u32, column: u32) -> Option<(u32, u32)> {
    let place = offset(code, line, column)?;
    let open = open_before(code, place)?;
    let callee = code[..open].trim_end();
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let name = callee.len() - callee.chars().rev().take_while(|c| is_name(*c)).map(char::len_utf8).sum::<usize>();
    (name < callee.len()).then(|| position(code, name))
}

/// The bracket of the innermost call or group around a place.
fn open_before(code: &str, place: usize) -> Option<usize> {
    let mut closed = 0;
    for (at, c) in code[..place].char_indices().rev().take(FARTHEST) {
        match c {
            ')' => closed += 1,
            '(' if closed > 0 => closed -= 1,
            '(' => return Some(at),
            _ => {}
        }
    }
    None
}

/// The `new` of the innermost construction of a class around a place, within its statement.
fn construction_around(code: &str, line: u32, column: u32, class: &str) -> Option<(u32, u32)> {
    let mut place = offset(code, line, column)?;
    while let Some(open) = open_before(code, place) {
        // A class may have been renamed for the bundle: `Own$1`.
        let before = code[..open].trim_end_matches(|c: char| c.is_ascii_digit());
        let before = before.strip_suffix('$').unwrap_or(&code[..open]);
        if ends_with_name(before, class) {
            let made = &before[..before.len() - class.len()];
            let made = made.strip_suffix("new ").map_or(before.len() - class.len(), str::len);
            return Some(position(code, made));
        }
        // A function's body is no argument.
        if code[open..place].contains('{') {
            return None;
        }
        place = open;
    }
    None
}

/// The byte of a place, both 1-based.
fn offset(code: &str, line: u32, column: u32) -> Option<usize> {
    let start: usize = code.split_inclusive('\n').take(line.checked_sub(1)? as usize).map(str::len).sum();
    let width: usize = code.get(start..)?.chars().take(column.checked_sub(1)? as usize).map(char::len_utf8).sum();
    Some(start + width)
}

/// The first place on a stack that is the author's: of the call that led out of the author's code.
pub(crate) fn of_stack(trace: &Trace, code: &str, stack: &str) -> Option<Location> {
    of_thrown(trace, code, stack, "", &[])
}

/// The same for an error with this message and these classes.
pub(crate) fn of_thrown(trace: &Trace, code: &str, stack: &str, message: &str, classes: &[String]) -> Option<Location> {
    let mut called = None;
    for line in stack.lines() {
        let Some((name, place)) = frame(line) else { continue };
        let Some((line, column)) = place.filter(|(line, column)| trace.locate(*line, *column).is_some()) else {
            called = Some(name);
            continue;
        };
        let (line, column) = refine(code, line, column, &Hint { called, message, classes });
        return trace.locate(line, column);
    }
    let (line, column) = read_of_nothing(code, property_of(message)?)?;
    trace.locate(line, column)
}

/// The call of `name` whose arguments hold a place, both 1-based; `None` where the place is itself
/// such a call, or nothing of that name is around it.
fn around(code: &str, line: u32, column: u32, name: &str) -> Option<(u32, u32)> {
    let place = offset(code, line, column)?;
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

    /// Where an error with a message is put, from the place of `@`.
    #[track_caller]
    fn refined(text: &str, message: &str, classes: &[&str], expected: (u32, u32)) {
        let (line, column) = position(text, text.find('@').expect("a marked place"));
        let classes: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
        let hint = Hint { called: None, message, classes: &classes };
        assert_eq!(refine(&text.replace('@', ""), line, column, &hint), expected, "{message} in {text}");
    }

    #[test]
    fn a_property_is_found_after_what_it_is_read_of() {
        let message = "cannot read property 'deep' of undefined";
        refined("return a.find(@(x) => x > 5)\n.deep;", message, &[], (2, 2));
        refined("return @u(\"a;.deep\", { b: 1 }).deep + 1;", message, &[], (1, 31));
        refined("return `one\n${@u().deep} two`;", message, &[], (2, 7));
        refined("@u().other; b.deep;", message, &[], (1, 1));
        refined("@u().deeper;", message, &[], (1, 1));
        refined("@() => {\n return { b: (void 0).deep };\n}", message, &[], (2, 23));
        refined("value.deep =\n @other;", "cannot set property 'deep' of undefined", &[], (1, 7));
    }

    #[test]
    fn what_is_called_or_made_stands_before_its_arguments() {
        refined("value.nothing(1, @two)", "not a function", &[], (1, 7));
        refined("throw new Own$1(\n'm' + @e)", "m", &["Own", "Error"], (1, 7));
        refined("throw Error(@e)", "m", &["Error"], (1, 7));
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
