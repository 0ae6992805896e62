//! The statements of a source, read from its syntax tree. Each has its range, the function around it, and the names in
//! its scope.
//!
//! A question can be asked at each: at the source's own statements, at the head of a loop on every turn, at the
//! expression that an arrow function consists of, and at the value of a class field. Nothing can be asked where nothing
//! runs (`try`, `do`, a label), nor in code that runs while the file loads. Must not depend on what is asked.

mod heads;
mod parts;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use oxc::ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, BindingPattern, Comment, DoWhileStatement, Expression, ForInStatement,
    ForOfStatement, ForStatement, Function, FunctionBody, IfStatement, MethodDefinition, ObjectProperty,
    PropertyDefinition, PropertyKey, PropertyKind, Statement, StaticBlock, VariableDeclarator, WhileStatement,
};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::{Scoping, SemanticBuilder};
use oxc::span::GetSpan;
use oxc::syntax::scope::{ScopeFlags, ScopeId};

use crate::bundle::parsed::parsed;
use parts::{declared, head_end, labelled, runs, variables};

/// How many names a statement lists at most.
const MAX_NAMES: usize = 1000;

/// A statement of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Bytes in the source.
    pub(crate) start: u32,
    /// Bytes in the source. Of a statement with others inside, the end of what comes before them.
    pub(crate) end: u32,
    /// The function around it, as the source names it.
    pub(crate) function: Arc<str>,
    /// The names in its scope except those of the whole file, the nearest first; in methods and fields also `this`.
    pub(crate) names: Arc<[String]>,
    /// The names that have no value before it has run.
    pub(crate) declares: Arc<[String]>,
    /// The variables that the statements before it in its list declare. Its probe refers to them, so that the bundler
    /// keeps them in each bundle with probes, whichever expressions are asked.
    pub(crate) keeps: Arc<[String]>,
    /// Of the turns of a `for` loop: the index of the statement that begins the loop.
    pub(crate) turn_of: Option<usize>,
}

/// Where a probe is inserted into a source. A number is the statement's index in [`Stops::found`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Before a statement in a list of statements.
    Before(usize),
    /// Before a statement that is the whole body of another.
    Body(usize),
    /// Behind such a statement.
    BodyEnd,
    /// Before the expression that a function consists of.
    Arrow(usize),
    /// Before the value of a class field.
    Field(usize),
    /// Before the value of a static class field.
    StaticField(usize),
    /// Before the condition or the update of a loop.
    Head(usize),
    /// Behind an expression that a probe was inserted before.
    ExpressionEnd,
    /// In the place of the update that a loop does not have.
    NoUpdate(usize),
    /// At the beginning of a function's body.
    Entry,
    /// At the beginning of a static block.
    StaticEntry,
    /// Behind the last statement of a list that declares variables: an index of [`Stops::kept`].
    ListEnd(usize),
}

/// The statements of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops {
    /// In order of their places.
    pub(crate) found: Vec<Stop>,
    /// Where probes belong: bytes in the source, and what is there. In order of the places.
    pub(crate) spots: Vec<(u32, Spot)>,
    /// Variables of lists that end with a declaration.
    pub(crate) kept: Vec<Arc<[String]>>,
}

impl Stops {
    /// Reads the statements of a source. Returns `None` if it cannot be parsed.
    pub(crate) fn read(text: &str, file: &str) -> Option<Stops> {
        parsed(text, file, |program| {
            let scoping = SemanticBuilder::new().build(program).semantic.into_scoping();
            let mut reader = Reader {
                text,
                comments: &program.comments,
                scoping: &scoping,
                scopes: Vec::new(),
                functions: Vec::new(),
                objects: Vec::new(),
                is_method: false,
                pending: None,
                bodies: HashSet::new(),
                loops: HashMap::new(),
                names: HashMap::new(),
                found: Vec::new(),
                spots: Vec::new(),
                kept: Vec::new(),
            };
            reader.visit_program(program);
            let Reader { found, spots, kept, .. } = reader;
            Stops { kept, ..in_order(found, spots) }
        })
    }
}

/// Numbers statements by their places, whichever the tree named first.
fn in_order(found: Vec<Stop>, mut spots: Vec<(u32, Spot)>) -> Stops {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| (found[*at].start, std::cmp::Reverse(found[*at].end)));
    let mut places = vec![0; found.len()];
    order.iter().enumerate().for_each(|(place, at)| places[*at] = place);
    for (_, spot) in &mut spots {
        match spot {
            Spot::Before(at) | Spot::Body(at) | Spot::Arrow(at) => *at = places[*at],
            Spot::Field(at) | Spot::StaticField(at) | Spot::Head(at) | Spot::NoUpdate(at) => *at = places[*at],
            Spot::BodyEnd | Spot::ExpressionEnd | Spot::Entry | Spot::StaticEntry | Spot::ListEnd(_) => {}
        }
    }
    // What ends at a place comes before what begins there; what begins together stays in the order of the tree.
    let is_end = |spot: &Spot| matches!(spot, Spot::BodyEnd | Spot::ExpressionEnd | Spot::ListEnd(_));
    spots.sort_by_key(|(place, spot)| (*place, !is_end(spot)));
    let renumbered = |at: usize| Stop { turn_of: found[at].turn_of.map(|of| places[of]), ..found[at].clone() };
    let found = order.into_iter().map(renumbered).collect();
    Stops { found, spots, kept: Vec::new() }
}

fn names_of(scoping: &Scoping, scope: ScopeId) -> impl Iterator<Item = String> {
    let mut symbols: Vec<_> = scoping.iter_bindings_in(scope).collect();
    symbols.sort_unstable();
    symbols.into_iter().filter_map(|symbol| {
        let name = scoping.symbol_name(symbol);
        (scoping.symbol_flags(symbol).is_value() && name != "this").then(|| name.to_owned())
    })
}

struct Reader<'s> {
    text: &'s str,
    comments: &'s [Comment],
    scoping: &'s Scoping,
    scopes: Vec<ScopeId>,
    functions: Vec<Arc<str>>,
    /// For each function that has a `this` of its own: whether that is an object by the way it is written.
    objects: Vec<bool>,
    /// Whether the next function is a method.
    is_method: bool,
    /// The name that the next function has from what it is assigned to.
    pending: Option<Arc<str>>,
    /// Where statements begin that are the whole body of another.
    bodies: HashSet<u32>,
    /// The statements that begin `for` loops, by where those begin.
    loops: HashMap<u32, usize>,
    names: HashMap<ScopeId, Arc<[String]>>,
    found: Vec<Stop>,
    spots: Vec<(u32, Spot)>,
    kept: Vec<Arc<[String]>>,
}

impl Reader<'_> {
    fn add(&mut self, start: u32, end: u32) -> usize {
        let function = self.functions.last().cloned().unwrap_or_default();
        let names = self.names();
        let (declares, keeps) = (Arc::default(), Arc::default());
        self.found.push(Stop { start, end, function, names, declares, keeps, turn_of: None });
        self.found.len() - 1
    }

    /// Adds what runs when a statement is reached, if anything does.
    fn add_statement(&mut self, statement: &Statement<'_>) -> Option<usize> {
        let statement = labelled(statement);
        let start = statement.span().start;
        let at = self.add_if(runs(statement), start, head_end(statement))?;
        self.found[at].declares = declared(statement).into();
        if let Statement::ForStatement(_) | Statement::ForInStatement(_) | Statement::ForOfStatement(_) = statement {
            self.loops.insert(start, at);
        }
        Some(at)
    }

    fn add_if(&mut self, runs: bool, start: u32, end: u32) -> Option<usize> {
        (runs && self.is_in_function()).then(|| self.add(start, end))
    }

    /// The names in scope, made once for each scope.
    fn names(&mut self) -> Arc<[String]> {
        let Some(inner) = self.scopes.last() else { return Arc::default() };
        if let Some(known) = self.names.get(inner) {
            return known.clone();
        }
        let mut seen = HashSet::new();
        let inner_first = self.scopes.iter().skip(1).rev().flat_map(|scope| names_of(self.scoping, *scope));
        let this = self.objects.last().filter(|is_object| **is_object).map(|_| "this".to_owned());
        let all = this.into_iter().chain(inner_first);
        let names: Arc<[String]> = all.filter(|name| seen.insert(name.clone())).take(MAX_NAMES).collect();
        self.names.insert(*inner, names.clone());
        names
    }

    fn is_in_function(&self) -> bool {
        !self.functions.is_empty()
    }

    fn begin_function(&mut self, own_name: Option<&str>) {
        let pending = self.pending.take();
        let name = own_name.map(Arc::from).or(pending).unwrap_or_else(|| "(anonymous)".into());
        self.functions.push(name);
    }

    /// Names the function that is the value of something.
    fn name(&mut self, name: Option<&str>, value: Option<&Expression<'_>>) {
        let is_function = matches!(
            value.map(Expression::get_inner_expression),
            Some(Expression::FunctionExpression(_) | Expression::ArrowFunctionExpression(_))
        );
        self.pending = name.filter(|_| is_function).map(Arc::from);
    }
}

fn key_name<'k>(key: &'k PropertyKey<'_>) -> Option<std::borrow::Cow<'k, str>> {
    key.static_name().or_else(|| match key {
        PropertyKey::PrivateIdentifier(it) => Some(format!("#{}", it.name).into()),
        _ => None,
    })
}

impl<'a> Visit<'a> for Reader<'_> {
    fn enter_scope(&mut self, _flags: ScopeFlags, scope: &Cell<Option<ScopeId>>) {
        self.scopes.push(scope.get().unwrap_or(self.scoping.root_scope_id()));
    }

    fn leave_scope(&mut self) {
        self.scopes.pop();
    }

    fn visit_statements(&mut self, it: &oxc::allocator::Vec<'a, Statement<'a>>) {
        let mut declared = Vec::new();
        for statement in it {
            if let Some(at) = self.add_statement(statement) {
                self.found[at].keeps = std::mem::take(&mut declared).into();
                self.spots.push((statement.span().start, Spot::Before(at)));
            }
            if self.is_in_function() {
                declared.extend(variables(statement));
            }
            self.visit_statement(statement);
        }
        if let Some(last) = it.last().filter(|_| !declared.is_empty()) {
            self.spots.push((last.span().end, Spot::ListEnd(self.kept.len())));
            self.kept.push(declared.into());
        }
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        let span = it.span();
        let at = if self.bodies.remove(&span.start) { self.add_statement(it) } else { None };
        if let Some(at) = at {
            self.spots.push((span.start, Spot::Body(at)));
        }
        walk::walk_statement(self, it);
        if at.is_some() {
            self.spots.push((span.end, Spot::BodyEnd));
        }
    }

    fn visit_if_statement(&mut self, it: &IfStatement<'a>) {
        let bodies = std::iter::once(&it.consequent).chain(&it.alternate);
        self.bodies.extend(bodies.map(|body| body.span().start));
        walk::walk_if_statement(self, it);
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        self.bodies.insert(it.body.span().start);
        self.add_updates(it);
        walk::walk_for_statement(self, it);
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        let (entry, body) = (it.left.span().merge(it.right.span()), it.body.span());
        self.visit_entries((it.span, &it.scope_id), entry, body, |reader| walk::walk_for_in_statement(reader, it));
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        let (entry, body) = (it.left.span().merge(it.right.span()), it.body.span());
        self.visit_entries((it.span, &it.scope_id), entry, body, |reader| walk::walk_for_of_statement(reader, it));
    }

    fn visit_while_statement(&mut self, it: &WhileStatement<'a>) {
        self.bodies.insert(it.body.span().start);
        self.add_condition(it.span.start, it.test.span());
        walk::walk_while_statement(self, it);
    }

    fn visit_do_while_statement(&mut self, it: &DoWhileStatement<'a>) {
        self.bodies.insert(it.body.span().start);
        let test = it.test.span();
        self.add_condition(test.start, test);
        walk::walk_do_while_statement(self, it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let is_method = std::mem::take(&mut self.is_method);
        if it.body.is_none() {
            return;
        }
        self.objects.push(is_method || it.this_param.is_some());
        self.begin_function(it.id.as_ref().map(|id| id.name.as_str()));
        walk::walk_function(self, it, flags);
        self.functions.pop();
        self.objects.pop();
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.begin_function(None);
        walk::walk_arrow_function_expression(self, it);
        self.functions.pop();
    }

    fn visit_arrow_function_body(&mut self, it: &ArrowFunctionBody<'a>) {
        let Some(body) = it.as_expression() else { return walk::walk_arrow_function_body(self, it) };
        let span = body.span();
        let at = self.add(span.start, span.end);
        self.spots.push((span.start, Spot::Arrow(at)));
        self.visit_expression(body);
        self.spots.push((span.end, Spot::ExpressionEnd));
    }

    fn visit_function_body(&mut self, it: &FunctionBody<'a>) {
        let begin = it.directives.last().map_or(it.span.start + 1, |last| last.span.end);
        self.spots.push((begin, Spot::Entry));
        walk::walk_function_body(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let BindingPattern::BindingIdentifier(id) = &it.id {
            self.name(Some(&id.name), it.init.as_ref());
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_object_property(&mut self, it: &ObjectProperty<'a>) {
        self.visit_property_key(&it.key);
        self.name(key_name(&it.key).as_deref(), Some(&it.value));
        self.is_method = it.method || it.kind != PropertyKind::Init;
        self.visit_expression(&it.value);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.visit_property_key(&it.key);
        self.pending = key_name(&it.key).map(|name| Arc::from(&*name));
        self.is_method = true;
        self.visit_function(&it.value, ScopeFlags::Function);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        self.name(key_name(&it.key).as_deref(), it.value.as_ref());
        self.visit_decorators(&it.decorators);
        self.visit_property_key(&it.key);
        self.objects.push(true);
        match &it.value {
            Some(value) if self.is_stop(value, it.r#static) => self.visit_field(&it.key, value, it.r#static),
            Some(value) => self.visit_expression(value),
            None => {}
        }
        self.objects.pop();
    }

    fn visit_static_block(&mut self, it: &StaticBlock<'a>) {
        if !self.is_in_function() {
            return walk::walk_static_block(self, it);
        }
        self.objects.push(true);
        self.begin_function(Some("static"));
        if let Some(first) = it.body.first() {
            self.spots.push((first.span().start, Spot::StaticEntry));
        }
        walk::walk_static_block(self, it);
        self.functions.pop();
        self.objects.pop();
    }
}

#[cfg(test)]
mod tests;
