//! What an expression of a question may be: one that waits for nothing and changes nothing but what it made itself.
//!
//! What only a run can tell (a getter that writes, a method of the author's that changes its object) is not found here.

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    CallExpression, Expression, IdentifierReference, SimpleAssignmentTarget, Statement, UnaryExpression,
};
use oxc::ast_visit::{Visit, walk};
use oxc::parser::Parser;
use oxc::semantic::{Scoping, SemanticBuilder};
use oxc::span::{GetSpan, SourceType};

/// The methods of arrays that change them, and what gives the same without.
const CHANGING: [(&str, &str); 9] = [
    ("push", "[...it, value]"),
    ("pop", "it.at(-1)"),
    ("shift", "it[0]"),
    ("unshift", "[value, ...it]"),
    ("splice", "it.toSpliced(…)"),
    ("sort", "it.toSorted(…)"),
    ("reverse", "it.toReversed()"),
    ("fill", "[...it].fill(…)"),
    ("copyWithin", "[...it].copyWithin(…)"),
];

/// An expression that does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongExpression {
    /// Why.
    pub message: String,
    /// Where in its text, from 1.
    pub column: u32,
}

/// Checks an expression of a question, and returns the names that it takes from its scope.
pub fn check_expression(text: &str, file: &str) -> Result<Vec<String>, WrongExpression> {
    let wrong = |message: &str, column: u32| WrongExpression { message: message.to_owned(), column };
    if let Err(found) = crate::bundle::nesting::check(text) {
        return Err(wrong(&found.message, found.column));
    }
    if text.trim().is_empty() {
        return Err(wrong("is empty: write a TypeScript expression, like input.total", 1));
    }
    let kind = SourceType::from_path(file).unwrap_or_else(|_| SourceType::ts());
    let whole = format!("({text}\n)");
    let column =
        |at: u32| whole.get(1..(at as usize).max(1)).map_or(1, |before| before.encode_utf16().count() as u32 + 1);
    let end = text.encode_utf16().count() as u32;
    std::thread::scope(|scope| {
        let work = || {
            let allocator = Allocator::default();
            let parsed = Parser::new(&allocator, &whole, kind).parse();
            if let Some(error) = parsed.diagnostics.iter().next() {
                let at = error.labels.first().map_or(1, |label| label.offset());
                return Err(wrong(&format!("is no expression: {}", error.message), column(at).min(end.max(1))));
            }
            let [Statement::ExpressionStatement(it)] = &parsed.program.body[..] else {
                return Err(wrong("is no expression: write one expression, and no statement", 1));
            };
            let Expression::ParenthesizedExpression(inner) = &it.expression else {
                return Err(wrong("is no expression: a bracket is closed that is not opened", 1));
            };
            if inner.span.end as usize != whole.len() {
                return Err(wrong("is no expression: a bracket is closed that is not opened", 1));
            }
            let mut waits = Waits::default();
            waits.visit_expression(&it.expression);
            if let Some(at) = waits.at {
                return Err(wrong("cannot wait: an expression has no await and no yield of its own", column(at)));
            }
            let scoping = SemanticBuilder::new().build(&parsed.program).semantic.into_scoping();
            let mut writes = Writes { scoping: &scoping, found: None };
            writes.visit_expression(&it.expression);
            if let Some((at, what)) = writes.found {
                return Err(wrong(&format!("cannot change anything: it {what}"), column(at)));
            }
            Ok(scoping.root_unresolved_references().keys().map(|name| name.to_string()).collect())
        };
        let stack = crate::bundle::bundler::PARSER_STACK;
        let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work);
        let ended = thread.ok().and_then(|thread| thread.join().ok());
        ended.unwrap_or_else(|| Err(wrong("cannot be parsed", 1)))
    })
}

/// Finds what waits, outside of functions.
#[derive(Default)]
struct Waits {
    at: Option<u32>,
}

impl<'a> Visit<'a> for Waits {
    fn visit_function(&mut self, _: &oxc::ast::ast::Function<'a>, _: oxc::syntax::scope::ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _: &oxc::ast::ast::ArrowFunctionExpression<'a>) {}

    fn visit_await_expression(&mut self, it: &oxc::ast::ast::AwaitExpression<'a>) {
        self.at.get_or_insert(it.span().start);
        walk::walk_await_expression(self, it);
    }
}

/// Finds what changes something that an expression did not make.
struct Writes<'s> {
    scoping: &'s Scoping,
    /// Where, and what it does there.
    found: Option<(u32, String)>,
}

impl Writes<'_> {
    fn check(&mut self, target: &SimpleAssignmentTarget<'_>) {
        let root = match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(name) => Some(&**name),
            other => other.as_member_expression().and_then(|member| root_of(member.object())),
        };
        if !root.is_some_and(|name| self.is_own(name)) {
            self.tell(target.span().start, "writes to what is not its own");
        }
    }

    fn is_own(&self, name: &IdentifierReference<'_>) -> bool {
        name.reference_id.get().is_some_and(|id| self.scoping.get_reference(id).symbol_id().is_some())
    }

    fn tell(&mut self, at: u32, what: &str) {
        self.found.get_or_insert_with(|| (at, what.to_owned()));
    }
}

/// The name that a chain of properties begins with.
fn root_of<'a, 'b>(expression: &'b Expression<'a>) -> Option<&'b IdentifierReference<'a>> {
    match expression.get_inner_expression() {
        Expression::Identifier(name) => Some(name),
        other => other.as_member_expression().and_then(|member| root_of(member.object())),
    }
}

/// Whether a chain of properties begins with `this`.
fn is_of_this(expression: &Expression<'_>) -> bool {
    match expression.get_inner_expression() {
        Expression::ThisExpression(_) => true,
        other => other.as_member_expression().is_some_and(|member| is_of_this(member.object())),
    }
}

impl<'a> Visit<'a> for Writes<'_> {
    fn visit_simple_assignment_target(&mut self, it: &SimpleAssignmentTarget<'a>) {
        self.check(it);
        walk::walk_simple_assignment_target(self, it);
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        let target = it.argument.get_inner_expression().as_member_expression();
        if it.operator.as_str() == "delete"
            && target.is_some_and(|member| !root_of(member.object()).is_some_and(|name| self.is_own(name)))
        {
            self.tell(it.span.start, "writes to what is not its own");
        }
        walk::walk_unary_expression(self, it);
    }

    /// What a call gave may be new; a name, and what hangs on it, is there for others, too.
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if let Some(member) = it.callee.get_inner_expression().as_member_expression()
            && let Some(name) = member.static_property_name()
            && let Some((_, instead)) = CHANGING.iter().find(|(changing, _)| *changing == name)
            && (is_of_this(member.object()) || root_of(member.object()).is_some_and(|root| !self.is_own(root)))
        {
            self.tell(it.span.start, &format!("calls {name}, which changes what it is called on; write {instead}"));
        }
        walk::walk_call_expression(self, it);
    }
}
