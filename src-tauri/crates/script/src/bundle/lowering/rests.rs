//! Patterns with `...rest` of an object that the bundler's lowering gets wrong: a rest inside another pattern, a
//! declaration with several of them, and parameters whose defaults name what an earlier pattern binds.
//!
//! The runtime itself has such patterns. So the rest is hidden from the lowering as a property with a key that no
//! object has, and the text of the bundle gets `...` in its place.

use std::collections::HashSet;

use oxc::allocator::Allocator;
use oxc::ast::ast::{
    ArrayAssignmentTarget, ArrayPattern, AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty,
    BindingPattern, BindingProperty, FormalParameters, IdentifierReference, ObjectAssignmentTarget, ObjectPattern,
    Program, PropertyKey, VariableDeclaration,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{Visit, VisitMut, walk, walk_mut};
use oxc::span::SPAN;

/// The key of a hidden rest.
const KEY: &str = "flowglass:rest";

/// Returns the text of a bundle with `...` for the keys of hidden rests and spreads. Columns stay.
pub(crate) fn shown(code: &str) -> String {
    let hidden = format!("\"{KEY}\": ");
    let rest = format!("{:<1$}", "...", hidden.len());
    code.replace(&hidden, &rest)
}

/// The key of a hidden rest, or of a hidden spread.
pub(super) fn key<'a>(ast: &AstBuilder<'a>) -> PropertyKey<'a> {
    PropertyKey::new_string_literal(SPAN, KEY, None, ast)
}

/// Hides the rests that the lowering would get wrong. Returns whether there were any.
pub(super) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator) -> bool {
    let mut rests = Rests { ast: AstBuilder::new(allocator), is_changed: false };
    rests.visit_program(program);
    rests.is_changed
}

struct Rests<'a> {
    ast: AstBuilder<'a>,
    is_changed: bool,
}

impl<'a> VisitMut<'a> for Rests<'a> {
    fn visit_variable_declaration(&mut self, it: &mut VariableDeclaration<'a>) {
        if it.declarations.iter().filter(|one| has_rest(&one.id)).count() > 1 {
            it.declarations.iter_mut().for_each(|one| self.hide(&mut one.id));
        }
        walk_mut::walk_variable_declaration(self, it);
    }

    fn visit_formal_parameters(&mut self, it: &mut FormalParameters<'a>) {
        if names_bound_before(it) {
            it.items.iter_mut().for_each(|one| self.hide(&mut one.pattern));
        }
        walk_mut::walk_formal_parameters(self, it);
    }

    fn visit_object_pattern(&mut self, it: &mut ObjectPattern<'a>) {
        if it.properties.iter().any(|property| has_rest(&property.value)) {
            self.hide_of_object(it);
        }
        walk_mut::walk_object_pattern(self, it);
    }

    fn visit_array_pattern(&mut self, it: &mut ArrayPattern<'a>) {
        if list_has_rest(it) {
            self.hide_of_list(it);
        }
        walk_mut::walk_array_pattern(self, it);
    }

    fn visit_object_assignment_target(&mut self, it: &mut ObjectAssignmentTarget<'a>) {
        if it.properties.iter().any(property_has_rest) {
            self.hide_of_target(it);
        }
        walk_mut::walk_object_assignment_target(self, it);
    }

    fn visit_array_assignment_target(&mut self, it: &mut ArrayAssignmentTarget<'a>) {
        if target_list_has_rest(it) {
            self.hide_of_target_list(it);
        }
        walk_mut::walk_array_assignment_target(self, it);
    }
}

impl<'a> Rests<'a> {
    fn hide(&mut self, pattern: &mut BindingPattern<'a>) {
        match pattern {
            BindingPattern::BindingIdentifier(_) => {}
            BindingPattern::ObjectPattern(it) => self.hide_of_object(it),
            BindingPattern::ArrayPattern(it) => self.hide_of_list(it),
            BindingPattern::AssignmentPattern(it) => self.hide(&mut it.left),
        }
    }

    fn hide_of_object(&mut self, it: &mut ObjectPattern<'a>) {
        it.properties.iter_mut().for_each(|property| self.hide(&mut property.value));
        if let Some(rest) = it.rest.take() {
            let rest = rest.unbox();
            self.is_changed = true;
            it.properties.push(BindingProperty::new(rest.span, key(&self.ast), rest.argument, false, false, &self.ast));
        }
    }

    fn hide_of_list(&mut self, it: &mut ArrayPattern<'a>) {
        it.elements.iter_mut().flatten().for_each(|element| self.hide(element));
        if let Some(rest) = &mut it.rest {
            self.hide(&mut rest.argument);
        }
    }

    fn hide_of_target(&mut self, it: &mut ObjectAssignmentTarget<'a>) {
        for property in &mut it.properties {
            if let AssignmentTargetProperty::AssignmentTargetPropertyProperty(property) = property {
                self.hide_in(&mut property.binding);
            }
        }
        if let Some(rest) = it.rest.take() {
            let rest = rest.unbox();
            self.is_changed = true;
            it.properties.push(AssignmentTargetProperty::new_assignment_target_property_property(
                rest.span,
                key(&self.ast),
                AssignmentTargetMaybeDefault::from(rest.target),
                false,
                &self.ast,
            ));
        }
    }

    fn hide_of_target_list(&mut self, it: &mut ArrayAssignmentTarget<'a>) {
        it.elements.iter_mut().flatten().for_each(|element| self.hide_in(element));
        if let Some(rest) = &mut it.rest {
            self.hide_in_target(&mut rest.target);
        }
    }

    fn hide_in(&mut self, target: &mut AssignmentTargetMaybeDefault<'a>) {
        match target {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(it) => self.hide_in_target(&mut it.binding),
            AssignmentTargetMaybeDefault::ObjectAssignmentTarget(it) => self.hide_of_target(it),
            AssignmentTargetMaybeDefault::ArrayAssignmentTarget(it) => self.hide_of_target_list(it),
            _ => {}
        }
    }

    fn hide_in_target(&mut self, target: &mut AssignmentTarget<'a>) {
        match target {
            AssignmentTarget::ObjectAssignmentTarget(it) => self.hide_of_target(it),
            AssignmentTarget::ArrayAssignmentTarget(it) => self.hide_of_target_list(it),
            _ => {}
        }
    }
}

/// Whether a pattern has the rest of an object, at any depth.
fn has_rest(pattern: &BindingPattern<'_>) -> bool {
    match pattern {
        BindingPattern::BindingIdentifier(_) => false,
        BindingPattern::ObjectPattern(it) => {
            it.rest.is_some() || it.properties.iter().any(|property| has_rest(&property.value))
        }
        BindingPattern::ArrayPattern(it) => list_has_rest(it),
        BindingPattern::AssignmentPattern(it) => has_rest(&it.left),
    }
}

fn list_has_rest(it: &ArrayPattern<'_>) -> bool {
    it.elements.iter().flatten().any(has_rest) || it.rest.as_ref().is_some_and(|rest| has_rest(&rest.argument))
}

fn property_has_rest(property: &AssignmentTargetProperty<'_>) -> bool {
    match property {
        AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(_) => false,
        AssignmentTargetProperty::AssignmentTargetPropertyProperty(it) => may_default_has_rest(&it.binding),
    }
}

fn may_default_has_rest(target: &AssignmentTargetMaybeDefault<'_>) -> bool {
    match target {
        AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(it) => target_has_rest(&it.binding),
        AssignmentTargetMaybeDefault::ObjectAssignmentTarget(it) => object_target_has_rest(it),
        AssignmentTargetMaybeDefault::ArrayAssignmentTarget(it) => target_list_has_rest(it),
        _ => false,
    }
}

fn target_has_rest(target: &AssignmentTarget<'_>) -> bool {
    match target {
        AssignmentTarget::ObjectAssignmentTarget(it) => object_target_has_rest(it),
        AssignmentTarget::ArrayAssignmentTarget(it) => target_list_has_rest(it),
        _ => false,
    }
}

fn object_target_has_rest(it: &ObjectAssignmentTarget<'_>) -> bool {
    it.rest.is_some() || it.properties.iter().any(property_has_rest)
}

fn target_list_has_rest(it: &ArrayAssignmentTarget<'_>) -> bool {
    it.elements.iter().flatten().any(may_default_has_rest)
        || it.rest.as_ref().is_some_and(|rest| target_has_rest(&rest.target))
}

/// Whether a parameter names what the pattern of an earlier one binds that has a rest: the lowering moves that pattern
/// into the body.
fn names_bound_before(parameters: &FormalParameters<'_>) -> bool {
    let mut bound: HashSet<String> = HashSet::new();
    for parameter in &parameters.items {
        if !bound.is_empty() {
            let mut names = Names { of: &bound, is_found: false };
            names.visit_formal_parameter(parameter);
            if names.is_found {
                return true;
            }
        }
        if has_rest(&parameter.pattern) {
            bound.extend(parameter.pattern.get_binding_identifiers().iter().map(|name| name.name.to_string()));
        }
    }
    let Some(rest) = parameters.rest.as_ref().filter(|_| !bound.is_empty()) else { return false };
    let mut names = Names { of: &bound, is_found: false };
    names.visit_formal_parameter_rest(rest);
    names.is_found
}

/// Whether one of these names is read.
struct Names<'n> {
    of: &'n HashSet<String>,
    is_found: bool,
}

impl<'a> Visit<'a> for Names<'_> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.is_found |= self.of.contains(it.name.as_str());
        walk::walk_identifier_reference(self, it);
    }
}

#[cfg(test)]
mod tests {
    use super::shown;
    use crate::bundle::lowering::tests::{printed, rewritten};

    #[test]
    fn rests_that_would_be_lowered_wrong_stay_rests() {
        for text in [
            "const { p: { a = 1, ...r }, b = r, ...s } = o;",
            "const [{ a = 1, ...r }, b = r] = o;",
            "const [a, ...[{ ...r }]] = o;",
            "const { a, ...r } = o, { b, ...s } = r;",
            "for (let { a, ...r } = o, { b, ...s } = r;;) {}",
            "for (const [k, { a = 1, ...r }] of o) {}",
            "({ n: { a = 1, ...r } = {}, ...t.rest } = o);",
            "[{ a = 1, ...r }, ...more] = o;",
            "for ({ n: { ...r }, ...rest } of o) {}",
            "try {} catch ({ e: { a, ...r }, b = r }) {}",
            "const f = ({ a = 1, ...r }, q = r) => q;",
            "const f = ({ a = 1, ...r }, { [a]: q }) => q;",
            "const f = ({ a = 1, ...r }, ...[q = a]) => q;",
        ] {
            let hidden = rewritten(text);
            assert!(!hidden.contains("...r") && !hidden.contains("...s") && !hidden.contains("...t"), "{hidden}");
            assert_eq!(printed(&shown(&hidden)), printed(text));
            assert_eq!(shown(&hidden).len(), hidden.len());
        }
    }
}
