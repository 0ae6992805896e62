//! Another value for an option of a block in an author's file, found by the syntax tree: the call with an argument
//! `{ name: "…" }` of that name, and the option in it.
//!
//! What an experiment tries is written in this way, and so is what is adopted from it. Everything else in the text
//! stays as it is, byte by byte.

use std::ops::Range;

use oxc::ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, CallExpression, Expression, Function, FunctionBody, ObjectExpression,
    ObjectPropertyKind, ReturnStatement, Statement,
};
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan, Span};
use oxc::syntax::scope::ScopeFlags;
use serde_json::Value;

use crate::bundle::code::{Code, Source};
use crate::bundle::definition::{name_of, options_in};
use crate::bundle::parsed::parsed;

/// Another value for an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A text. `${…}` in it is code if the value that it replaces is a function or a template, and text otherwise.
    Text(String),
    /// A JSON value.
    Json(Value),
}

/// Why an option cannot be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDefinition {
    /// No file has a definition with this name as a plain text.
    Missing,
    /// Several have.
    Several,
    /// The function that is replaced returns in several places, so a text with `${…}` has no one place.
    SeveralReturns,
}

impl Code {
    /// Returns the file that defines a block, with another value for one of its options. `path` names the option; of a
    /// nested one its outer options, too.
    pub fn with_option(&self, block: &str, path: &[&str], value: &OptionValue) -> Result<Source, NoDefinition> {
        let mut found = self.sources.iter().filter_map(|source| {
            let edited = with_option(&source.text, &source.file, block, path, value)?;
            Some(edited.map(|text| Source { file: source.file.clone(), text }))
        });
        let first = found.next().ok_or(NoDefinition::Missing)??;
        if found.next().is_some() { Err(NoDefinition::Several) } else { Ok(first) }
    }
}

/// Edits a text. `None` if it has no such definition.
fn with_option(
    text: &str,
    file: &str,
    block: &str,
    path: &[&str],
    value: &OptionValue,
) -> Option<Result<String, NoDefinition>> {
    let edits = parsed(text, file, |program| {
        let mut definitions = Definitions { block, path, value, text, found: Vec::new() };
        definitions.visit_program(program);
        definitions.found
    })?;
    let mut edits = edits.into_iter();
    let Edit { range, new, is_ambiguous } = edits.next()?;
    if edits.next().is_some() {
        return Some(Err(NoDefinition::Several));
    }
    if is_ambiguous {
        return Some(Err(NoDefinition::SeveralReturns));
    }
    let mut edited = text.to_owned();
    edited.replace_range(range, &new);
    Some(Ok(edited))
}

struct Edit {
    range: Range<usize>,
    new: String,
    is_ambiguous: bool,
}

impl Edit {
    fn new(range: Range<usize>, new: String) -> Edit {
        Edit { range, new, is_ambiguous: false }
    }
}

struct Definitions<'n> {
    block: &'n str,
    path: &'n [&'n str],
    value: &'n OptionValue,
    text: &'n str,
    found: Vec<Edit>,
}

impl<'a> Visit<'a> for Definitions<'_> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        for options in options_in(it).filter(|options| name_of(options) == Some(self.block)) {
            self.found.extend(edit(self.text, options, self.path, self.value));
        }
        walk::walk_call_expression(self, it);
    }
}

/// The edit of an option in an object.
fn edit(text: &str, object: &ObjectExpression<'_>, path: &[&str], value: &OptionValue) -> Option<Edit> {
    let (name, rest) = path.split_first()?;
    // The last one of a name counts, and what is spread behind it counts more.
    let last = object.properties.iter().rev().take_while(|it| !matches!(it, ObjectPropertyKind::SpreadProperty(_)));
    let property = last.into_iter().find_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(it) if it.key.static_name().is_some_and(|key| key == *name) => Some(it),
        _ => None,
    });
    let Some(property) = property else {
        let new = rest.iter().rev().fold(literal(value), |inner, name| format!("{{ {}: {inner} }}", key(name)));
        return Some(insertion(text, object, &format!("{}: {new}", key(name))));
    };
    if !rest.is_empty() {
        if let Expression::ObjectExpression(inner) = property.value.get_inner_expression() {
            return edit(text, inner, rest, value);
        }
        let new = rest.iter().rev().fold(literal(value), |inner, name| format!("{{ {}: {inner} }}", key(name)));
        return Some(Edit::new(range(property.span), format!("{}: {new}", key(name))));
    }
    if let OptionValue::Text(new) = value
        && new.contains("${")
        && let Some(place) = template_place(&property.value)
    {
        let is_ambiguous = returns(&property.value) > 1;
        return Some(Edit { is_ambiguous, ..Edit::new(range(place), template(new, true)) });
    }
    // `prompt` alone, and `prompt() { … }`.
    if property.shorthand || property.method {
        return Some(Edit::new(range(property.span), format!("{}: {}", key(name), literal(value))));
    }
    Some(Edit::new(range(property.value.span()), literal(value)))
}

/// Puts a property at the end of an object.
fn insertion(text: &str, object: &ObjectExpression<'_>, new: &str) -> Edit {
    match object.properties.last() {
        Some(last) => {
            let end = last.span().end as usize;
            let line = text[..last.span().start as usize].rfind('\n').map_or(0, |line| line + 1);
            let before = &text[line..last.span().start as usize];
            // On a line of its own if the last one is.
            let indent = if before.trim().is_empty() && line > 0 { format!("\n{before}") } else { " ".to_owned() };
            Edit::new(end..end, format!(",{indent}{new}"))
        }
        None => {
            let at = object.span.start as usize + 1;
            Edit::new(at..at, format!(" {new} "))
        }
    }
}

/// The part of a value in which `${…}` can be code: a template, or what a function returns.
fn template_place(value: &Expression<'_>) -> Option<Span> {
    match value.get_inner_expression() {
        Expression::TemplateLiteral(it) => Some(it.span),
        Expression::ArrowFunctionExpression(it) => arrow_place(it),
        Expression::FunctionExpression(it) => returned(it.body.as_ref()?),
        _ => None,
    }
}

fn arrow_place(it: &ArrowFunctionExpression<'_>) -> Option<Span> {
    match &it.body {
        ArrowFunctionBody::FunctionBody(body) => returned(body),
        expression => Some(expression.span()),
    }
}

/// How often a function itself returns something.
fn returns(value: &Expression<'_>) -> usize {
    struct Returns(usize, usize);
    impl<'a> Visit<'a> for Returns {
        fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
            self.1 += 1;
            if self.1 == 1 {
                walk::walk_function(self, it, flags);
            }
            self.1 -= 1;
        }

        fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
            self.1 += 1;
            if self.1 == 1 {
                walk::walk_arrow_function_expression(self, it);
            }
            self.1 -= 1;
        }

        fn visit_return_statement(&mut self, it: &ReturnStatement<'a>) {
            self.0 += 1;
            walk::walk_return_statement(self, it);
        }
    }
    let mut returns = Returns(0, 0);
    returns.visit_expression(value);
    returns.0
}

/// What a body returns at its end.
fn returned(body: &FunctionBody<'_>) -> Option<Span> {
    match body.statements.last()? {
        Statement::ReturnStatement(it) => it.argument.as_ref().map(GetSpan::span),
        _ => None,
    }
}

fn literal(value: &OptionValue) -> String {
    match value {
        OptionValue::Text(text) if text.contains('\n') => template(text, false),
        OptionValue::Text(text) => Value::from(text.as_str()).to_string(),
        OptionValue::Json(value) => value.to_string(),
    }
}

/// A text in backticks.
fn template(text: &str, has_code: bool) -> String {
    let (mut escaped, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let code = if has_code { code_at(rest) } else { None };
        let taken = match (c, code) {
            (_, Some(code)) => {
                escaped.push_str(code);
                code.len()
            }
            ('$', None) if rest.starts_with("${") => {
                escaped.push_str("\\${");
                2
            }
            ('\\' | '`', None) => {
                escaped.extend(['\\', c]);
                1
            }
            (c, None) => {
                escaped.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    format!("`{escaped}`")
}

/// The `${…}` that a text begins with: up to the brace that closes it.
fn code_at(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("${")?;
    let mut depth = 1;
    for (at, c) in inner.char_indices() {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        if depth == 0 {
            return text.get(..at + 3);
        }
    }
    None
}

/// A name as a property's key.
fn key(name: &str) -> String {
    let is_plain = name
        .chars()
        .enumerate()
        .all(|(at, c)| c == '_' || c == '$' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit()));
    if is_plain && !name.is_empty() { name.to_owned() } else { Value::from(name).to_string() }
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

#[cfg(test)]
mod tests;
