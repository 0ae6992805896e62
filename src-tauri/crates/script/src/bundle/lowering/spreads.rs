//! Object literals with `...spread` that the bundler's lowering gets wrong: it makes several literals of one and copies
//! their properties. So a `__proto__` after a spread is lost, `super` of a method means another object, and of a getter
//! and a setter around a spread the first is lost.
//!
//! The runtime itself has spreads: they are hidden as rests are.

use std::collections::HashMap;

use oxc::allocator::{Allocator, ReplaceWith as _};
use oxc::ast::ast::{
    Expression, Function, ObjectExpression, ObjectProperty, ObjectPropertyKind, Program, PropertyKey, PropertyKind,
    Super,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{Visit, VisitMut, walk_mut};
use oxc::syntax::scope::ScopeFlags;

use super::rests::key;

/// Hides the spreads that the lowering would get wrong. Returns whether there were any.
pub(super) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator) -> bool {
    let mut spreads = Spreads { ast: AstBuilder::new(allocator), is_changed: false };
    spreads.visit_program(program);
    spreads.is_changed
}

struct Spreads<'a> {
    ast: AstBuilder<'a>,
    is_changed: bool,
}

impl<'a> VisitMut<'a> for Spreads<'a> {
    fn visit_object_expression(&mut self, it: &mut ObjectExpression<'a>) {
        if is_one_object(it) {
            self.is_changed = true;
            for property in &mut it.properties {
                self.hide(property);
            }
        }
        walk_mut::walk_object_expression(self, it);
    }
}

impl<'a> Spreads<'a> {
    fn hide(&self, property: &mut ObjectPropertyKind<'a>) {
        property.replace_with(|property| match property {
            ObjectPropertyKind::SpreadProperty(it) => {
                let it = it.unbox();
                let (key, value) = (key(&self.ast), it.argument);
                let kind = PropertyKind::Init;
                ObjectPropertyKind::new_object_property(it.span, kind, key, value, false, false, false, &self.ast)
            }
            property => property,
        });
    }
}

/// Whether a literal has a spread and means something that only one object can have.
fn is_one_object(it: &ObjectExpression<'_>) -> bool {
    let mut has_spread = false;
    let mut is_one = false;
    let mut accessors: HashMap<String, PropertyKind> = HashMap::new();
    for property in &it.properties {
        let property = match property {
            ObjectPropertyKind::SpreadProperty(_) => {
                has_spread = true;
                continue;
            }
            ObjectPropertyKind::ObjectProperty(property) => property,
        };
        is_one |= has_spread && is_prototype(property) || names_super(property);
        if property.kind != PropertyKind::Init
            && let Some(name) = property.key.static_name()
        {
            let before = accessors.insert(name.to_string(), property.kind);
            is_one |= before.is_some_and(|before| before != property.kind);
        }
    }
    has_spread && is_one
}

fn is_prototype(property: &ObjectProperty<'_>) -> bool {
    let is_plain = property.kind == PropertyKind::Init && !property.method && !property.shorthand && !property.computed;
    is_plain
        && match &property.key {
            PropertyKey::StaticIdentifier(key) => key.name == "__proto__",
            PropertyKey::StringLiteral(key) => key.value == "__proto__",
            _ => false,
        }
}

/// Whether a method or an accessor names `super`, outside of functions and literals inside.
fn names_super(property: &ObjectProperty<'_>) -> bool {
    struct Names {
        is_found: bool,
    }
    impl<'a> Visit<'a> for Names {
        fn visit_super(&mut self, _: &Super) {
            self.is_found = true;
        }
        fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}
    }
    let is_method = property.method || property.kind != PropertyKind::Init;
    let Expression::FunctionExpression(method) = &property.value else { return false };
    let mut names = Names { is_found: false };
    if is_method {
        names.visit_formal_parameters(&method.params);
        method.body.iter().for_each(|body| names.visit_function_body(body));
    }
    names.is_found
}

#[cfg(test)]
mod tests {
    use crate::bundle::lowering::shown;
    use crate::bundle::lowering::tests::{printed, rewritten};

    #[test]
    fn what_only_one_object_can_have_keeps_its_spreads() {
        for text in [
            "f({ ...a, __proto__: p });",
            "f({ ...a, m() { return super.m(); } });",
            "f({ __proto__: p, ...a, get m() { return () => super.m(); } });",
            "f({ get v() { return 1; }, ...a, set v(x) {} });",
        ] {
            let hidden = rewritten(text);
            assert!(!hidden.contains("..."), "{hidden}");
            assert_eq!(printed(&shown(&hidden)), printed(text));
        }
        for text in [
            "f({ __proto__: p, ...a });",
            "f({ ...a, get v() { return 1; }, ...b });",
            "f({ ...a, m() { return { n() { return super.n(); } }; } });",
            "f({ ...a, __proto__ });",
        ] {
            assert!(!rewritten(text).contains("flowglass:rest"), "{text}");
        }
    }
}
