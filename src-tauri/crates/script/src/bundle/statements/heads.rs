//! Expressions at which a query can stop: the heads of loops, which run in each iteration, and values of class fields.

use std::cell::Cell;

use oxc::ast::ast::{Expression, ForStatement, ForStatementInit, PropertyKey};
use oxc::ast_visit::Visit as _;
use oxc::span::{GetSpan, Span};
use oxc::syntax::scope::{ScopeFlags, ScopeId};

use super::{Reader, Spot, key_name};

impl Reader<'_> {
    /// Adds the condition of a loop, which runs in each iteration. `start` is the position shown for its statement.
    pub(super) fn add_condition(&mut self, start: u32, condition: Span) {
        if let Some(at) = self.add_if(true, start, condition.end) {
            self.spots.push((condition.start, Spot::Head(at)));
            self.spots.push((condition.end, Spot::ExpressionEnd));
        }
    }

    /// Adds the iterations of the loop at an offset, in its scope. Returns `None` for a loop without a stop.
    fn add_turns(&mut self, of: u32, scope: &Cell<Option<ScopeId>>, turn: Span) -> Option<usize> {
        let turn_of = self.loops.remove(&of)?;
        self.enter_scope(ScopeFlags::empty(), scope);
        let at = self.add(turn.start, turn.end);
        self.leave_scope();
        self.found[at].turn_of = Some(turn_of);
        Some(at)
    }

    /// Adds the iterations of a `for` loop: each runs the update, and then the condition.
    pub(super) fn add_updates(&mut self, it: &ForStatement<'_>) {
        let body = it.body.span().start;
        let test = it.test.as_ref().map(GetSpan::span);
        let update = it.update.as_ref().map(GetSpan::span);
        let start = test.or(update).map_or(it.span.start, |first| first.start);
        let end = update.or(test).map_or(body, |last| last.end);
        let Some(at) = self.add_turns(it.span.start, &it.scope_id, Span::new(start, end)) else { return };
        if let Some(ForStatementInit::VariableDeclaration(init)) = &it.init {
            let names = init.declarations.iter().flat_map(|one| one.id.get_binding_identifiers());
            self.found[at].keeps = names.map(|name| name.name.to_string()).collect();
        }
        if let Some(update) = update {
            self.spots.push((update.start, Spot::Head(at)));
            self.spots.push((update.end, Spot::ExpressionEnd));
            return;
        }
        let before = test.or_else(|| it.init.as_ref().map(GetSpan::span));
        let closing = self.closing(before.map_or(it.span.start, |before| before.end), body);
        self.spots.extend(closing.map(|closing| (closing, Spot::NoUpdate(at))));
    }

    /// Adds the iterations of a loop over entries, and visits the loop. An iteration begins when its entry is taken.
    pub(super) fn visit_entries(
        &mut self,
        (of, scope): (Span, &Cell<Option<ScopeId>>),
        entry: Span,
        body: Span,
        walk: impl FnOnce(&mut Self),
    ) {
        self.bodies.insert(body.start);
        let turns = self.add_turns(of.start, scope, entry);
        if let Some(at) = turns {
            self.spots.push((body.start, Spot::Body(at)));
        }
        walk(self);
        if turns.is_some() {
            self.spots.push((body.end, Spot::BodyEnd));
        }
    }

    /// Adds the value of a class field, which runs for each object; the value of a static field runs when the class is
    /// defined.
    pub(super) fn visit_field(&mut self, key: &PropertyKey<'_>, value: &Expression<'_>, is_static: bool) {
        self.begin_function(Some(key_name(key).as_deref().unwrap_or("(field)")));
        let span = value.span();
        let at = self.add(key.span().start, span.end);
        let spot = if is_static { Spot::StaticField(at) } else { Spot::Field(at) };
        self.spots.push((span.start, spot));
        self.visit_expression(value);
        self.spots.push((span.end, Spot::ExpressionEnd));
        self.functions.pop();
    }

    /// Whether the value of a field is a stop. A function or class that takes its name from the field is not, because
    /// it gets the name only as the whole value.
    pub(super) fn is_stop(&self, value: &Expression<'_>, is_static: bool) -> bool {
        let is_function = match value.get_inner_expression() {
            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => true,
            Expression::ClassExpression(class) => class.id.is_none(),
            _ => false,
        };
        !is_function && (!is_static || self.is_in_function())
    }

    /// The offset of the closing bracket of a `for` loop's head, between two offsets.
    fn closing(&self, from: u32, body: u32) -> Option<u32> {
        let head = self.text.get(from as usize..body as usize)?;
        let is_code = |at: u32| {
            let after = self.comments.partition_point(|comment| comment.span.start <= at);
            after.checked_sub(1).is_none_or(|last| self.comments[last].span.end <= at)
        };
        head.rmatch_indices(')').map(|(at, _)| from + at as u32).find(|at| is_code(*at))
    }
}
