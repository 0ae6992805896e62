//! What is behind the names of a file, as far as its syntax tree tells: something that nothing can change, a table of
//! such, or what is not known.

use oxc::ast::AstKind;
use oxc::ast::ast::{
    ArrayExpressionElement, BindingPattern, Expression, ImportDeclaration, ImportDeclarationSpecifier,
    ObjectPropertyKind, RegExpFlags, Statement, TSType,
};
use oxc::semantic::{AstNodes, NodeId, Scoping};
use oxc::span::GetSpan;
use oxc::syntax::symbol::SymbolId;

use super::function_of;
use super::names::{Calls, Names};

/// How far names are followed.
const MAX_DEPTH: u32 = 6;

/// Packages whose exports keep nothing from one block to the next.
const HARMLESS: [&str; 11] = [
    "@flow-state-dev/",
    "@standardagents/",
    "zod",
    "node:crypto",
    "node:path",
    "node:url",
    "node:util",
    "node:buffer",
    "node:assert",
    "node:querystring",
    "node:timers",
];

/// What is behind a name. The later, the less is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// A text, a number, and the like.
    Plain,
    /// A function, or a class without values of its own.
    Function,
    /// What the framework or zod made: blocks, flows, schemas.
    Built,
    /// A list or an object of plain values and functions.
    Flat,
    /// A list or an object.
    Table,
    /// Anything.
    Unknown,
}

/// A file, and what is known of the names of all files.
pub(super) struct Module<'m, 'a> {
    pub(super) text: &'m str,
    pub(super) nodes: &'m AstNodes<'a>,
    pub(super) scoping: &'m Scoping,
    pub(super) names: &'m Names,
}

impl<'a> Module<'_, 'a> {
    /// Returns what the file knows of its own names.
    pub(super) fn names(&self) -> Names {
        let mut names = Names::default();
        for symbol in self.scoping.symbol_ids() {
            let name = self.scoping.symbol_name(symbol).to_owned();
            let declared = self.scoping.symbol_declaration(symbol);
            if function_of(self.nodes, declared).is_some() || self.import_of(declared).is_some() {
                continue;
            }
            names.returned.insert(name.clone(), self.returned_by(symbol, 0));
            names.values.insert(name, self.value_of(symbol, 0));
        }
        for node in self.nodes.iter() {
            match node.kind() {
                AstKind::ExportDefaultDeclaration(it) => {
                    let value = it.declaration.as_expression().map_or(Value::Function, |it| self.value(it, 0));
                    names.values.insert("default".to_owned(), value);
                }
                AstKind::CallExpression(it) => self.add_call(&mut names.calls, node.id(), &it.callee),
                AstKind::NewExpression(it) => self.add_call(&mut names.calls, node.id(), &it.callee),
                _ => {}
            }
        }
        names
    }

    /// Notes who calls what. What the framework or zod is given to call, it calls later.
    fn add_call(&self, calls: &mut Calls, node: NodeId, callee: &Expression<'a>) {
        if self.root(callee).is_some_and(|symbol| self.value_of(symbol, 0) == Value::Built) {
            return;
        }
        let called = match callee.get_inner_expression() {
            Expression::Identifier(it) => it.name.to_string(),
            other => match other.as_member_expression().and_then(|member| member.static_property_name()) {
                Some(name) => name.to_string(),
                None => return,
            },
        };
        // A function without a name is called by the one around it, or by the framework.
        let mut around = function_of(self.nodes, node);
        let by = loop {
            match around.map(|function| (self.name_of(function), function)) {
                None => break String::new(),
                Some((Some(name), _)) => break name,
                Some((None, function)) if self.is_given_to_framework(function) => return,
                Some((None, function)) => around = function_of(self.nodes, function),
            }
        };
        calls.entry(by).or_default().insert(called);
    }

    /// Returns whether a function is an argument of a call of the framework or of zod, which call it later.
    fn is_given_to_framework(&self, function: NodeId) -> bool {
        match self.nodes.kind(self.nodes.parent_id(function)) {
            AstKind::CallExpression(call) => {
                self.root(&call.callee).is_some_and(|symbol| self.value_of(symbol, 0) == Value::Built)
            }
            _ => false,
        }
    }

    /// Returns the name of a function: its own, or that of what it is the value of.
    fn name_of(&self, function: NodeId) -> Option<String> {
        if let AstKind::Function(it) = self.nodes.kind(function)
            && let Some(id) = &it.id
        {
            return Some(id.name.to_string());
        }
        match self.nodes.kind(self.nodes.parent_id(function)) {
            AstKind::VariableDeclarator(it) => match &it.id {
                BindingPattern::BindingIdentifier(id) => Some(id.name.to_string()),
                _ => None,
            },
            AstKind::ObjectProperty(it) => it.key.static_name().map(|name| name.to_string()),
            AstKind::MethodDefinition(it) => it.key.static_name().map(|name| name.to_string()),
            _ => None,
        }
    }

    /// Returns whether a function may be called while the files load: then its variables live as long as what it made.
    pub(super) fn runs_at_load(&self, function: NodeId) -> bool {
        if let Some(name) = self.name_of(function) {
            return self.names.at_load.contains(&name);
        }
        // Returned, or kept in a list: who calls it is not known, and its variables are those of its caller.
        let is_argument = matches!(self.nodes.kind(self.nodes.parent_id(function)), AstKind::CallExpression(_));
        let home = function_of(self.nodes, function);
        is_argument && !self.is_given_to_framework(function) && home.is_none_or(|home| self.runs_at_load(home))
    }

    /// Returns whether a node holds what no name shows.
    pub(super) fn is_hidden_state(&self, kind: AstKind<'a>) -> bool {
        match kind {
            AstKind::ImportExpression(_) | AstKind::StaticBlock(_) | AstKind::WithStatement(_) => true,
            AstKind::PropertyDefinition(it) => {
                it.r#static && it.value.as_ref().is_some_and(|value| self.value(value, 0) > Value::Built)
            }
            AstKind::AccessorProperty(it) => it.r#static,
            AstKind::ImportDeclaration(it) => it.specifiers.is_none() && self.is_foreign(it),
            _ => false,
        }
    }

    /// Returns what is behind a name.
    pub(super) fn value_of(&self, symbol: SymbolId, depth: u32) -> Value {
        if depth > MAX_DEPTH {
            return Value::Unknown;
        }
        let flags = self.scoping.symbol_flags(symbol);
        if flags.is_enum() {
            return Value::Plain;
        }
        let declared = self.scoping.symbol_declaration(symbol);
        if let Some(import) = self.import_of(declared) {
            return self.imported(symbol, import);
        }
        let is_changed = self.scoping.get_resolved_references(symbol).any(|reference| reference.is_write());
        match self.declaration(declared) {
            AstKind::Function(_) | AstKind::Class(_) if !is_changed => Value::Function,
            AstKind::VariableDeclarator(it) if !is_changed => match (&it.id, &it.init) {
                (BindingPattern::BindingIdentifier(_), Some(init)) => self.value(init, depth + 1),
                _ => Value::Unknown,
            },
            AstKind::FormalParameter(it) => {
                let annotation = it.type_annotation.as_ref().map(|annotation| &annotation.type_annotation);
                let is_plain = annotation.is_some_and(|annotation| {
                    matches!(
                        annotation,
                        TSType::TSStringKeyword(_) | TSType::TSNumberKeyword(_) | TSType::TSBooleanKeyword(_)
                    )
                });
                if is_plain { Value::Plain } else { Value::Unknown }
            }
            _ => Value::Unknown,
        }
    }

    /// Returns the declaration of a name, which may begin outside of the node that names it.
    fn declaration(&self, node: NodeId) -> AstKind<'a> {
        let is_one = |kind: AstKind<'_>| {
            matches!(
                kind,
                AstKind::Function(_) | AstKind::Class(_) | AstKind::VariableDeclarator(_) | AstKind::FormalParameter(_)
            )
        };
        let mut at = node;
        for _ in 0..3 {
            if is_one(self.nodes.kind(at)) {
                return self.nodes.kind(at);
            }
            at = self.nodes.parent_id(at);
        }
        self.nodes.kind(node)
    }

    fn import_of(&self, declared: NodeId) -> Option<&'a ImportDeclaration<'a>> {
        let of = |node: NodeId| match self.nodes.kind(node) {
            AstKind::ImportDeclaration(it) => Some(it),
            _ => None,
        };
        of(declared).or_else(|| of(self.nodes.parent_id(declared)))
    }

    fn is_foreign(&self, import: &ImportDeclaration<'a>) -> bool {
        let source = import.source.value.as_str();
        let is_own = ['.', '/', '~', '#'].iter().any(|sign| source.starts_with(*sign)) || source.starts_with("@/");
        let is_harmless = HARMLESS.iter().any(|known| match known.strip_suffix('/') {
            Some(_) => source.starts_with(known),
            None => source == *known || source.strip_prefix(known).is_some_and(|rest| rest.starts_with('/')),
        });
        !is_own && !is_harmless
    }

    fn imported(&self, symbol: SymbolId, import: &ImportDeclaration<'a>) -> Value {
        let source = import.source.value.as_str();
        if self.is_foreign(import) {
            return Value::Unknown;
        }
        if !source.starts_with(['.', '/', '~', '#']) && !source.starts_with("@/") {
            return Value::Built;
        }
        if source.ends_with(".json") {
            return Value::Table;
        }
        let local = self.scoping.symbol_name(symbol);
        let specifiers = import.specifiers.iter().flatten();
        let name = specifiers.into_iter().find_map(|specifier| match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(it) if it.local.name == local => {
                Some(it.imported.name().to_string())
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(it) if it.local.name == local => {
                Some("default".to_owned())
            }
            _ => None,
        });
        name.and_then(|name| self.names.values.get(&name).copied()).unwrap_or(Value::Unknown)
    }

    /// Returns the name that a chain of calls and members begins with.
    fn root(&self, expression: &Expression<'a>) -> Option<SymbolId> {
        match expression.get_inner_expression() {
            Expression::Identifier(it) => self.scoping.get_reference(it.reference_id()).symbol_id(),
            Expression::CallExpression(it) => self.root(&it.callee),
            other => self.root(other.as_member_expression()?.object()),
        }
    }

    /// Returns what an expression gives.
    fn value(&self, expression: &Expression<'a>, depth: u32) -> Value {
        if depth > MAX_DEPTH {
            return Value::Unknown;
        }
        let each = |value: &Expression<'a>| self.value(value, depth + 1);
        match expression.get_inner_expression() {
            Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::StringLiteral(_)
            | Expression::BigIntLiteral(_)
            | Expression::TemplateLiteral(_)
            | Expression::UnaryExpression(_)
            | Expression::BinaryExpression(_) => Value::Plain,
            Expression::RegExpLiteral(it) => {
                let moves = it.regex.flags.intersects(RegExpFlags::G | RegExpFlags::Y);
                if moves { Value::Unknown } else { Value::Plain }
            }
            Expression::ArrowFunctionExpression(_)
            | Expression::FunctionExpression(_)
            | Expression::ClassExpression(_) => Value::Function,
            Expression::LogicalExpression(it) => each(&it.left).max(each(&it.right)),
            Expression::ConditionalExpression(it) => each(&it.consequent).max(each(&it.alternate)),
            Expression::ObjectExpression(it) => {
                let values = it.properties.iter().map(|property| match property {
                    ObjectPropertyKind::ObjectProperty(it) => each(&it.value),
                    ObjectPropertyKind::SpreadProperty(_) => Value::Unknown,
                });
                table(values)
            }
            Expression::ArrayExpression(it) => {
                let values = it.elements.iter().map(|element| match element {
                    ArrayExpressionElement::Elision(_) => Value::Plain,
                    other => other.as_expression().map_or(Value::Unknown, each),
                });
                table(values)
            }
            Expression::Identifier(it) => match self.scoping.get_reference(it.reference_id()).symbol_id() {
                Some(symbol) => self.value_of(symbol, depth + 1),
                None if it.name == "undefined" => Value::Plain,
                None => Value::Unknown,
            },
            Expression::CallExpression(it) => self.called(&it.callee, depth),
            Expression::NewExpression(it) => match it.callee.get_inner_expression() {
                Expression::Identifier(name) if ["Set", "Map"].contains(&name.name.as_str()) => Value::Table,
                _ => Value::Unknown,
            },
            other => self.member(other, depth),
        }
    }

    fn member(&self, expression: &Expression<'a>, depth: u32) -> Value {
        let Some(member) = expression.as_member_expression() else { return Value::Unknown };
        let text = |span: oxc::span::Span| self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        if text(member.object().span()) == "process.env" {
            return Value::Plain;
        }
        match self.value(member.object(), depth + 1) {
            Value::Flat => Value::Plain,
            Value::Built => Value::Built,
            _ => Value::Unknown,
        }
    }

    /// Returns what a call of a function gives.
    fn called(&self, callee: &Expression<'a>, depth: u32) -> Value {
        match self.root(callee) {
            Some(symbol) if self.value_of(symbol, depth + 1) == Value::Built => Value::Built,
            Some(symbol) if matches!(callee.get_inner_expression(), Expression::Identifier(_)) => {
                self.returned_by(symbol, depth + 1)
            }
            _ => Value::Unknown,
        }
    }

    /// Returns what a function returns: one that consists of an expression, or of statements with one `return`.
    fn returned_by(&self, symbol: SymbolId, depth: u32) -> Value {
        if depth > MAX_DEPTH {
            return Value::Unknown;
        }
        let declared = self.scoping.symbol_declaration(symbol);
        if self.import_of(declared).is_some() {
            let known = self.names.returned.get(self.scoping.symbol_name(symbol));
            return known.copied().unwrap_or(Value::Unknown);
        }
        let last = |statements: &[Statement<'a>]| match statements.last() {
            Some(Statement::ReturnStatement(it)) => {
                let value = it.argument.as_ref().map_or(Value::Plain, |argument| self.value(argument, depth + 1));
                // Only what the framework made is the same whichever `return` is taken.
                if value == Value::Built { value } else { Value::Unknown }
            }
            _ => Value::Unknown,
        };
        match self.declaration(declared) {
            AstKind::Function(it) => it.body.as_ref().map_or(Value::Unknown, |body| last(&body.statements)),
            AstKind::VariableDeclarator(it) => match it.init.as_ref().map(Expression::get_inner_expression) {
                Some(Expression::ArrowFunctionExpression(it)) => match it.body.as_expression() {
                    Some(body) => self.value(body, depth + 1),
                    None => it.body.as_function_body().map_or(Value::Unknown, |body| last(&body.statements)),
                },
                Some(Expression::FunctionExpression(it)) => {
                    it.body.as_ref().map_or(Value::Unknown, |body| last(&body.statements))
                }
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }
}

fn table(values: impl Iterator<Item = Value>) -> Value {
    match values.max() {
        None | Some(Value::Plain | Value::Function | Value::Built) => Value::Flat,
        _ => Value::Table,
    }
}
