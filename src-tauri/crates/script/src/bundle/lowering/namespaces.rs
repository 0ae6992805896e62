//! Namespaces in several parts: an export of one part can be used in the others by its plain name. The bundler lowers
//! each part separately, so such names are first rewritten to properties of the namespace: `one` becomes `A.one`.

use std::collections::{BTreeSet, HashMap};

use oxc::allocator::{Allocator, ArenaBox};
use oxc::ast::ast::{
    Declaration, Expression, IdentifierName, IdentifierReference, ObjectProperty, Program, SimpleAssignmentTarget,
    Statement, StaticMemberExpression, TSNamespaceDeclaration, TSNamespaceDeclarationBody,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{Visit, VisitMut, walk, walk_mut};
use oxc::semantic::{Scoping, SemanticBuilder};
use oxc::span::{GetSpan as _, SPAN, Span};
use oxc::str::Ident;

pub(super) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator) {
    let mut parts = Parts::default();
    parts.add_all(&program.body, "", true);
    if parts.of.values().all(|parts| parts.len() < 2) {
        return;
    }
    let scoping = SemanticBuilder::new().build(program).semantic.into_scoping();
    let mut search = Search { scoping: &scoping, parts: &parts, around: Vec::new(), found: HashMap::new() };
    search.visit_program(program);
    let found = search.found;
    if !found.is_empty() {
        Names { ast: AstBuilder::new(allocator), found }.visit_program(program);
    }
}

/// A part of a namespace.
struct Part {
    span: Span,
    exports: BTreeSet<String>,
}

/// The parts of all namespaces of a module.
#[derive(Default)]
struct Parts {
    /// The parts, by the path of the namespace. A namespace inside another one has other parts only if it is exported.
    of: HashMap<String, Vec<Part>>,
    /// The path of each part, by its start.
    paths: HashMap<u32, String>,
}

impl Parts {
    /// Adds the namespaces among statements, and nested ones. `are_shared`: whether namespaces that are not exported
    /// may have other parts.
    fn add_all(&mut self, body: &[Statement<'_>], path: &str, are_shared: bool) {
        for statement in body {
            let (namespace, is_exported) = match statement {
                Statement::TSNamespaceDeclaration(it) => (it, false),
                Statement::ExportDeclaration(it) => match &it.declaration {
                    Declaration::TSNamespaceDeclaration(it) => (it, true),
                    _ => continue,
                },
                _ => continue,
            };
            self.add(namespace, path, are_shared || is_exported);
        }
    }

    fn add(&mut self, namespace: &TSNamespaceDeclaration<'_>, path: &str, is_shared: bool) {
        let Span { start, end, .. } = namespace.span;
        let mut path = format!("{path}.{}", namespace.id.name);
        if !is_shared {
            path.push_str(&format!("@{start}"));
        }
        let exports = match &namespace.body {
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => {
                self.add(inner, &path, true);
                BTreeSet::from([inner.id.name.to_string()])
            }
            TSNamespaceDeclarationBody::TSModuleBlock(block) => {
                self.add_all(&block.body, &path, false);
                block.body.iter().flat_map(exported).collect()
            }
        };
        if !namespace.declare {
            self.of.entry(path.clone()).or_default().push(Part { span: Span::new(start, end), exports });
            self.paths.insert(start, path);
        }
    }

    /// The names that only the other parts of a namespace export.
    fn of_others(&self, start: u32) -> BTreeSet<String> {
        let parts = self.paths.get(&start).and_then(|path| self.of.get(path)).map_or(&[][..], Vec::as_slice);
        let others = parts.iter().filter(|part| part.span.start != start);
        others.flat_map(|part| part.exports.iter().cloned()).collect()
    }
}

/// The values that a statement of a namespace exports.
fn exported(statement: &Statement<'_>) -> Vec<String> {
    let Statement::ExportDeclaration(it) = statement else { return Vec::new() };
    match &it.declaration {
        Declaration::VariableDeclaration(it) => {
            let names = it.declarations.iter().flat_map(|one| one.id.get_binding_identifiers());
            names.map(|name| name.name.to_string()).collect()
        }
        Declaration::FunctionDeclaration(it) => it.id.iter().map(|id| id.name.to_string()).collect(),
        Declaration::ClassDeclaration(it) => it.id.iter().map(|id| id.name.to_string()).collect(),
        Declaration::TSEnumDeclaration(it) => vec![it.id.name.to_string()],
        Declaration::TSNamespaceDeclaration(it) => vec![it.id.name.to_string()],
        _ => Vec::new(),
    }
}

/// Finds the names that another part exports.
struct Search<'s> {
    scoping: &'s Scoping,
    parts: &'s Parts,
    /// The parts around the current node: their span, their name, and the exports of their other parts.
    around: Vec<(Span, String, BTreeSet<String>)>,
    /// The namespace that each name belongs to, by the position of the name in the text.
    found: HashMap<u32, String>,
}

impl<'a> Visit<'a> for Search<'_> {
    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        let others = self.parts.of_others(it.span.start);
        self.around.push((it.span, it.id.name.to_string(), others));
        walk::walk_ts_namespace_declaration(self, it);
        self.around.pop();
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let Some(reference) = it.reference_id.get() else { return };
        let symbol = self.scoping.get_reference(reference).symbol_id();
        let declared = symbol.map(|symbol| self.scoping.symbol_span(symbol));
        for (part, name, others) in self.around.iter().rev() {
            // A declaration inside the part shadows the export.
            if declared.is_some_and(|declared| part.start <= declared.start && declared.end <= part.end) {
                return;
            }
            if others.contains(it.name.as_str()) {
                self.found.insert(it.span.start, name.clone());
                return;
            }
        }
    }
}

/// Rewrites the names to properties.
struct Names<'a> {
    ast: AstBuilder<'a>,
    found: HashMap<u32, String>,
}

impl<'a> Names<'a> {
    fn property(&self, it: &IdentifierReference<'a>, namespace: &str) -> ArenaBox<'a, StaticMemberExpression<'a>> {
        let object = Expression::new_identifier(SPAN, Ident::from_str_in(namespace, &self.ast), &self.ast);
        let name = IdentifierName::new(it.span, it.name, &self.ast);
        StaticMemberExpression::boxed(it.span, object, name, false, &self.ast)
    }
}

impl<'a> VisitMut<'a> for Names<'a> {
    fn visit_expression(&mut self, it: &mut Expression<'a>) {
        if let Expression::Identifier(name) = it
            && let Some(namespace) = self.found.get(&name.span.start)
        {
            *it = Expression::StaticMemberExpression(self.property(name, namespace));
            return;
        }
        walk_mut::walk_expression(self, it);
    }

    fn visit_object_property(&mut self, it: &mut ObjectProperty<'a>) {
        it.shorthand &= !self.found.contains_key(&it.value.span().start);
        walk_mut::walk_object_property(self, it);
    }

    fn visit_simple_assignment_target(&mut self, it: &mut SimpleAssignmentTarget<'a>) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(name) = it
            && let Some(namespace) = self.found.get(&name.span.start)
        {
            *it = SimpleAssignmentTarget::StaticMemberExpression(self.property(name, namespace));
            return;
        }
        walk_mut::walk_simple_assignment_target(self, it);
    }
}

#[cfg(test)]
mod tests {
    use crate::bundle::lowering::tests::rewritten;

    #[test]
    fn names_of_other_parts_become_properties_of_the_namespace() {
        for (text, expected) in [
            (
                "namespace A { export const one = 1; } namespace A { export const two = one + 1; }",
                "namespace A { export const one = 1; } namespace A { export const two = A.one + 1; }",
            ),
            (
                "namespace A { export let n = 1; const own = 2; } namespace A { n++; n = n + 1; f({ n }); own; }",
                "namespace A { export let n = 1; const own = 2; } \
                 namespace A { A.n++; A.n = A.n + 1; f({ n: A.n }); own; }",
            ),
            (
                "const n = 0; namespace A { export const n = 1; } namespace A { f(n); { const n = 2; f(n); } }",
                "const n = 0; namespace A { export const n = 1; } namespace A { f(A.n); { const n = 2; f(n); } }",
            ),
            (
                "namespace A { export namespace In { export const deep = 1; } } namespace A.In { f(deep); }",
                "namespace A { export namespace In { export const deep = 1; } } namespace A.In { f(In.deep); }",
            ),
            (
                "namespace A { namespace In { export const deep = 1; } } namespace A { namespace In { f(deep); } }",
                "namespace A { namespace In { export const deep = 1; } } namespace A { namespace In { f(deep); } }",
            ),
            (
                "class C {} namespace C { export const s = 1; } namespace C { f(s); }",
                "class C {} namespace C { export const s = 1; } namespace C { f(C.s); }",
            ),
        ] {
            assert_eq!(rewritten(text), expected);
        }
    }
}
