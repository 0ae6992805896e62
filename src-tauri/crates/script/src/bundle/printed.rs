//! Writes an expression as Node.js does in an error message, and finds the position that Node reports for it.
//!
//! Node's messages do not repeat the source: `o["n"]` is written `o.n`, a call `f(...)`, and a value that has no
//! short form `(intermediate value)`.

use oxc::ast::ast::{ArrayExpressionElement, CallExpression, ChainElement, Expression, MemberExpression};
use oxc::span::GetSpan as _;

/// Node's text for an expression that it does not print.
const NO_FORM: &str = "(intermediate value)";

/// Returns an expression as Node writes it.
pub(crate) fn printed(expression: &Expression<'_>) -> String {
    match expression.get_inner_expression() {
        Expression::Identifier(it) => it.name.to_string(),
        Expression::ThisExpression(_) => "this".to_owned(),
        Expression::NullLiteral(_) => "null".to_owned(),
        Expression::BooleanLiteral(it) => it.value.to_string(),
        Expression::NumericLiteral(it) => it.value.to_string(),
        Expression::StringLiteral(it) => format!("\"{}\"", it.value),
        Expression::RegExpLiteral(it) => it.raw.as_ref().map_or(NO_FORM.to_owned(), |raw| raw.to_string()),
        Expression::TemplateLiteral(it) if it.expressions.is_empty() => {
            let text = it.quasis.first().and_then(|part| part.value.cooked.as_ref());
            format!("\"{}\"", text.map_or("", |text| text.as_str()))
        }
        Expression::TemplateLiteral(it) => it.expressions.iter().map(printed).collect(),
        Expression::ArrayExpression(it) => {
            let elements: Vec<String> = it.elements.iter().map(element).collect();
            format!("[{}]", elements.join(","))
        }
        Expression::ObjectExpression(it) => format!("{{{}}}", NO_FORM.repeat(it.properties.len())),
        Expression::CallExpression(it) => format!("{}(...)", printed(&it.callee)),
        Expression::TaggedTemplateExpression(it) => format!("{}(...)", printed(&it.tag)),
        // Node does not print a chain that is parenthesized or used as a value. It prints other chains link by link.
        Expression::ChainExpression(_) => NO_FORM.to_owned(),
        Expression::LogicalExpression(it) => {
            format!("({} {} {})", printed(&it.left), it.operator.as_str(), printed(&it.right))
        }
        Expression::BinaryExpression(it) => {
            format!("({} {} {})", printed(&it.left), it.operator.as_str(), printed(&it.right))
        }
        Expression::UnaryExpression(it) => {
            let operator = it.operator.as_str();
            let space = if operator.starts_with(char::is_alphabetic) { " " } else { "" };
            format!("({operator}{space}{})", printed(&it.argument))
        }
        Expression::ConditionalExpression(_) => NO_FORM.repeat(3),
        Expression::SequenceExpression(it) => {
            format!("({})", it.expressions.iter().map(printed).collect::<Vec<_>>().join(" , "))
        }
        other => other.as_member_expression().map_or(NO_FORM.to_owned(), member),
    }
}

fn element(element: &ArrayExpressionElement<'_>) -> String {
    match element {
        ArrayExpressionElement::SpreadElement(it) => format!("(...{})", printed(&it.argument)),
        ArrayExpressionElement::Elision(_) => String::new(),
        other => other.as_expression().map_or(NO_FORM.to_owned(), printed),
    }
}

/// Returns a member expression as Node writes it.
pub(crate) fn member(member: &MemberExpression<'_>) -> String {
    let object = printed(member.object());
    match member {
        MemberExpression::ComputedMemberExpression(it) => match (constant_key(&it.expression), it.optional) {
            (Some(key), true) => format!("{object}?.{key}"),
            (Some(key), false) => format!("{object}.{key}"),
            (None, true) => format!("{object}?.[{}]", printed(&it.expression)),
            (None, false) => format!("{object}[{}]", printed(&it.expression)),
        },
        MemberExpression::StaticMemberExpression(it) if it.optional => format!("{object}?.{}", it.property.name),
        MemberExpression::StaticMemberExpression(it) => format!("{object}.{}", it.property.name),
        MemberExpression::PrivateFieldExpression(it) => format!("{object}.#{}", it.field.name),
    }
}

/// Returns a key that is a string literal.
pub(crate) fn constant_key(key: &Expression<'_>) -> Option<String> {
    match key.get_inner_expression() {
        Expression::StringLiteral(it) => Some(it.value.to_string()),
        Expression::TemplateLiteral(it) if it.expressions.is_empty() => {
            it.quasis.first().and_then(|part| part.value.cooked.as_ref()).map(|text| text.to_string())
        }
        _ => None,
    }
}

/// Returns the value of a literal as Node writes it in a message, `None` for other expressions.
pub(crate) fn value(expression: &Expression<'_>) -> Option<String> {
    match expression.get_inner_expression() {
        Expression::Identifier(it) if it.name == "undefined" => Some("undefined".to_owned()),
        Expression::NullLiteral(_) => Some("null".to_owned()),
        Expression::BooleanLiteral(it) => Some(it.value.to_string()),
        Expression::NumericLiteral(it) => Some(it.value.to_string()),
        Expression::BigIntLiteral(it) => Some(it.value.to_string()),
        Expression::UnaryExpression(it) if it.operator.as_str() == "-" => {
            value(&it.argument).map(|value| format!("-{value}"))
        }
        Expression::ObjectExpression(_) => Some("#<Object>".to_owned()),
        other => constant_key(other),
    }
}

/// Returns the offset that Node reports when reading a value fails.
pub(crate) fn place(expression: &Expression<'_>, source: &str) -> u32 {
    match expression.get_inner_expression() {
        Expression::CallExpression(it) => call_place(it, source),
        Expression::ChainExpression(it) => match &it.expression {
            ChainElement::CallExpression(call) => call_place(call, source),
            other => other.as_member_expression().map_or(it.span.start, |it| member_place(it, source)),
        },
        other => other.as_member_expression().map_or(other.span().start, |it| member_place(it, source)),
    }
}

/// Returns the offset that Node reports when reading a property fails: its name, or the bracket.
pub(crate) fn member_place(member: &MemberExpression<'_>, source: &str) -> u32 {
    match member {
        MemberExpression::ComputedMemberExpression(it) => after(source, it.object.span().end, "["),
        // After a call Node reports the dot.
        MemberExpression::StaticMemberExpression(it) if follows_call(&it.object) => {
            after(source, it.object.span().end, ".")
        }
        MemberExpression::StaticMemberExpression(it) => it.property.span.start,
        MemberExpression::PrivateFieldExpression(it) => it.field.span.start,
    }
}

/// Whether an expression is a call or an optional read, or a member of one.
fn follows_call(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::CallExpression(_) => true,
        Expression::TSNonNullExpression(it) => follows_call(&it.expression),
        other => other.as_member_expression().is_some_and(|it| it.optional() || follows_call(it.object())),
    }
}

/// Returns the offset that Node reports for a call: the name before the bracket, or the bracket.
pub(crate) fn call_place(call: &CallExpression<'_>, source: &str) -> u32 {
    match &call.callee {
        Expression::Identifier(it) if !call.optional => it.span.start,
        Expression::StaticMemberExpression(it) if !call.optional => it.property.span.start,
        Expression::PrivateFieldExpression(it) if !call.optional => it.field.span.start,
        Expression::Super(it) => it.span.start,
        callee => {
            let end = call.type_arguments.as_ref().map_or(callee.span().end, |types| types.span.end);
            after(source, end, "(")
        }
    }
}

/// Returns the offset by which a call in a bundle is looked up in the source map: the callee's last name, or the
/// beginning of the callee.
pub(crate) fn anchor(callee: &Expression<'_>) -> u32 {
    match callee.get_inner_expression() {
        Expression::StaticMemberExpression(it) => it.property.span.start,
        Expression::PrivateFieldExpression(it) => it.field.span.start,
        Expression::ChainExpression(it) => match &it.expression {
            ChainElement::StaticMemberExpression(it) => it.property.span.start,
            _ => it.span.start,
        },
        other => other.span().start,
    }
}

/// Returns the offset of the first `sign` after `from`, or `from` if there is none.
pub(crate) fn after(source: &str, from: u32, sign: &str) -> u32 {
    let found = source.get(from as usize..).and_then(|rest| rest.find(sign));
    found.map_or(from, |distance| from + distance as u32)
}
