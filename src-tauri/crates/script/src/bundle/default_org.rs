//! What a bundle says of `ctx.org` and of `ctx.project`, its older name, told by its text alone (SEMANTICS §1.1).
//!
//! A flow's functions cannot be asked: a lowered `async` function shows a wrapper only, and what it calls may be
//! anywhere in the bundle. The text is that of the bundler, so it is always laid out in the same way.

/// What an organisation has.
const MEMBERS: [&str; 11] = [
    "identity",
    "state",
    "resources",
    "patchState",
    "setState",
    "incState",
    "pushState",
    "setStateRecord",
    "deleteStateRecord",
    "atomicState",
    "getOrPatchState",
];

/// What stands before the look into something that was asked for first: `org?.state` is lowered to a comparison of
/// `org` with null, and `void 0 : org.state`.
const ASKED: &str = "void 0 : ";

/// Before and after the code of a module.
const MODULE: (&str, &str) = ("//#region ", "//#endregion");

/// Returns whether a flow runs in an organisation where none is named. `declares` is what its definition says of it:
/// nothing, that it has one, or that it goes by a project.
pub(crate) fn counts_on_org(declares: Option<bool>, code: &str) -> bool {
    declares != Some(false) && !says_project(code) && (declares == Some(true) || says_org(code))
}

/// Returns whether anything looks into something called `org` without asking for it, or takes it out of a context.
fn says_org(code: &str) -> bool {
    let looks_into = |(before, after): (&str, &str)| {
        let member = after.strip_prefix('.').and_then(|after| after.split(|c| !is_of_name(c)).next());
        member.is_some_and(|member| MEMBERS.contains(&member)) && !before.ends_with(ASKED)
    };
    words(code, "org").any(|place| looks_into(place) || takes_out(code, place))
}

/// Returns whether the author's own files read `project` of a context. An input may have such a field.
fn says_project(code: &str) -> bool {
    let reads = |before: &str| before.strip_suffix('.').is_some_and(|before| is_context(code, name_at_end(before)));
    words(code, "project").any(|place| !is_in_package(place.0) && (reads(place.0) || takes_out(code, place)))
}

/// Returns whether a word stands in a pattern that takes a context apart: that of a second parameter,
/// `(input, { org }) =>`, or `const { org } = ctx;`.
fn takes_out(code: &str, (before, after): (&str, &str)) -> bool {
    let (Some(open), Some(close)) = (before.rfind(['{', '}', ';']), after.find(['{', '}', ';'])) else { return false };
    let (behind, rest) = (&before[open + 1..], &after[close + 1..]);
    let is_key = (behind.trim().is_empty() || behind.trim_end().ends_with(','))
        && after.trim_start().starts_with([':', ',', '=', '}']);
    if !is_key || !before[open..].starts_with('{') || !after[close..].starts_with('}') {
        return false;
    }
    if before[..open].trim_end().ends_with(',') && [") {", ") =>"].iter().any(|end| rest.starts_with(end)) {
        return true;
    }
    let context = rest.strip_prefix(" = ").and_then(|rest| rest.split([';', ',']).next());
    context.is_some_and(|name| is_context(code, name))
}

/// Returns whether a variable holds a context: it is called `ctx`, or a function has it as its second parameter.
fn is_context(code: &str, name: &str) -> bool {
    name == "ctx" || !name.is_empty() && [") {", ") =>"].iter().any(|end| code.contains(&format!(", {name}{end}")))
}

/// Returns whether the text ends within the code of a package.
fn is_in_package(before: &str) -> bool {
    let module = before.rfind(MODULE.0).map(|at| &before[at..]).filter(|module| !module.contains(MODULE.1));
    let name = module.and_then(|module| module.lines().next());
    name.is_some_and(|name| name.contains("node_modules/"))
}

/// Returns what stands before and after each place of a whole word.
fn words<'c>(code: &'c str, word: &'static str) -> impl Iterator<Item = (&'c str, &'c str)> {
    let places = code.match_indices(word).map(move |(at, word)| (&code[..at], &code[at + word.len()..]));
    places.filter(|(before, after)| !before.ends_with(is_of_name) && !after.starts_with(is_of_name))
}

fn name_at_end(text: &str) -> &str {
    let start = text.char_indices().rev().find(|(_, c)| !is_of_name(*c)).map_or(0, |(at, c)| at + c.len_utf8());
    &text[start..]
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_into_it_counts_wherever_it_stands() {
        for code in [
            "c.org.state.budget",
            "org.identity",
            "f(ctx.org.resources)",
            "yield ctx.org.incState({ n: 1 })",
            "lower(function* (_input, { org: company }) {\n\treturn company.state;\n})",
            "(_input, { user, org }) => f(org)",
            "const { org: company, user } = ctx;",
            "f = (input, c) => {\n\tlet { org } = c, rest = g(c);\n}",
        ] {
            assert!(counts_on_org(None, code), "{code}");
        }
    }

    #[test]
    fn a_question_does_not() {
        for code in [
            "(_ctx$org = ctx.org) === null || _ctx$org === void 0 ? void 0 : _ctx$org.state",
            "org === null || org === void 0 ? void 0 : org.state",
            "typeof ctx.org",
            "https://example.org/state",
            "ctx.org.stated",
            "xorg.state",
            "ctx.org.",
            "({ org }) => send(org)",
            "send({ org: 1 });",
            "send(to, { org: 1 });",
            "const { org } = input;",
        ] {
            assert!(!counts_on_org(None, code), "{code}");
        }
    }

    #[test]
    fn a_project_of_a_context_takes_it_away() {
        for code in [
            "ctx.project",
            "(_ctx$project = ctx.project) === null",
            "(input, c) => c.project",
            "lower(function* (input, c) {\n\tyield c.project;\n})",
            "(input, { project }) => project",
            "(input, _ref) => {\n\tlet { project } = _ref, ctx = rest(_ref);\n}",
        ] {
            let code = format!("//#region flows/a.ts\n{code}\nctx.org.state\n//#endregion");
            assert!(!counts_on_org(None, &code) && !counts_on_org(Some(true), &code), "{code}");
        }
    }

    #[test]
    fn a_field_of_an_input_and_a_package_do_not() {
        for code in [
            "input.project.state",
            "({ project }, ctx) => project",
            "start({ project: 1 });",
            "//#region node_modules/old/index.js\nctx.project\n//#endregion",
        ] {
            let code = format!("{code}\n//#region flows/a.ts\nctx.org.state\n//#endregion");
            assert!(counts_on_org(None, &code) && counts_on_org(Some(true), "") && !counts_on_org(None, ""), "{code}");
        }
        assert!(!counts_on_org(Some(false), "ctx.org.state"));
    }
}
