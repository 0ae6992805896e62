//! Makes fingerprints of functions independent of the bundler's wrappers and generated names.
//!
//! A lowered `async` function is a wrapper that calls the lowered body, and all wrappers have the same source. So
//! [`mark`] adds the hash of the body as a comment. Generated names are numbered across the whole file, so [`plain`]
//! removes their numbers.
//!
//! The build script also contains this module, for the SDK, so it must use only the standard library.

/// The statement in a wrapper that calls the lowered body: the text before and after the body's name.
const CALLS: (&str, &str) = ("return ", ".apply(this, arguments);");

/// The maximum length of the name of a lowered body, in characters.
const LONGEST_NAME: usize = 200;

/// Adds the hash of the lowered body to every wrapper, as a comment at the end of its statement. Lines and columns of
/// the author's code do not change.
pub(crate) fn mark(code: &str, fingerprint: impl Fn(&[u8]) -> String) -> String {
    let mut marked = String::with_capacity(code.len() + code.len() / 64);
    let mut done = 0;
    for (at, _) in code.match_indices(CALLS.1) {
        let Some(name) = name_before(&code[..at]) else { continue };
        let end = at + CALLS.1.len();
        let Some(source) = lowered(code, name, at - name.len() - CALLS.0.len(), end) else { continue };
        marked.push_str(&code[done..end]);
        marked.push_str(" /* ");
        marked.push_str(&fingerprint(plain(source).as_bytes()));
        marked.push_str(" */");
        done = end;
    }
    marked.push_str(&code[done..]);
    marked
}

/// Returns the name in `return <name>` at the end of a text.
fn name_before(text: &str) -> Option<&str> {
    let start =
        text.char_indices().rev().take(LONGEST_NAME).find(|(_, c)| !is_of_name(*c)).map(|(at, c)| at + c.len_utf8())?;
    let name = &text[start..];
    (name.starts_with('_') && text[..start].ends_with(CALLS.0)).then_some(name)
}

/// Returns the source of the lowered body of this name. `start` and `end` delimit the statement that calls it.
fn lowered<'c>(code: &'c str, name: &str, start: usize, end: usize) -> Option<&'c str> {
    // `function pay(_x) { return _pay.apply(this, arguments); } function _pay() { _pay = lower(…); … }`
    let behind = code[end..].trim_start().strip_prefix('}').map(str::trim_start);
    let declared = behind.and_then(|rest| rest.strip_prefix("function ")).and_then(|rest| rest.strip_prefix(name));
    if let Some(body) = declared.filter(|rest| rest.starts_with("()")) {
        let close = body.find(&format!("{}{name}{}", CALLS.0, CALLS.1))?;
        let from = body.find(&format!("{name} = "))? + name.len();
        return body.get(from..close);
    }
    // `var _ref = lower(…); return function pay(_x) { return _ref.apply(this, arguments); };`
    let assigned = format!("{name} = ");
    let from = code[..start].rfind(&assigned)? + assigned.len();
    // The wrapper follows the body.
    let close = code[from..start].rfind("function").map_or(start, |at| from + at);
    code.get(from..close)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Removes the numbers of names that the bundler generated: `_ref2`, `_ctx$session3`, `add$1`.
pub(crate) fn plain(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find(is_of_name) {
        plain.push_str(&rest[..start]);
        let end = rest[start..].find(|c| !is_of_name(c)).map_or(rest.len(), |length| start + length);
        let name = &rest[start..end];
        let is_made_up = name.starts_with('_') || name.contains('$');
        plain.push_str(if is_made_up { name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '$') } else { name });
        rest = &rest[end..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;
    use crate::bundle::fingerprint::mark;

    #[test]
    fn generated_names_lose_their_numbers() {
        assert_eq!(plain("var _ref2 = add$1(x1, _ctx$session3);"), "var _ref = add(x1, _ctx$session);");
    }

    #[test]
    fn the_wrapper_of_a_function_expression_contains_the_hash_of_its_body() {
        let function = |number: u32, body: &str| {
            format!(
                "const f = function() {{\n\
                 \tvar _ref{number} = lower(function* (x) {{\n\t\t{body}\n\t}});\n\
                 \treturn function f(_x{number}) {{\n\t\treturn _ref{number}.apply(this, arguments);\n\t}};\n\
                 }}();\n"
            )
        };
        let marks = |code: &str| {
            let all: Vec<String> = mark(code).split("/* ").skip(1).map(|rest| rest[..16].to_owned()).collect();
            all
        };
        let code = format!("{}{}{}", function(2, "yield 1;"), function(3, "yield 2;"), function(4, "yield 1;"));
        let found = marks(&code);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], found[2]);
        assert_ne!(found[0], found[1]);
        assert_eq!(mark(&code).lines().count(), code.lines().count());
    }

    #[test]
    fn the_wrapper_of_a_declaration_contains_the_hash_of_its_body() {
        let declared = "function pay(_x) {\n\treturn _pay.apply(this, arguments);\n}\n\
                        function _pay() {\n\t_pay = lower(function* (x) {\n\t\tyield 1;\n\t});\n\
                        \treturn _pay.apply(this, arguments);\n}\n";
        let marked = mark(declared);
        assert!(marked.contains("return _pay.apply(this, arguments); /* "), "{marked}");
        assert_ne!(mark(&declared.replace("yield 1", "yield 2")), marked.replace("yield 1", "yield 2"));
    }
}
