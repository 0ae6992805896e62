//! Calls whose `this` would be lost, or would become another one.
//!
//! `(o?.f)(1)` calls `f` with `o`. The bundler's tree has no brackets, so its lowering reads `f` first and then calls
//! it with nothing. The other way round `(g = o.f)()` and, after `const g = o.f`, a template that `g` is the tag of
//! have no `this`; the removal of dead code puts `o.f` in the place of `g`, which gives them `o`.

use std::collections::HashSet;

use oxc::allocator::{Allocator, ReplaceWith as _};
use oxc::ast::ast::{
    AssignmentTarget, BindingPattern, CallExpression, ChainElement, ChainExpression, Expression, MemberExpression,
    ObjectPropertyKind, Program, PropertyKey, PropertyKind, TaggedTemplateExpression, VariableDeclarator,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{VisitMut, walk_mut};
use oxc::span::{GetSpan as _, SPAN};
use oxc::syntax::operator::LogicalOperator;

pub(super) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator) {
    Calls { ast: AstBuilder::new(allocator), properties: HashSet::new() }.visit_program(program);
}

struct Calls<'a> {
    ast: AstBuilder<'a>,
    /// The names of variables that were declared with a property as their value.
    properties: HashSet<String>,
}

impl<'a> VisitMut<'a> for Calls<'a> {
    fn visit_variable_declarator(&mut self, it: &mut VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(name), Some(value)) = (&it.id, &it.init)
            && is_property(value)
        {
            self.properties.insert(name.name.to_string());
        }
        walk_mut::walk_variable_declarator(self, it);
    }

    fn visit_call_expression(&mut self, it: &mut CallExpression<'a>) {
        walk_mut::walk_call_expression(self, it);
        // Of an optional call the lowering keeps `this`.
        if !it.optional {
            self.keep(&mut it.callee, false);
        }
    }

    fn visit_tagged_template_expression(&mut self, it: &mut TaggedTemplateExpression<'a>) {
        walk_mut::walk_tagged_template_expression(self, it);
        self.keep(&mut it.tag, true);
    }
}

impl<'a> Calls<'a> {
    /// Rewrites what is called, if its `this` would be another one.
    fn keep(&self, called: &mut Expression<'a>, is_tag: bool) {
        let called = called.get_inner_expression_mut();
        match called {
            Expression::ChainExpression(chain) if ends_with_property(chain) => {
                called.replace_with(|called| self.with_receiver(called));
            }
            Expression::AssignmentExpression(it)
                if matches!(it.left, AssignmentTarget::AssignmentTargetIdentifier(_)) && is_property(&it.right) =>
            {
                called.replace_with(|called| self.without_receiver(called));
            }
            Expression::Identifier(name) if is_tag && self.properties.contains(name.name.as_str()) => {
                called.replace_with(|called| self.without_receiver(called));
            }
            _ => {}
        }
    }

    /// `o?.f` becomes `(o ?? { __proto__: null }).f`: the same function and `this`, and nothing to call without `o`.
    fn with_receiver(&self, called: Expression<'a>) -> Expression<'a> {
        let Expression::ChainExpression(chain) = called else { return called };
        let mut called = match chain.unbox().expression {
            ChainElement::CallExpression(call) => Expression::CallExpression(call),
            ChainElement::TSNonNullExpression(it) => it.unbox().expression,
            element => Expression::from(element.into_member_expression()),
        };
        if let Some(member) = called.get_inner_expression_mut().as_member_expression_mut() {
            let object = match member {
                MemberExpression::ComputedMemberExpression(it) => {
                    it.optional = false;
                    &mut it.object
                }
                MemberExpression::StaticMemberExpression(it) => {
                    it.optional = false;
                    &mut it.object
                }
                MemberExpression::PrivateFieldExpression(it) => {
                    it.optional = false;
                    &mut it.object
                }
            };
            object.replace_with(|object| {
                let object = if is_chain(&object) { self.chain(object) } else { object };
                Expression::new_logical_expression(SPAN, object, LogicalOperator::Coalesce, self.nothing(), &self.ast)
            });
        }
        called
    }

    /// A chain that was a part of a longer one.
    fn chain(&self, expression: Expression<'a>) -> Expression<'a> {
        let span = expression.span();
        let element = match expression {
            Expression::CallExpression(it) => ChainElement::CallExpression(it),
            Expression::TSNonNullExpression(it) => ChainElement::TSNonNullExpression(it),
            other => ChainElement::from(other.into_member_expression()),
        };
        Expression::ChainExpression(ChainExpression::boxed(span, element, &self.ast))
    }

    /// An object without any property.
    fn nothing(&self) -> Expression<'a> {
        let key = PropertyKey::new_static_identifier(SPAN, "__proto__", &self.ast);
        let none = Expression::new_null_literal(SPAN, &self.ast);
        let property = ObjectPropertyKind::new_object_property(
            SPAN,
            PropertyKind::Init,
            key,
            none,
            false,
            false,
            false,
            &self.ast,
        );
        Expression::new_object_expression(SPAN, [property], &self.ast)
    }

    /// `g` becomes `g ?? void 0`, which the removal of dead code leaves alone.
    fn without_receiver(&self, called: Expression<'a>) -> Expression<'a> {
        let nothing = Expression::new_void_0(SPAN, &self.ast);
        Expression::new_logical_expression(SPAN, called, LogicalOperator::Coalesce, nothing, &self.ast)
    }
}

/// Whether an expression is the read of a property.
fn is_property(expression: &Expression<'_>) -> bool {
    match expression.get_inner_expression() {
        Expression::ChainExpression(chain) => ends_with_property(chain),
        other => other.as_member_expression().is_some(),
    }
}

fn ends_with_property(chain: &ChainExpression<'_>) -> bool {
    match &chain.expression {
        ChainElement::CallExpression(_) => false,
        ChainElement::TSNonNullExpression(it) => it.expression.get_inner_expression().as_member_expression().is_some(),
        _ => true,
    }
}

/// Whether a part of a chain has an optional link itself.
fn is_chain(part: &Expression<'_>) -> bool {
    match part {
        Expression::CallExpression(it) => it.optional || is_chain(&it.callee),
        Expression::TSNonNullExpression(it) => is_chain(&it.expression),
        other => other.as_member_expression().is_some_and(|it| it.optional() || is_chain(it.object())),
    }
}

#[cfg(test)]
mod tests {
    use crate::bundle::lowering::tests::{printed, rewritten};

    #[test]
    fn what_is_called_of_an_optional_object_keeps_it_as_this() {
        for (text, expected) in [
            ("(o?.f)(1);", "(o ?? { __proto__: null }).f(1);"),
            ("(o?.[k])(1);", "(o ?? { __proto__: null })[k](1);"),
            ("(o?.f)`x`;", "(o ?? { __proto__: null }).f`x`;"),
            ("(o?.a.f)();", "(o?.a ?? { __proto__: null }).f();"),
            ("(o.a?.b()?.f)();", "(o.a?.b() ?? { __proto__: null }).f();"),
            ("((o?.a)?.f)();", "(o?.a ?? { __proto__: null }).f();"),
            ("(o?.f as any)();", "((o ?? { __proto__: null }).f as any)();"),
            ("(o?.f())();", "(o?.f())();"),
            ("(o?.f)?.();", "(o?.f)?.();"),
            ("o?.f!();", "o?.f!();"),
        ] {
            assert_eq!(rewritten(text), printed(expected), "{text}");
        }
    }

    #[test]
    fn what_is_called_as_a_value_gets_no_this() {
        for (text, expected) in [
            ("(g = o.f)();", "((g = o.f) ?? void 0)();"),
            ("const g = o.f; g`x`;", "const g = o.f; (g ?? void 0)`x`;"),
            ("const g = o.f; g();", "const g = o.f; g();"),
            ("(g = f)();", "(g = f)();"),
            ("(o.g = o.f)();", "(o.g = o.f)();"),
            ("tag`x`;", "tag`x`;"),
        ] {
            assert_eq!(rewritten(text), expected, "{text}");
        }
    }
}
