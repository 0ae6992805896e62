//! Labels of loops. Of several, the runtime knows the innermost one as the label of the loop, so `continue` and `break`
//! name that. And `continue` with a label forgets that each turn has variables of its own, so it becomes the `break` of
//! a label around the loop's body.

use std::mem::take;

use oxc::allocator::{Allocator, ReplaceWith as _};
use oxc::ast::ast::{
    ArrowFunctionExpression, BreakStatement, Class, ContinueStatement, ForStatement, ForStatementInit, Function,
    LabelIdentifier, LabeledStatement, Program, Statement, VariableDeclarationKind,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{VisitMut, walk_mut};
use oxc::span::SPAN;
use oxc::str::Ident;
use oxc::syntax::scope::ScopeFlags;

pub(super) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator) {
    let ast = AstBuilder::new(allocator);
    Labels { ast, outer: Vec::new(), turns: Vec::new() }.visit_program(program);
}

struct Labels<'a> {
    ast: AstBuilder<'a>,
    /// The labels around the current place that stand before another one, each with the innermost one.
    outer: Vec<(Ident<'a>, Ident<'a>)>,
    /// The loops around the current place whose turns have variables of their own.
    turns: Vec<Turns<'a>>,
}

struct Turns<'a> {
    label: Ident<'a>,
    /// The label of the body.
    body: Ident<'a>,
    /// Whether a `continue` has become the `break` of the body.
    is_used: bool,
}

impl<'a> Labels<'a> {
    fn rename(&self, label: &mut Option<LabelIdentifier<'a>>) {
        let Some(label) = label else { return };
        if let Some((_, inner)) = self.outer.iter().rev().find(|(outer, _)| *outer == label.name) {
            label.name = *inner;
        }
    }

    /// Labels do not reach into functions.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) {
        let (outer, turns) = (take(&mut self.outer), take(&mut self.turns));
        walk(self);
        (self.outer, self.turns) = (outer, turns);
    }

    /// Visits a loop whose innermost label is `label`.
    fn visit_loop(&mut self, label: Ident<'a>, it: &mut ForStatement<'a>) {
        let body = Ident::from_str_in(&format!("{label}$turn"), &self.ast);
        self.turns.push(Turns { label, body, is_used: false });
        walk_mut::walk_for_statement(self, it);
        if self.turns.pop().is_some_and(|turns| turns.is_used) {
            let label = LabelIdentifier::new(SPAN, body, &self.ast);
            it.body.replace_with(|body| Statement::new_labeled_statement(SPAN, label, body, &self.ast));
        }
    }
}

impl<'a> VisitMut<'a> for Labels<'a> {
    fn visit_labeled_statement(&mut self, it: &mut LabeledStatement<'a>) {
        let mut innermost = None;
        let mut body = &it.body;
        while let Statement::LabeledStatement(inner) = body {
            innermost = Some(inner.label.name);
            body = &inner.body;
        }
        if let Some(innermost) = innermost {
            self.outer.push((it.label.name, innermost));
        }
        match &mut it.body {
            Statement::ForStatement(of_turns) if has_variables(of_turns) => self.visit_loop(it.label.name, of_turns),
            _ => walk_mut::walk_labeled_statement(self, it),
        }
        if innermost.is_some() {
            self.outer.pop();
        }
    }

    fn visit_statement(&mut self, it: &mut Statement<'a>) {
        walk_mut::walk_statement(self, it);
        let Statement::ContinueStatement(goes_on) = it else { return };
        let (span, Some(label)) = (goes_on.span, &goes_on.label) else { return };
        let Some(turns) = self.turns.iter_mut().rev().find(|turns| turns.label == label.name) else { return };
        turns.is_used = true;
        let label = LabelIdentifier::new(label.span, turns.body, &self.ast);
        *it = Statement::new_break_statement(span, Some(label), &self.ast);
    }

    fn visit_break_statement(&mut self, it: &mut BreakStatement<'a>) {
        self.rename(&mut it.label);
    }

    fn visit_continue_statement(&mut self, it: &mut ContinueStatement<'a>) {
        self.rename(&mut it.label);
    }

    fn visit_function(&mut self, it: &mut Function<'a>, flags: ScopeFlags) {
        self.apart(|labels| walk_mut::walk_function(labels, it, flags));
    }

    fn visit_arrow_function_expression(&mut self, it: &mut ArrowFunctionExpression<'a>) {
        self.apart(|labels| walk_mut::walk_arrow_function_expression(labels, it));
    }

    fn visit_class(&mut self, it: &mut Class<'a>) {
        self.apart(|labels| walk_mut::walk_class(labels, it));
    }
}

/// Whether each turn of a loop has variables of its own.
fn has_variables(it: &ForStatement<'_>) -> bool {
    let Some(ForStatementInit::VariableDeclaration(declared)) = &it.init else { return false };
    declared.kind == VariableDeclarationKind::Let
}

#[cfg(test)]
mod tests {
    use crate::bundle::lowering::tests::rewritten;

    #[test]
    fn all_labels_of_a_loop_are_named_by_the_innermost() {
        for (text, expected) in [
            (
                "a: b: for (;;) { if (x) continue a; if (y) break b; break a; }",
                "a: b: for (;;) { if (x) continue b; if (y) break b; break b; }",
            ),
            (
                "a: b: c: for (;;) { d: e: for (;;) { continue a; break d; continue b; } }",
                "a: b: c: for (;;) { d: e: for (;;) { continue c; break e; continue c; } }",
            ),
            (
                "a: b: for (;;) { const f = () => { a: for (;;) { break a; } }; continue a; }",
                "a: b: for (;;) { const f = () => { a: for (;;) { break a; } }; continue b; }",
            ),
        ] {
            assert_eq!(rewritten(text), expected);
        }
    }

    #[test]
    fn a_turn_that_is_left_by_a_label_ends_as_any_other() {
        for (text, expected) in [
            (
                "a: for (let i = 0; i < 3; i++) { for (;;) continue a; }",
                "a: for (let i = 0; i < 3; i++) a$turn: { for (;;) break a$turn; }",
            ),
            (
                "a: b: for (let i = 0;;) { if (x) continue a; break b; }",
                "a: b: for (let i = 0;;) b$turn: { if (x) break b$turn; break b; }",
            ),
            ("a: for (let i = 0;;) { break a; }", "a: for (let i = 0;;) { break a; }"),
            ("a: for (const i of all) { continue a; }", "a: for (const i of all) { continue a; }"),
        ] {
            assert_eq!(rewritten(text), expected);
        }
    }
}
