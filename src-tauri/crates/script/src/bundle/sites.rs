//! The site table of a source: one row for each place where its code may fail, read from its syntax tree.
//!
//! The table is made when the first error asks for it. It serves the bundle and the author's files alike. Must not
//! know what the runtime says about an error: that is `explained`.

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    Argument, ArrayExpression, ArrayExpressionElement, ArrowFunctionExpression, AssignmentExpression, AssignmentTarget,
    AssignmentTargetProperty, BinaryExpression, BindingPattern, CallExpression, Class, Expression, ForOfStatement,
    FormalParameter, Function, MemberExpression, NewExpression, ObjectPattern, Program, PropertyKey,
    SimpleAssignmentTarget, TaggedTemplateExpression, UpdateExpression, VariableDeclarator, YieldExpression,
};
use oxc::ast_visit::{Visit, walk};
use oxc::parser::Parser;
use oxc::span::{GetSpan, SourceType, Span};
use oxc::syntax::scope::ScopeFlags;

use crate::bundle::bundler::PARSER_STACK;
use crate::bundle::marks::{Lines, reported};
use crate::bundle::printed::{after, anchor, call_place, constant_key, inner, member_place, place, printed, value};

/// What may fail at a site.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A call or a construction.
    Call(Call),
    /// `...` in a list.
    Spread,
    /// The list of a loop.
    ForOf,
    /// `yield*`.
    Delegate,
    /// A list that is taken apart. `init` is what it is taken from; `None` for a parameter.
    ArrayPattern { init: Option<Taken> },
    /// An object that is taken apart: its first property, and what it is taken from. `has_inner` tells of a pattern
    /// inside, whose value may be the one that is missing.
    ObjectPattern { key: Option<String>, init: Option<Taken>, has_inner: bool },
    /// The read of a property. `object_end` is where the object ends; `is_unplaced` tells that the object begins with
    /// `this` or a literal, of which the runtime reports no place.
    Member { key: Key, object_end: u32, is_unplaced: bool },
    /// An operator with two operands; `right` is where the second one begins.
    Binary { operator: &'static str, left: String, right: u32, operand: String },
    /// A write to a variable or a property.
    Write { key: Key, is_variable: bool },
    /// What a class extends.
    Heritage,
}

/// How a call is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Call,
    New,
    /// A template after the function's name.
    Template,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) form: Form,
    /// The offset by which the call is found in another form of the same source.
    pub(crate) anchor: u32,
    /// The offset that the runtime reports, if the source is a marked bundle.
    pub(crate) reported: Option<u32>,
    /// The arguments as Node writes their values.
    pub(crate) values: Vec<String>,
    /// An argument that is spread.
    pub(crate) spread: Option<String>,
    /// The first two arguments, if they are texts in the source.
    pub(crate) texts: Vec<Option<String>>,
}

/// What something is taken from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Taken {
    pub(crate) text: String,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether it is a name or a literal: Node repeats those, and tells the kind of other values.
    pub(crate) is_plain: bool,
}

/// The name of a property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    /// A name that the source contains.
    Known(String),
    /// A value that is known only while the code runs.
    Computed,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Site {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Where the enclosing function begins; 0 for the file itself.
    pub(crate) function: u32,
    /// The offset that Node names.
    pub(crate) place: u32,
    /// The expression that Node names: the callee, the list, the value.
    pub(crate) text: String,
}

impl Site {
    pub(crate) fn contains(&self, at: u32) -> bool {
        self.start <= at && at < self.end
    }

    /// Returns the row of a call.
    pub(crate) fn call(&self) -> Option<&Call> {
        match &self.kind {
            Kind::Call(call) => Some(call),
            _ => None,
        }
    }
}

/// All sites of a source.
pub(crate) struct Sites {
    pub(crate) text: String,
    pub(crate) lines: Lines,
    pub(crate) rows: Vec<Site>,
}

impl Sites {
    /// Reads the table of a source. Returns `None` if it cannot be parsed.
    pub(crate) fn read(text: &str, file: &str) -> Option<Sites> {
        let rows = parsed(text, file, |program| {
            let mut rows = Rows { text, function: 0, found: Vec::new() };
            rows.visit_program(program);
            rows.found
        })?;
        Some(Sites { text: text.to_owned(), lines: Lines::new(text), rows })
    }

    /// Returns the innermost site around an offset that passes a test.
    pub(crate) fn innermost(&self, at: u32, is_meant: impl Fn(&Site) -> bool) -> Option<&Site> {
        self.rows.iter().filter(|site| site.contains(at) && is_meant(site)).min_by_key(|site| site.end - site.start)
    }
}

/// Parses a source on a thread with a large stack, because parsers recurse, and reads its tree.
pub(crate) fn parsed<T: Send>(text: &str, file: &str, read: impl FnOnce(&Program<'_>) -> T + Send) -> Option<T> {
    let kind = SourceType::from_path(file).unwrap_or_else(|_| SourceType::ts());
    std::thread::scope(|scope| {
        let work = || {
            let allocator = Allocator::default();
            let parsed = Parser::new(&allocator, text, kind).parse();
            if parsed.panicked { None } else { Some(read(&parsed.program)) }
        };
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, work).ok()?;
        thread.join().ok().flatten()
    })
}

struct Rows<'t> {
    text: &'t str,
    function: u32,
    found: Vec<Site>,
}

impl Rows<'_> {
    fn add(&mut self, kind: Kind, span: Span, place: u32, text: String) {
        self.found.push(Site { kind, start: span.start, end: span.end, function: self.function, place, text });
    }

    fn call(&mut self, form: Form, callee: &Expression<'_>, arguments: &[Argument<'_>], span: Span, place: u32) {
        let spread = arguments.iter().find_map(|argument| match argument {
            Argument::SpreadElement(spread) => Some(printed(&spread.argument)),
            _ => None,
        });
        let plain = || arguments.iter().filter_map(Argument::as_expression).take(2);
        let call = Call {
            form,
            anchor: if form == Form::New { callee.span().start } else { anchor(callee) },
            reported: reported(self.text, callee.span().end, arguments.last().map(|last| last.span())),
            values: plain().map(|argument| value(argument).unwrap_or_else(|| printed(argument))).collect(),
            spread,
            texts: plain().map(constant_key).collect(),
        };
        self.add(Kind::Call(call), span, place, printed(callee));
    }

    fn taken(&self, init: &Expression<'_>) -> Taken {
        let Span { start, end, .. } = init.span();
        let is_plain = matches!(
            inner(init),
            Expression::Identifier(_) | Expression::ObjectExpression(_) | Expression::NullLiteral(_)
        );
        Taken { text: printed(init), start, end, is_plain: is_plain || value(init).is_some() }
    }

    /// Adds a pattern that a value is taken apart by.
    fn pattern(
        &mut self,
        pattern: &BindingPattern<'_>,
        init: Option<&Expression<'_>>,
        around: Span,
        parameter_of: u32,
    ) {
        let taken = init.map(|init| self.taken(init));
        match pattern {
            BindingPattern::ArrayPattern(_) => {
                let place = taken.as_ref().map_or(parameter_of, |taken| taken.start);
                self.add(Kind::ArrayPattern { init: taken }, around, place, String::new());
            }
            BindingPattern::ObjectPattern(it) => {
                let (key, place) = first_property(it);
                let is_object = |value: &BindingPattern<'_>| matches!(value, BindingPattern::ObjectPattern(_));
                let has_inner = it.properties.iter().any(|property| is_object(&property.value));
                self.add(Kind::ObjectPattern { key, init: taken, has_inner }, around, place, String::new());
            }
            _ => {}
        }
    }

    /// Adds the rows of a write, whose operator is at an offset.
    fn write(&mut self, target: &SimpleAssignmentTarget<'_>, span: Span, operator: u32) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(name) = target {
            let key = Key::Known(name.name.to_string());
            self.add(Kind::Write { key, is_variable: true }, span, operator, name.name.to_string());
        } else if let Some(member) = target.as_member_expression() {
            self.add(Kind::Write { key: key_of(member), is_variable: false }, span, operator, printed(member.object()));
        }
    }
}

/// Whether an expression begins with `this` or a literal.
fn is_unplaced(expression: &Expression<'_>) -> bool {
    match inner(expression) {
        Expression::ThisExpression(_) | Expression::Super(_) => true,
        other => match other.as_member_expression() {
            Some(member) => is_unplaced(member.object()),
            None => value(other).is_some(),
        },
    }
}

/// Returns the first property of a pattern, and the place that Node names for it.
fn first_property(pattern: &ObjectPattern<'_>) -> (Option<String>, u32) {
    let whole = (None, pattern.span.start);
    let Some(first) = pattern.properties.first() else {
        return pattern.rest.as_ref().map_or(whole, |rest| (None, rest.argument.span().start));
    };
    match &first.key {
        PropertyKey::StaticIdentifier(key) => (Some(key.name.to_string()), first.value.span().start),
        _ => whole,
    }
}

fn key_of(member: &MemberExpression<'_>) -> Key {
    match member {
        MemberExpression::StaticMemberExpression(it) => Key::Known(it.property.name.to_string()),
        MemberExpression::PrivateFieldExpression(it) => Key::Known(format!("#{}", it.field.name)),
        MemberExpression::ComputedMemberExpression(it) => value(&it.expression).map_or(Key::Computed, Key::Known),
    }
}

impl<'a> Visit<'a> for Rows<'_> {
    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let outer = std::mem::replace(&mut self.function, it.span.start);
        walk::walk_function(self, it, flags);
        self.function = outer;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let outer = std::mem::replace(&mut self.function, it.span.start);
        walk::walk_arrow_function_expression(self, it);
        self.function = outer;
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        self.pattern(&it.pattern, None, it.span, self.function);
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.init.is_some() {
            self.pattern(&it.id, it.init.as_ref(), it.span, it.span.start);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.call(Form::Call, &it.callee, &it.arguments, it.span, call_place(it, self.text));
        walk::walk_call_expression(self, it);
    }

    fn visit_new_expression(&mut self, it: &NewExpression<'a>) {
        self.call(Form::New, &it.callee, &it.arguments, it.span, it.span.start);
        walk::walk_new_expression(self, it);
    }

    fn visit_tagged_template_expression(&mut self, it: &TaggedTemplateExpression<'a>) {
        let last = it.quasi.expressions.last().map(|last| last.span());
        let call = Call {
            form: Form::Template,
            anchor: anchor(&it.tag),
            reported: last.and_then(|last| reported(self.text, it.tag.span().end, Some(last))),
            values: Vec::new(),
            spread: None,
            texts: Vec::new(),
        };
        self.add(Kind::Call(call), it.span, it.quasi.span.start, printed(&it.tag));
        walk::walk_tagged_template_expression(self, it);
    }

    fn visit_array_expression(&mut self, it: &ArrayExpression<'a>) {
        for element in &it.elements {
            if let ArrayExpressionElement::SpreadElement(spread) = element {
                let at = place(&spread.argument, self.text);
                self.add(Kind::Spread, spread.span, at, printed(&spread.argument));
            }
        }
        walk::walk_array_expression(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        let list = Span::new(it.span.start, it.right.span().end);
        self.add(Kind::ForOf, list, place(&it.right, self.text), printed(&it.right));
        walk::walk_for_of_statement(self, it);
    }

    fn visit_yield_expression(&mut self, it: &YieldExpression<'a>) {
        if let Some(list) = it.argument.as_ref().filter(|_| it.delegate) {
            let text = value(list).unwrap_or_else(|| printed(list));
            self.add(Kind::Delegate, it.span, list.span().start, text);
        }
        walk::walk_yield_expression(self, it);
    }

    fn visit_member_expression(&mut self, it: &MemberExpression<'a>) {
        let is_unplaced = is_unplaced(it.object());
        let kind = Kind::Member { key: key_of(it), object_end: it.object().span().end, is_unplaced };
        self.add(kind, it.span(), member_place(it, self.text), printed(it.object()));
        walk::walk_member_expression(self, it);
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        let operator = it.operator.as_str();
        let kind = Kind::Binary {
            operator,
            left: value(&it.left).unwrap_or_else(|| printed(&it.left)),
            right: it.right.span().start,
            operand: value(&it.right).unwrap_or_else(|| printed(&it.right)),
        };
        let at = after(self.text, it.left.span().end, operator);
        self.add(kind, it.span, at, printed(&it.right));
        walk::walk_binary_expression(self, it);
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        let operator = after(self.text, it.left.span().end, it.operator.as_str());
        match &it.left {
            AssignmentTarget::ArrayAssignmentTarget(_) => {
                let init = Some(self.taken(&it.right));
                self.add(Kind::ArrayPattern { init }, it.span, operator, String::new());
            }
            AssignmentTarget::ObjectAssignmentTarget(target) => {
                let init = Some(self.taken(&it.right));
                let at = target.properties.first().map_or(target.span.start, |first| first.span().start);
                let key = target.properties.first().and_then(|first| match first {
                    AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(it) => {
                        Some(it.binding.name.to_string())
                    }
                    AssignmentTargetProperty::AssignmentTargetPropertyProperty(it) => {
                        it.name.static_name().map(|name| name.to_string())
                    }
                });
                self.add(Kind::ObjectPattern { key, init, has_inner: false }, it.span, at, String::new());
            }
            target => {
                if let Some(target) = target.as_simple_assignment_target() {
                    self.write(target, it.span, operator);
                }
            }
        }
        walk::walk_assignment_expression(self, it);
    }

    fn visit_update_expression(&mut self, it: &UpdateExpression<'a>) {
        let operator = if it.prefix { it.span.start } else { it.argument.span().end };
        self.write(&it.argument, it.span, operator);
        walk::walk_update_expression(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if let Some(heritage) = &it.heritage {
            let parent = &heritage.expression;
            let text = value(parent).unwrap_or_else(|| printed(parent));
            self.add(Kind::Heritage, parent.span(), place(parent, self.text), text);
        }
        walk::walk_class(self, it);
    }
}
