//! The rows of a site table, as the syntax tree has them.

use oxc::ast::ast::{
    Argument, ArrayExpression, ArrayExpressionElement, ArrowFunctionBody, ArrowFunctionExpression,
    AssignmentExpression, AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty, BinaryExpression,
    BindingPattern, CallExpression, Class, ClassElement, Expression, ForOfStatement, ForStatementLeft, FormalParameter,
    Function, FunctionBody, MemberExpression, NewExpression, ObjectPattern, Program, PropertyKey,
    SimpleAssignmentTarget, Statement, TaggedTemplateExpression, UnaryExpression, UpdateExpression, VariableDeclarator,
    YieldExpression,
};
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan, Span};
use oxc::syntax::operator::UnaryOperator;
use oxc::syntax::scope::ScopeFlags;

use super::{Call, Form, FunctionSpan, Key, Kind, Site, Taken, Within};
use crate::bundle::marks::reported;
use crate::bundle::printed::{after, anchor, call_place, constant_key, member_place, place, printed, value};

/// Reads the sites and the functions of a source.
pub(super) fn read(text: &str, program: &Program<'_>) -> (Vec<Site>, Vec<FunctionSpan>) {
    let mut rows = Rows { text, function: 0, statement: 0, found: Vec::new(), functions: Vec::new() };
    rows.visit_program(program);
    (rows.found, rows.functions)
}

struct Rows<'t> {
    text: &'t str,
    function: u32,
    statement: u32,
    found: Vec<Site>,
    functions: Vec<FunctionSpan>,
}

impl Rows<'_> {
    fn add(&mut self, kind: Kind, span: Span, place: u32, text: String) {
        let Self { function, statement, .. } = *self;
        self.found.push(Site { kind, start: span.start, end: span.end, function, statement, place, text });
    }

    fn here(&self) -> Within {
        Within::Statement(self.statement)
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
            init.get_inner_expression(),
            Expression::Identifier(_) | Expression::ObjectExpression(_) | Expression::NullLiteral(_)
        );
        Taken { text: printed(init), start, end, is_plain: is_plain || value(init).is_some() }
    }

    /// Adds a pattern that a value is taken apart by. `first` is the place that Node names of a list without a value.
    fn pattern(&mut self, pattern: &BindingPattern<'_>, init: Option<Taken>, around: Span, within: Within, first: u32) {
        match pattern {
            BindingPattern::ArrayPattern(_) => {
                let at = init.as_ref().map_or(first, |taken| taken.start);
                self.add(Kind::ArrayPattern { init, place: within }, around, at, String::new());
            }
            BindingPattern::ObjectPattern(it) => {
                let (key, at) = first_property(it);
                let is_object = |value: &BindingPattern<'_>| matches!(value, BindingPattern::ObjectPattern(_));
                let has_inner = it.properties.iter().any(|property| is_object(&property.value));
                let lists = it.properties.iter().filter_map(|property| match &property.value {
                    BindingPattern::ArrayPattern(list) => Some(list.span.start),
                    _ => None,
                });
                let list = lists.min();
                let kind = Kind::ObjectPattern { key, init, has_inner, list, place: within };
                self.add(kind, around, at, String::new());
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
    match expression.get_inner_expression() {
        Expression::ThisExpression(_) | Expression::Super(_) => true,
        other => match other.as_member_expression() {
            Some(member) => is_unplaced(member.object()),
            None => value(other).is_some(),
        },
    }
}

/// Returns where the statements of a body begin.
fn first_of(body: &FunctionBody<'_>) -> u32 {
    body.statements.first().map_or(body.span.end, |first| first.span().start)
}

/// Whether the target of a write takes a value apart.
fn is_pattern(target: &AssignmentTargetMaybeDefault<'_>) -> bool {
    let target = match target {
        AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(it) => Some(&it.binding),
        other => other.as_assignment_target(),
    };
    target.is_some_and(|target| target.as_assignment_target_pattern().is_some())
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
        MemberExpression::ComputedMemberExpression(it) if printed(&it.expression) == "Symbol.iterator" => Key::Iterator,
        MemberExpression::ComputedMemberExpression(it) => value(&it.expression).map_or(Key::Computed, Key::Known),
    }
}

impl<'a> Visit<'a> for Rows<'_> {
    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let body = it.body.as_ref().map_or(it.span.end, |body| first_of(body));
        self.functions.push(FunctionSpan { start: it.span.start, end: it.span.end, body });
        let outer = (std::mem::replace(&mut self.function, it.span.start), self.statement);
        walk::walk_function(self, it, flags);
        (self.function, self.statement) = outer;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let body = match &it.body {
            ArrowFunctionBody::FunctionBody(body) => first_of(body),
            expression => expression.span().start,
        };
        self.functions.push(FunctionSpan { start: it.span.start, end: it.span.end, body });
        let outer = (std::mem::replace(&mut self.function, it.span.start), self.statement);
        walk::walk_arrow_function_expression(self, it);
        (self.function, self.statement) = outer;
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        let outer = std::mem::replace(&mut self.statement, it.span().start);
        walk::walk_statement(self, it);
        self.statement = outer;
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        self.pattern(&it.pattern, None, it.span, Within::Parameters, self.function);
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let Some(init) = &it.init {
            self.pattern(&it.id, Some(self.taken(init)), it.span, self.here(), it.span.start);
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
        if let ForStatementLeft::VariableDeclaration(declared) = &it.left
            && let [declarator] = &declared.declarations[..]
        {
            let Span { start, end, .. } = it.right.span();
            let within = Within::Loop { statement: self.statement, start, end };
            let taken = Taken { is_plain: false, ..self.taken(&it.right) };
            self.pattern(&declarator.id, Some(taken), declarator.span, within, declarator.span.start);
        }
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
                let kind = Kind::ArrayPattern { init: Some(self.taken(&it.right)), place: self.here() };
                self.add(kind, it.span, operator, String::new());
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
                let has_inner = target.properties.iter().any(|property| match property {
                    AssignmentTargetProperty::AssignmentTargetPropertyProperty(it) => is_pattern(&it.binding),
                    AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(_) => false,
                });
                let kind = Kind::ObjectPattern { key, init, has_inner, list: None, place: self.here() };
                self.add(kind, it.span, at, String::new());
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

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        if it.operator == UnaryOperator::Delete
            && let Some(member) = it.argument.get_inner_expression().as_member_expression()
        {
            self.add(Kind::Delete { key: key_of(member) }, it.span, it.span.start, printed(member.object()));
        }
        walk::walk_unary_expression(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if let Some(heritage) = &it.heritage {
            let parent = &heritage.expression;
            let text = value(parent).unwrap_or_else(|| printed(parent));
            self.add(Kind::Heritage, parent.span(), place(parent, self.text), text);
        }
        let name = it.id.as_ref().map_or("anonymous", |id| id.name.as_str());
        for element in &it.body.body {
            if let ClassElement::MethodDefinition(method) = element
                && let PropertyKey::PrivateIdentifier(key) = &method.key
            {
                let kind = Kind::PrivateMethod { name: format!("#{}", key.name), is_static: method.r#static };
                self.add(kind, it.span, it.span.start, name.to_owned());
            }
        }
        walk::walk_class(self, it);
    }
}
