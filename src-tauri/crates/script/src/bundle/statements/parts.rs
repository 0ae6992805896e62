//! What of a statement runs when it is reached, and which names have a value only after it.

use oxc::ast::ast::{Statement, VariableDeclarationKind};
use oxc::span::GetSpan;

/// The statement behind the labels of another.
pub(super) fn labelled<'a, 'b>(statement: &'b Statement<'a>) -> &'b Statement<'a> {
    match statement {
        Statement::LabeledStatement(it) => labelled(&it.body),
        other => other,
    }
}

/// Whether a statement does something when it is reached. What the condition of a loop does is a stop of its own.
pub(super) fn runs(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::TryStatement(_) | Statement::WhileStatement(_) | Statement::DoWhileStatement(_) => false,
        Statement::BlockStatement(_) | Statement::EmptyStatement(_) | Statement::FunctionDeclaration(_) => false,
        Statement::TSTypeAliasDeclaration(_) | Statement::TSInterfaceDeclaration(_) => false,
        Statement::TSExternalModuleDeclaration(_) | Statement::TSGlobalDeclaration(_) => false,
        Statement::TSNamespaceDeclaration(it) => !it.declare,
        Statement::VariableDeclaration(it) => !it.declare,
        Statement::ClassDeclaration(it) => !it.declare,
        Statement::TSEnumDeclaration(it) => !it.declare,
        _ => true,
    }
}

/// Where the part of a statement ends that runs when it is reached.
pub(super) fn head_end(statement: &Statement<'_>) -> u32 {
    match statement {
        Statement::IfStatement(it) => it.test.span().end,
        Statement::ForStatement(it) => it.body.span().start,
        Statement::ForInStatement(it) => it.right.span().end,
        Statement::ForOfStatement(it) => it.right.span().end,
        Statement::SwitchStatement(it) => it.discriminant.span().end,
        Statement::ClassDeclaration(it) => it.body.span.start,
        other => other.span().end,
    }
}

/// The names that have no value before a statement has run.
pub(super) fn declared(statement: &Statement<'_>) -> Vec<String> {
    match statement {
        Statement::VariableDeclaration(it) if it.kind != VariableDeclarationKind::Var => {
            let names = it.declarations.iter().flat_map(|one| one.id.get_binding_identifiers());
            names.map(|name| name.name.to_string()).collect()
        }
        Statement::ClassDeclaration(it) => it.id.iter().map(|id| id.name.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// The variables that a statement declares, of which the bundler removes those that nothing uses.
pub(super) fn variables(statement: &Statement<'_>) -> Vec<String> {
    match statement {
        Statement::VariableDeclaration(it) if !it.declare => {
            let names = it.declarations.iter().flat_map(|one| one.id.get_binding_identifiers());
            names.map(|name| name.name.to_string()).collect()
        }
        _ => Vec::new(),
    }
}
