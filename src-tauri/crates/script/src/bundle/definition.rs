//! Where a block is defined in an author's file: the call that gives it its name, with the calls chained to it.
//!
//! Works on the text alone, because the text of any old request is stored, and nothing else of it. Must not guess: an
//! unbalanced text has no definitions.

/// Finds the calls in a text with an argument `name: "…"` of this value: the line, from 1, and the text from the start
/// of that line to the end of the last call that is chained to it.
pub(crate) fn definitions<'a>(text: &'a str, name: &str) -> impl Iterator<Item = (u32, &'a str)> {
    let quoted = ['"', '\'', '`'].map(|quote| format!("{quote}{name}{quote}"));

    text.match_indices("name").filter_map(move |(at, key)| {
        let before = text[..at].chars().next_back();
        let rest = text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start();
        let is_it = quoted.iter().any(|quoted| rest.starts_with(quoted.as_str()));
        if !is_it || before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
            return None;
        }
        let (start, end) = call_around(text, at)?;
        Some((text[..start].matches('\n').count() as u32 + 1, &text[start..end]))
    })
}

/// Returns the range from the beginning of the line of the innermost call around a place to the end of the last call
/// that is chained to it.
fn call_around(text: &str, at: usize) -> Option<(usize, usize)> {
    let mut depth = 0_i32;
    let open = text[..at].char_indices().rev().find_map(|(place, c)| {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(place),
            '(' => depth -= 1,
            _ => {}
        }
        None
    })?;
    let start = text[..open].rfind('\n').map_or(0, |line| line + 1);
    let mut end = closing(text, open, '(', ')')?;
    while let Some(next) = chained_call(text, end) {
        end = next;
    }
    Some((start, end))
}

/// Returns the end of the call `.name<…>(…)` that follows a place, past blanks and comments.
fn chained_call(text: &str, at: usize) -> Option<usize> {
    let dot = past_blanks(text, at);
    let rest = text[dot..].strip_prefix("?.").or_else(|| text[dot..].strip_prefix('.'))?;
    let name = past_blanks(text, text.len() - rest.len());
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == '#';
    let length = text[name..].find(|c| !is_name(c))?;
    let mut open = past_blanks(text, name + length);
    if text[open..].starts_with('<') {
        open = past_blanks(text, closing(text, open, '<', '>')?);
    }
    if length > 0 && text[open..].starts_with('(') { closing(text, open, '(', ')') } else { None }
}

/// Returns the place of the first character after blanks and comments.
fn past_blanks(text: &str, mut at: usize) -> usize {
    loop {
        at = text.len() - text[at..].trim_start().len();
        match comment_end(text, at) {
            Some(end) => at = end,
            None => return at,
        }
    }
}

/// Returns the end of the comment that begins at a place.
fn comment_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with("//") {
        return Some(rest.find('\n').map_or(text.len(), |length| at + length));
    }
    rest.starts_with("/*").then(|| rest.find("*/").map_or(text.len(), |length| at + length + "*/".len()))
}

/// Whether an expression may begin after a text, so that a slash begins a regular expression and divides nothing.
fn may_begin_expression(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with(['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', '}', ';', '>', '+'])
        || before.ends_with("return")
}

/// Returns the end of the regular expression that begins at a place, which ends in its line.
fn regular_expression_end(text: &str, at: usize) -> Option<usize> {
    let (mut is_escaped, mut is_class) = (false, false);
    for (length, c) in text[at..].char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return Some(at + length + 1),
            _ => {}
        }
    }
    None
}

/// Returns the place after the bracket that closes the one at a place. Brackets in texts and comments do not count.
fn closing(text: &str, start: usize, open: char, close: char) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped, mut skipped) = (0_i32, None, false, start);
    let mut before = ' ';
    for (length, c) in text[start..].char_indices() {
        let place = start + length;
        if place < skipped {
            continue;
        }
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(begun), c) if c == begun => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '/') => {
                let literal = || regular_expression_end(text, place).filter(|_| may_begin_expression(&text[..place]));
                skipped = comment_end(text, place).or_else(literal).unwrap_or(place);
            }
            (None, c) if c == open => depth += 1,
            // The arrow of a function closes nothing.
            (None, c) if c == close && !(c == '>' && before == '=') => {
                depth -= 1;
                if depth == 0 {
                    return Some(place + c.len_utf8());
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, expected: &[(u32, &str)]) {
        assert_eq!(definitions(text, name).collect::<Vec<_>>(), expected, "{name} in\n{text}");
    }

    #[test]
    fn a_definition_is_the_call_that_gives_the_name() {
        let pay = "const pay = handler({\n  name: 'pay',\n  execute: () => f(')'),\n})";
        let text = format!("const a = 1;\n{pay};\nx.name: 'other'");
        check(&text, "pay", &[(2, pay)]);
        check(&text, "nobody", &[]);
    }

    #[test]
    fn a_chain_is_shown_to_its_last_call() {
        let chain = "const all = sequencer({ name: \"all\" })\n  // It's (first\n  .step(a)\n  /* ) */\n  \
                     ?.map<(n: X) => Y>((n) => n)\n  .tap(b)";
        check(&format!("{chain};\nconst next = f().step(c);"), "all", &[(1, chain)]);
        let property = "const all = sequencer({ name: \"all\" }).step(a)";
        check(&format!("{property}.kind;"), "all", &[(1, property)]);
    }

    #[test]
    fn a_comment_with_a_quote_ends_nothing() {
        let pay = "handler({ name: 'pay', // it's paid :)\n  n: 4 / 2 })";
        check(&format!("{pay};"), "pay", &[(1, pay)]);
        let link = "handler({ name: 'link', execute: (u) => /^https?:\\/\\/[/'(]/.test(u) || u / 2 > 1 / (u) })";
        check(&format!("{link};"), "link", &[(1, link)]);
    }

    #[test]
    fn an_unbalanced_text_has_no_definition() {
        check("handler({ name: 'pay', text: `", "pay", &[]);
        check("name: 'pay'", "pay", &[]);
    }
}
