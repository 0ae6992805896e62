//! Where a block is defined in an author's file, read from its syntax tree: the call with an argument `{ name: "…" }`,
//! and the calls chained to it. A source that cannot be parsed has no definitions.

use std::collections::HashMap;
use std::ops::Range;

use oxc::ast::ast::{Argument, CallExpression, Expression, ObjectExpression, ObjectPropertyKind};
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan, Span};

use crate::bundle::parsed::parsed;

/// Finds the definitions of a name: the line, from 1, and the range from the start of that line to the end of the last
/// call that is chained.
pub(crate) fn definitions(text: &str, file: &str, name: &str) -> Vec<(u32, Range<usize>)> {
    let is_defined = |call: &CallExpression<'_>| {
        options_in(call).any(|options| name_of(options) == Some(name)).then(|| call.callee.span().end)
    };
    let place = |(callee_end, end): (u32, u32)| {
        let start = text[..callee_end as usize].rfind('\n').map_or(0, |line| line + 1);
        (text[..start].matches('\n').count() as u32 + 1, start..end as usize)
    };
    chains(text, file, is_defined).into_iter().map(place).collect()
}

/// Finds the calls of an author's own function that are given a name first, as `step("load", …)`: the line of each, and
/// its range with what is chained to it.
pub(crate) fn called(text: &str, file: &str, name: &str) -> Vec<(u32, Range<usize>)> {
    let is_given_first = |call: &CallExpression<'_>| {
        let is_plain = matches!(call.callee.get_inner_expression(), Expression::Identifier(_));
        (is_plain && first_text(call) == Some(name)).then_some(call.span.start)
    };
    let place = |(start, end): (u32, u32)| {
        (text[..start as usize].matches('\n').count() as u32 + 1, start as usize..end as usize)
    };
    chains(text, file, is_given_first).into_iter().map(place).collect()
}

/// Finds the calls for which `place` returns an offset: that, and where the last call that is chained ends.
fn chains(text: &str, file: &str, place: impl Fn(&CallExpression<'_>) -> Option<u32> + Send) -> Vec<(u32, u32)> {
    let found = parsed(text, file, |program| {
        let mut calls = Calls { place, ends: HashMap::new(), found: Vec::new() };
        calls.visit_program(program);
        calls.found
    });
    found.unwrap_or_default()
}

/// The text that a call is given first.
pub(crate) fn first_text<'c>(call: &'c CallExpression<'_>) -> Option<&'c str> {
    match call.arguments.first()?.as_expression()?.get_inner_expression() {
        Expression::StringLiteral(text) => Some(text.value.as_str()),
        _ => None,
    }
}

struct Calls<F> {
    place: F,
    /// Where the last call of a chain ends, by each call in it.
    ends: HashMap<Span, u32>,
    found: Vec<(u32, u32)>,
}

impl<'a, F: Fn(&CallExpression<'_>) -> Option<u32>> Visit<'a> for Calls<F> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        let end = self.ends.remove(&it.span).unwrap_or(it.span.end);
        if let Some(inner) = chained_to(&it.callee) {
            self.ends.insert(inner, end);
        }
        self.found.extend((self.place)(it).map(|place| (place, end)));
        walk::walk_call_expression(self, it);
    }
}

/// The call whose result a callee is a method of.
fn chained_to(callee: &Expression<'_>) -> Option<Span> {
    match callee.get_inner_expression().as_member_expression()?.object().get_inner_expression() {
        Expression::CallExpression(inner) => Some(inner.span),
        _ => None,
    }
}

/// Returns the objects that a call is given, whatever types they are cast to: the options of a block are one of them.
pub(crate) fn options_in<'c, 'a>(call: &'c CallExpression<'a>) -> impl Iterator<Item = &'c ObjectExpression<'a>> {
    let given = call.arguments.iter().filter_map(Argument::as_expression);
    given.filter_map(|argument| match argument.get_inner_expression() {
        Expression::ObjectExpression(object) => Some(&**object),
        _ => None,
    })
}

/// Returns the name that an object gives, if it is a plain text.
pub(crate) fn name_of<'o>(object: &'o ObjectExpression<'_>) -> Option<&'o str> {
    object.properties.iter().find_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(it) if it.key.static_name()? == "name" => {
            match it.value.get_inner_expression() {
                Expression::StringLiteral(text) => Some(text.value.as_str()),
                Expression::TemplateLiteral(text) => text.single_quasi().map(|text| text.as_str()),
                _ => None,
            }
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_given_the_name_first_is_found_with_its_chain() {
        let text = "const a = step(\"a\", (i) => i);\nconst all = chain(\"all\")\n  .step(a);\nx.step(\"a\");";
        assert_eq!(called(text, "a.ts", "a"), [(1, 10..29)]);
        assert_eq!(called(text, "a.ts", "all").len(), 1);
        assert!(text[called(text, "a.ts", "all")[0].1.clone()].ends_with(".step(a)"));
    }

    fn check(text: &str, name: &str, expected: &[(u32, &str)]) {
        let found = definitions(text, "a.ts", name);
        let found: Vec<_> = found.into_iter().map(|(line, range)| (line, &text[range])).collect();
        assert_eq!(found, expected, "{name} in\n{text}");
    }

    #[test]
    fn a_definition_is_the_call_that_gives_the_name() {
        let pay = "const pay = handler({\n  name: 'pay',\n  execute: () => f(')'),\n})";
        let text = format!("const a = 1;\n{pay};\nx.name = 'other'");
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
    fn a_cast_hides_no_options() {
        let casts = ["{ name: 'ask' } as any", "{ name: 'ask' } satisfies Options", "<any>{ name: 'ask' }"];
        let wrapped = ["({ name: 'ask' })", "({ name: 'ask' })!", "(<any>({ name: ('ask' as const) } as O))!"];
        for options in casts.into_iter().chain(wrapped) {
            let ask = format!("generator<In, Out>({options})");
            check(&format!("const ask = {ask};"), "ask", &[(1, &format!("const ask = {ask}"))]);
        }
    }

    #[test]
    fn a_comment_with_a_quote_ends_nothing() {
        let pay = "handler({ name: 'pay', // it's paid :)\n  n: 4 / 2 })";
        check(&format!("{pay};"), "pay", &[(1, pay)]);
        let link = "handler({ name: 'link', execute: (u) => /^https?:\\/\\/[/'(]/.test(u) || u / 2 > 1 / (u) })";
        check(&format!("{link};"), "link", &[(1, link)]);
    }

    #[test]
    fn a_text_that_cannot_be_parsed_has_no_definition() {
        check("handler({ name: 'pay', text: `", "pay", &[]);
        check("name: 'pay'", "pay", &[]);
    }
}
