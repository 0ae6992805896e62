//! Which statements may fail at a place that QuickJS does not note: those get a mark.
//!
//! Must only read the syntax tree; where the mark goes is in `marks`.

use oxc::ast::ast::{
    ArrayExpression, ArrayExpressionElement, ArrowFunctionExpression, Expression, ForStatementInit, Function,
    Statement, VariableDeclaration,
};
use oxc::ast_visit::{Visit, walk};
use oxc::syntax::scope::ScopeFlags;

/// Whether a statement takes a value apart, loops over a list, or spreads one.
pub(crate) fn is_unplaced(statement: &Statement<'_>) -> bool {
    takes_apart(statement) || spreads(statement)
}

/// Returns the statements that are bodies of another one; those in braces are none.
pub(crate) fn bodies<'s, 'a>(statement: &'s Statement<'a>) -> Vec<&'s Statement<'a>> {
    let both = match statement {
        Statement::IfStatement(it) => [Some(&it.consequent), it.alternate.as_ref()],
        Statement::ForStatement(it) => [Some(&it.body), None],
        Statement::ForInStatement(it) => [Some(&it.body), None],
        Statement::ForOfStatement(it) => [Some(&it.body), None],
        Statement::WhileStatement(it) => [Some(&it.body), None],
        Statement::DoWhileStatement(it) => [Some(&it.body), None],
        _ => [None, None],
    };
    both.into_iter().flatten().collect()
}

/// Returns the statement behind labels.
pub(crate) fn without_labels<'s, 'a>(statement: &'s Statement<'a>) -> &'s Statement<'a> {
    let mut inner = statement;
    while let Statement::LabeledStatement(it) = inner {
        inner = &it.body;
    }
    inner
}

/// Whether a statement takes a value apart, as the list of a loop, too.
fn takes_apart(statement: &Statement<'_>) -> bool {
    let declares = |it: &VariableDeclaration<'_>| it.declarations.iter().any(|it| it.id.is_destructuring_pattern());
    match statement {
        Statement::VariableDeclaration(it) => declares(it),
        Statement::ForOfStatement(_) => true,
        Statement::ForStatement(it) => match &it.init {
            Some(ForStatementInit::VariableDeclaration(it)) => declares(it),
            _ => false,
        },
        Statement::ExpressionStatement(it) => match it.expression.get_inner_expression() {
            Expression::AssignmentExpression(it) => it.left.as_assignment_target_pattern().is_some(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a statement spreads a list into another one, outside of functions inside.
fn spreads(statement: &Statement<'_>) -> bool {
    struct Spreads(bool);
    impl<'a> Visit<'a> for Spreads {
        fn visit_array_expression(&mut self, it: &ArrayExpression<'a>) {
            self.0 |= it.elements.iter().any(ArrayExpressionElement::is_spread);
            walk::walk_array_expression(self, it);
        }
        fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}
        fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}
    }
    let mut found = Spreads(false);
    match statement {
        Statement::VariableDeclaration(it) => found.visit_variable_declaration(it),
        Statement::ExpressionStatement(it) => found.visit_expression_statement(it),
        Statement::ReturnStatement(it) => found.visit_return_statement(it),
        _ => {}
    }
    found.0
}
