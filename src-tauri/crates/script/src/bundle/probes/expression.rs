//! Checks the expression of a query: it must not wait, and may change only values that it created itself.
//!
//! It does not find side effects that only a run can show: a getter that writes, an author's method that changes its
//! object.

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    Argument, AssignmentTargetPropertyIdentifier, CallExpression, Expression, IdentifierReference, ImportExpression,
    NewExpression, ParenthesizedExpression, SimpleAssignmentTarget, Statement, TaggedTemplateExpression,
    UnaryExpression,
};
use oxc::ast_visit::{Visit, walk};
use oxc::parser::Parser;
use oxc::semantic::{Scoping, SemanticBuilder};
use oxc::span::{GetSpan, SourceType, Span};
use oxc::syntax::reference::ReferenceId;

use crate::bundle::built_ins::globals_used;

/// Methods that change the value they are called on, and an alternative for each.
const CHANGING: [(&str, &str); 11] = [
    ("push", "[...it, value]"),
    ("pop", "it.at(-1)"),
    ("shift", "it[0]"),
    ("unshift", "[value, ...it]"),
    ("splice", "it.toSpliced(…)"),
    ("sort", "it.toSorted(…)"),
    ("reverse", "it.toReversed()"),
    ("fill", "[...it].fill(…)"),
    ("copyWithin", "[...it].copyWithin(…)"),
    ("clear", "an empty copy"),
    ("next", "an expression that does not advance it"),
];

/// The functions of `Object` and `Reflect` that change their first argument.
const CHANGING_FIRST: [&str; 9] = [
    "assign",
    "freeze",
    "seal",
    "preventExtensions",
    "defineProperty",
    "defineProperties",
    "setPrototypeOf",
    "set",
    "deleteProperty",
];

/// An expression that does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongExpression {
    /// What is wrong.
    pub message: String,
    /// The column in the expression, from 1.
    pub column: u32,
}

/// Checks the expression of a query, and returns the names that it takes from its scope.
pub fn check_expression(text: &str, file: &str) -> Result<Vec<String>, WrongExpression> {
    let wrong = |message: &str, column: u32| WrongExpression { message: message.to_owned(), column };
    if let Err(found) = crate::bundle::nesting::check(text) {
        return Err(wrong(&found.message, found.column));
    }
    if text.trim().is_empty() {
        return Err(wrong("is empty: write a TypeScript expression, like input.total", 1));
    }
    let kind = kind_of(file);
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
                // The bracket at the end is not the author's.
                let is_at_end = at as usize + 1 >= whole.len();
                let closes_it = || {
                    let without = &whole[..whole.len() - 1];
                    Parser::new(&allocator, without, kind).parse().diagnostics.is_empty()
                };
                let message = match is_at_end {
                    true if closes_it() => "a closing bracket without an opening one",
                    true => "it is not complete",
                    false => &*error.message,
                };
                return Err(wrong(&format!("has a syntax error: {message}"), column(at).min(end.max(1))));
            }
            let body = &parsed.program.body[..];
            if let Some(at) = first_of(body).and_then(|first| closed_early(first, whole.len())) {
                return Err(wrong("has a syntax error: a closing bracket without an opening one", column(at)));
            }
            let [Statement::ExpressionStatement(it)] = body else {
                return Err(wrong("has a syntax error: write one expression, not a statement", 1));
            };
            // The brackets may also be those of an arrow function's parameters.
            if !matches!(it.expression, Expression::ParenthesizedExpression(_)) {
                return Err(wrong("has a syntax error: a closing bracket without an opening one", 1));
            }
            let mut waits = Waits::default();
            waits.visit_expression(&it.expression);
            if let Some(at) = waits.at {
                return Err(wrong("cannot wait: await and yield are not allowed in an expression", column(at)));
            }
            let scoping = SemanticBuilder::new().build(&parsed.program).semantic.into_scoping();
            let mut writes = Writes { scoping: &scoping, file, found: None };
            writes.visit_expression(&it.expression);
            if let Some((at, what)) = writes.found {
                return Err(wrong(&what, column(at)));
            }
            // Types have no value at run time, and the bundle does not contain imports of types only.
            let is_value = |found: &[ReferenceId]| found.iter().any(|id| scoping.get_reference(*id).flags().is_value());
            let names = scoping.root_unresolved_references().iter().filter(|(_, found)| is_value(found));
            Ok(names.map(|(name, _)| name.to_string()).collect())
        };
        let stack = crate::bundle::parsed::PARSER_STACK;
        let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work);
        let ended = thread.ok().and_then(|thread| thread.join().ok());
        ended.unwrap_or_else(|| Err(wrong("cannot be parsed", 1)))
    })
}

/// How an expression is read: as a part of a module, in which `<!--` is no comment.
fn kind_of(file: &str) -> SourceType {
    SourceType::from_path(file).unwrap_or_else(|_| SourceType::ts()).with_module(true)
}

/// Returns the built-ins of the SDK whose globals an expression uses.
pub(crate) fn globals(text: &str) -> Vec<&'static str> {
    // `globals_used` does not see an expression that is only a name, so each name is added as a statement.
    let names = check_expression(text, "expression.tsx").or_else(|_| check_expression(text, "expression.ts"));
    let names = names.unwrap_or_default().into_iter().map(|name| format!("{name};"));
    globals_used(&names.chain([text.to_owned()]).collect::<String>())
}

/// The expression at the beginning of a program.
fn first_of<'a, 'b>(body: &'b [Statement<'a>]) -> Option<&'b Expression<'a>> {
    match body.first()? {
        Statement::ExpressionStatement(first) => Some(&first.expression),
        _ => None,
    }
}

/// The offset at which the added opening bracket is closed, if that is before the end.
fn closed_early(expression: &Expression<'_>, end: usize) -> Option<u32> {
    let mut leftmost = Leftmost(None);
    leftmost.visit_expression(expression);
    let span = leftmost.0?;
    (span.start == 0 && (span.end as usize) < end).then(|| span.end - 1)
}

/// Finds the outermost brackets at the beginning of an expression.
struct Leftmost(Option<Span>);

impl<'a> Visit<'a> for Leftmost {
    fn visit_parenthesized_expression(&mut self, it: &ParenthesizedExpression<'a>) {
        if it.span.start == 0 {
            self.0.get_or_insert(it.span);
        }
    }
}

/// Finds an `await` outside functions.
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

/// Finds changes of values that the expression did not create.
struct Writes<'s> {
    scoping: &'s Scoping,
    file: &'s str,
    /// The offset and description of the first change.
    found: Option<(u32, String)>,
}

impl Writes<'_> {
    fn check(&mut self, target: &SimpleAssignmentTarget<'_>) {
        let root = match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(name) => Some(&**name),
            other => other.as_member_expression().and_then(|member| root_of(member.object())),
        };
        if !root.is_some_and(|name| self.is_own(name)) {
            self.refuse(target.span().start, "writes to a variable or object that it did not create");
        }
    }

    fn is_own(&self, name: &IdentifierReference<'_>) -> bool {
        name.reference_id.get().is_some_and(|id| self.scoping.get_reference(id).symbol_id().is_some())
    }

    fn refuse(&mut self, at: u32, what: &str) {
        self.found.get_or_insert_with(|| (at, format!("cannot change anything: it {what}")));
    }

    fn check_import(&mut self, at: u32) {
        let what = "cannot import: an expression can use only what its statement has in scope";
        self.found.get_or_insert_with(|| (at, what.to_owned()));
    }

    /// Refuses `[].push.call(items, one)`: a changing method that is called on a shared value.
    fn check_called_on(&mut self, it: &CallExpression<'_>) {
        let Some(member) = it.callee.get_inner_expression().as_member_expression() else { return };
        if !member.static_property_name().is_some_and(|name| ["call", "apply", "bind"].contains(&name)) {
            return;
        }
        let method = member.object().get_inner_expression().as_member_expression();
        let Some(name) = method.and_then(|method| method.static_property_name()) else { return };
        let changed = it.arguments.first().and_then(Argument::as_expression);
        if let Some((_, instead)) = CHANGING.iter().find(|(changing, _)| *changing == name)
            && changed.is_some_and(|changed| self.is_shared(changed))
        {
            self.refuse(it.span.start, &format!("calls {name}, which changes its object; write {instead}"));
        }
    }

    /// Checks the text of `eval("sum = 1")` as an expression, because it has the scope of the statement.
    fn check_eval(&mut self, it: &CallExpression<'_>) {
        let name = match it.callee.get_inner_expression() {
            Expression::Identifier(name) if !self.is_own(name) => name.name.as_str(),
            _ => return,
        };
        if name == "Function" {
            return self.refuse(it.span.start, "creates a function from a string; write the function");
        }
        if name != "eval" {
            return;
        }
        let text = match it.arguments.first().and_then(Argument::as_expression) {
            None => return,
            Some(Expression::StringLiteral(text)) => text.value.to_string(),
            Some(_) => {
                return self.refuse(it.span.start, "runs code that is no string literal; write the expression");
            }
        };
        if let Err(wrong) = check_expression(&text, self.file) {
            let message = format!("cannot run `{text}`: it {}", wrong.message);
            self.found.get_or_insert((it.span.start, message));
        }
    }

    /// Whether an expression refers to a shared value: a name of the scope, `this`, or a property of these.
    fn is_shared(&self, expression: &Expression<'_>) -> bool {
        is_of_this(expression) || root_of(expression).is_some_and(|root| !self.is_own(root))
    }
}

/// Whether an expression calls code, which may change shared values and so must be watched.
pub(crate) fn calls(text: &str, file: &str) -> bool {
    crate::bundle::parsed::parsed_as(&format!("({text}\n)"), kind_of(file), |program| {
        let mut calls = Calls(false);
        calls.visit_program(program);
        calls.0
    })
    .unwrap_or(true)
}

struct Calls(bool);

impl<'a> Visit<'a> for Calls {
    fn visit_call_expression(&mut self, _: &CallExpression<'a>) {
        self.0 = true;
    }

    fn visit_new_expression(&mut self, _: &NewExpression<'a>) {
        self.0 = true;
    }

    fn visit_tagged_template_expression(&mut self, _: &TaggedTemplateExpression<'a>) {
        self.0 = true;
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
            self.refuse(it.span.start, "writes to a variable or object that it did not create");
        }
        walk::walk_unary_expression(self, it);
    }

    /// Checks `{ counter }` on the left side of an assignment.
    fn visit_assignment_target_property_identifier(&mut self, it: &AssignmentTargetPropertyIdentifier<'a>) {
        if !self.is_own(&it.binding) {
            self.refuse(it.span.start, "writes to a variable or object that it did not create");
        }
        walk::walk_assignment_target_property_identifier(self, it);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.check_import(it.span.start);
    }

    /// Refuses changing calls on names and their properties, which are shared; the result of a call may be new.
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        let callee = it.callee.get_inner_expression();
        if let Expression::Identifier(name) = callee
            && name.name == "require"
            && !self.is_own(name)
            && matches!(it.arguments.first(), Some(Argument::StringLiteral(_)))
        {
            self.check_import(it.span.start);
        }
        if let Some(member) = callee.as_member_expression()
            && let Expression::Identifier(of) = member.object()
            && ["Object", "Reflect"].contains(&of.name.as_str())
            && let Some(name) = member.static_property_name().filter(|name| CHANGING_FIRST.contains(name))
            && let Some(changed) = it.arguments.first().and_then(Argument::as_expression)
            && self.is_shared(changed)
        {
            self.refuse(it.span.start, &format!("calls {}.{name}, which changes its argument", of.name));
        }
        if let Some(member) = it.callee.get_inner_expression().as_member_expression()
            && let Some(name) = member.static_property_name()
            && let Some((_, instead)) = CHANGING.iter().find(|(changing, _)| *changing == name)
            && self.is_shared(member.object())
        {
            self.refuse(it.span.start, &format!("calls {name}, which changes its object; write {instead}"));
        }
        self.check_called_on(it);
        self.check_eval(it);
        walk::walk_call_expression(self, it);
    }

    fn visit_new_expression(&mut self, it: &NewExpression<'a>) {
        if let Expression::Identifier(name) = it.callee.get_inner_expression()
            && name.name == "Function"
            && !self.is_own(name)
        {
            self.refuse(it.span.start, "creates a function from a string; write the function");
        }
        walk::walk_new_expression(self, it);
    }
}
