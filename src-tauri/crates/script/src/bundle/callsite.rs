//! The exact place of an error in an author's code, from the approximate one that the runtime reports.
//!
//! QuickJS records the places of calls, operators and names only. For `defineFlow({ block: handler({ … }) })` it
//! reports `handler`, for a property read over several lines the name it begins with, for `new Error(…)` the last
//! argument. So the bundle's text is searched from the reported place: outwards for a call, forwards for a property.
//! Must not guess: if the search finds nothing, the reported place is kept.

use engine::error::Location;

use crate::bundle::marks;
use crate::bundle::trace::Trace;

/// How far before the reported place a call may begin, in characters.
const MAX_CALL_LENGTH: usize = 200_000;
/// How far after the reported place a property may be, in characters.
const MAX_PROPERTY_DISTANCE: usize = 20_000;

/// What is known of an error besides its place.
pub(crate) struct Hint<'a> {
    /// The function outside the author's code that was called there and threw.
    pub(crate) called: Option<&'a str>,
    /// The error's message.
    pub(crate) message: &'a str,
    /// Its class names, nearest first.
    pub(crate) classes: &'a [String],
}

/// Returns the exact line and column, both 1-based.
pub(crate) fn refine(code: &str, line: u32, column: u32, hint: &Hint<'_>) -> (u32, u32) {
    // The place of a marked call is exact.
    let is_marked = offset(code, line, column).is_some_and(|at| marks::begin(code, at).is_some());
    let found = match hint.called {
        Some(_) if is_marked => None,
        Some(name) => call_around(code, line, column, name),
        None => property_of(hint.message)
            .and_then(|name| {
                let is_write = hint.message.starts_with("cannot set");
                let before = is_write.then(|| property_before(code, line, column, name)).flatten();
                before.or_else(|| property_after(code, line, column, name)).or_else(|| read_of_nothing(code, name))
            })
            .or_else(|| if is_marked { None } else { call_of(code, line, column, hint) }),
    };
    found.unwrap_or((line, column))
}

/// Finds the construction of the error, or the callee that is not a function.
fn call_of(code: &str, line: u32, column: u32, hint: &Hint<'_>) -> Option<(u32, u32)> {
    let construction = hint.classes.iter().find_map(|class| construction_around(code, line, column, class));
    construction.or_else(|| (hint.message == "not a function").then(|| callee_before(code, line, column)).flatten())
}

/// Returns the property that could not be read or written, from the runtime's message.
fn property_of(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("cannot read property '").or(message.strip_prefix("cannot set property '"))?;
    rest.rsplit_once("' of ").map(|(name, _)| name)
}

/// Finds `.name` after a place, within the statement and outside brackets that open after the place.
fn property_after(code: &str, line: u32, column: u32, name: &str) -> Option<(u32, u32)> {
    let start = offset(code, line, column)?;
    let (mut depth, mut quote, mut is_escaped) = (0_i32, None, false);
    for (at, c) in code[start..].char_indices().take(MAX_PROPERTY_DISTANCE) {
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

/// Finds `.name` before a place, within the statement: in an assignment the reported place is that of the value.
fn property_before(code: &str, line: u32, column: u32, name: &str) -> Option<(u32, u32)> {
    let end = offset(code, line, column)?;
    let start = code[..end].rfind([';', '{', '}']).map_or(0, |at| at + 1);
    let found = code[start..end].rmatch_indices('.').find(|(at, _)| is_property(code, start + at, name))?;
    Some(position(code, start + found.0 + 1))
}

/// Finds the only place where a property of a literal `undefined` or `null` is read: the bundler inlines constants, and
/// the runtime reports no place for a literal.
fn read_of_nothing(code: &str, name: &str) -> Option<(u32, u32)> {
    let mut found = Vec::new();
    for nothing in ["(void 0).", "null.", "undefined."] {
        let reads = code.match_indices(nothing).map(|(at, _)| at + nothing.len() - 1);
        found.extend(reads.filter(|at| is_property(code, *at, name)));
    }
    if let [only] = found[..] { Some(position(code, only + 1)) } else { None }
}

/// Returns whether the code at a byte is `.name`.
fn is_property(code: &str, at: usize, name: &str) -> bool {
    let rest = code[at..].strip_prefix('.').and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$'))
}

/// Finds the callee of the call whose arguments contain a place.
fn callee_before(code: &str, line: u32, column: u32) -> Option<(u32, u32)> {
    let place = offset(code, line, column)?;
    let open = open_before(code, place)?;
    let callee = code[..open].trim_end();
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let name = callee.len() - callee.chars().rev().take_while(|c| is_name(*c)).map(char::len_utf8).sum::<usize>();
    (name < callee.len()).then(|| position(code, name))
}

/// Finds the opening bracket of the innermost call or group around a place.
fn open_before(code: &str, place: usize) -> Option<usize> {
    let mut closed = 0;
    for (at, c) in code[..place].char_indices().rev().take(MAX_CALL_LENGTH) {
        match c {
            ')' => closed += 1,
            '(' if closed > 0 => closed -= 1,
            '(' => return Some(at),
            _ => {}
        }
    }
    None
}

/// Finds the `new` of the innermost construction of a class around a place, within the statement.
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

/// Returns the byte offset of a line and column, both 1-based. Columns count UTF-16 units.
fn offset(code: &str, line: u32, column: u32) -> Option<usize> {
    let start: usize = code.split_inclusive('\n').take(line.checked_sub(1)? as usize).map(str::len).sum();
    let (mut units, mut at) = (column.checked_sub(1)?, start);
    for c in code.get(start..)?.chars() {
        if units == 0 {
            break;
        }
        units = units.saturating_sub(c.len_utf16() as u32);
        at += c.len_utf8();
    }
    Some(at)
}

/// Returns the first place on a stack that is in the author's code.
pub(crate) fn of_stack(trace: &Trace, code: &str, stack: &str) -> Option<Location> {
    of_thrown(trace, code, stack, "", &[])
}

/// As [`of_stack`], for an error with this message and these classes.
pub(crate) fn of_thrown(trace: &Trace, code: &str, stack: &str, message: &str, classes: &[String]) -> Option<Location> {
    let mut called = None;
    for line in stack.lines() {
        let Some((name, place)) = trace.frame(line) else { continue };
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

/// Finds the call of `name` whose arguments contain a place (1-based). `None` if the place itself is such a call, or
/// there is none around it.
fn call_around(code: &str, line: u32, column: u32, name: &str) -> Option<(u32, u32)> {
    let place = offset(code, line, column)?;
    if code[place..].trim_start_matches('.').starts_with(name) {
        return None;
    }
    let mut closed = 0;
    for (at, c) in code[..place].char_indices().rev().take(MAX_CALL_LENGTH) {
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

/// Returns the line and column of a byte offset, both 1-based.
fn position(code: &str, at: usize) -> (u32, u32) {
    let before = &code[..at];
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.encode_utf16().count()) as u32 + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `around` finds, from the place of `@` in the text.
    #[track_caller]
    fn check(text: &str, name: &str, expected: Option<(u32, u32)>) {
        let (line, column) = position(text, text.find('@').expect("a marked place"));
        assert_eq!(call_around(&text.replace('@', ""), line, column, name), expected, "{name} in {text}");
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
