//! Loops with several labels: the runtime knows the innermost one as the label of the loop, so `continue` and `break`
//! name that.

use std::mem::take;

use oxc::ast::ast::{
    ArrowFunctionExpression, BreakStatement, Class, ContinueStatement, Function, LabelIdentifier, LabeledStatement,
    Program, Statement,
};
use oxc::ast_visit::{VisitMut, walk_mut};
use oxc::str::Ident;
use oxc::syntax::scope::ScopeFlags;

pub(super) fn rewrite(program: &mut Program<'_>) {
    Labels::default().visit_program(program);
}

#[derive(Default)]
struct Labels<'a> {
    /// The labels around the current place that stand before another one, each with the innermost one.
    outer: Vec<(Ident<'a>, Ident<'a>)>,
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
        let outer = take(&mut self.outer);
        walk(self);
        self.outer = outer;
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
        walk_mut::walk_labeled_statement(self, it);
        if innermost.is_some() {
            self.outer.pop();
        }
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
}
