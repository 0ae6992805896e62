//! Finds in the syntax tree the line of a block's definition that makes a field of its output or writes a field of a
//! state: an object's property, a variable that an object takes by its name (`{ name }`), an assignment, or the call
//! that writes.
//!
//! Names a line only where there is one candidate: a guess would be a wrong answer. Must not know what ran.

use std::ops::Range;

use oxc::ast::ast::{
    Argument, ArrowFunctionExpression, AssignmentExpression, AssignmentTarget, BindingPattern, CallExpression,
    Expression, Function, ObjectExpression, ObjectProperty, ObjectPropertyKind, VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan, Span};
use oxc::syntax::scope::ScopeFlags;

use crate::bundle::parsed::parsed;

/// The field to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Made<'m> {
    /// A field of an object.
    Field(&'m str),
    /// A field of a state, by a call on it as `ctx.session.patchState({ … })`.
    Write {
        /// `session`, `user`, `request` and so on.
        scope: &'m str,
        /// Its field.
        field: &'m str,
    },
}

/// The line, from 1, that makes a field in a definition, if there is exactly one. A field that is written to a state is
/// not a field of the output.
pub fn line_of(text: &str, file: &str, range: &Range<usize>, made: Made<'_>) -> Option<u32> {
    let found = parsed(text, file, |program| {
        let mut makers = Makers::new(Span::new(range.start as u32, range.end as u32), made);
        makers.visit_program(program);
        makers.one()
    })??;
    Some(text[..found as usize].matches('\n').count() as u32 + 1)
}

struct Makers<'m> {
    within: Span,
    /// How many functions of the definition are around the current node.
    functions: usize,
    /// How many calls that write to a state are around the current node.
    writes: usize,
    made: Made<'m>,
    /// Where properties, assignments and calls begin.
    found: Vec<u32>,
    /// Where properties begin that only name a variable.
    shorthands: Vec<u32>,
    /// Where variables of the name begin.
    variables: Vec<u32>,
}

impl<'m> Makers<'m> {
    fn new(within: Span, made: Made<'m>) -> Makers<'m> {
        let (found, shorthands, variables) = (Vec::new(), Vec::new(), Vec::new());
        Makers { within, functions: 0, writes: 0, made, found, shorthands, variables }
    }

    fn one(&self) -> Option<u32> {
        match (self.found.as_slice(), self.shorthands.as_slice(), self.variables.as_slice()) {
            ([one], [], _) | ([], [_], [one]) => Some(*one),
            ([], [one], []) => Some(*one),
            _ => None,
        }
    }

    fn is_inside(&self, span: Span) -> bool {
        self.functions > 0 && self.within.start <= span.start && span.end <= self.within.end
    }

    fn enters(&self, span: Span) -> usize {
        usize::from(self.within.start <= span.start && span.end <= self.within.end)
    }
}

/// Whether a call writes to a state: `ctx.session.patchState`.
pub(crate) fn is_write(callee: &Expression<'_>) -> bool {
    let member = callee.get_inner_expression().as_member_expression();
    member.and_then(|member| member.static_property_name()).is_some_and(|name| name.ends_with("State"))
}

/// Whether a call is a method of this scope: `ctx.session.patchState`.
pub(crate) fn is_write_to(callee: &Expression<'_>, scope: &str) -> bool {
    let Some(member) = callee.get_inner_expression().as_member_expression() else { return false };
    let of_scope = member.object().get_inner_expression().as_member_expression();
    is_write(callee) && of_scope.and_then(|of| of.static_property_name()) == Some(scope)
}

/// Whether an object has a property of a name.
fn has_field(object: &ObjectExpression<'_>, field: &str) -> bool {
    object.properties.iter().any(|property| match property {
        ObjectPropertyKind::ObjectProperty(it) => it.key.static_name().is_some_and(|name| name == field),
        ObjectPropertyKind::SpreadProperty(_) => false,
    })
}

impl<'a> Visit<'a> for Makers<'_> {
    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let entered = self.enters(it.span);
        self.functions += entered;
        walk::walk_function(self, it, flags);
        self.functions -= entered;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let entered = self.enters(it.span);
        self.functions += entered;
        walk::walk_arrow_function_expression(self, it);
        self.functions -= entered;
    }

    fn visit_object_property(&mut self, it: &ObjectProperty<'a>) {
        if let Made::Field(field) = self.made
            && self.writes == 0
            && self.is_inside(it.span)
            && it.key.static_name().is_some_and(|name| name == field)
        {
            if it.shorthand { self.shorthands.push(it.span.start) } else { self.found.push(it.span.start) }
        }
        walk::walk_object_property(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let (Made::Field(field), BindingPattern::BindingIdentifier(name)) = (self.made, &it.id)
            && self.is_inside(it.span)
            && name.name == field
        {
            self.variables.push(it.span.start);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        if let (Made::Field(field), AssignmentTarget::StaticMemberExpression(target)) = (self.made, &it.left)
            && self.is_inside(it.span)
            && target.property.name == field
        {
            self.found.push(it.span.start);
        }
        walk::walk_assignment_expression(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if let Made::Write { scope, field } = self.made
            && self.is_inside(it.span)
            && is_write_to(&it.callee, scope)
            && it.arguments.iter().filter_map(Argument::as_expression).any(|argument| {
                match argument.get_inner_expression() {
                    Expression::ObjectExpression(object) => has_field(object, field),
                    Expression::StringLiteral(text) => text.value == field,
                    _ => false,
                }
            })
        {
            self.found.push(it.callee.span().start);
        }
        let entered = usize::from(is_write(&it.callee));
        self.writes += entered;
        walk::walk_call_expression(self, it);
        self.writes -= entered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"const other = { upper: 1 };
const prep = handler({
  name: "prep",
  execute: async (input, ctx) => {
    const upper = input.text.toUpperCase();
    await ctx.session.incState({ total: 1 });
    await ctx.session.pushState("log", upper);
    await ctx.user.patchState({ total: 2 });
    if (input.odd) return { twice: 1 };
    const made = { twice: 2 };
    made.late = 3;
    return {
      city: input.city,
      upper,
      name: "of what it returns",
    };
  },
});
"#;

    fn line(made: Made<'_>) -> Option<u32> {
        line_of(TEXT, "a.ts", &(TEXT.find("const prep").unwrap_or_default()..TEXT.len()), made)
    }

    #[test]
    fn the_line_that_makes_a_field_is_found_if_there_is_only_one() {
        assert_eq!(line(Made::Field("city")), Some(13));
        assert_eq!(line(Made::Field("upper")), Some(5));
        assert_eq!(line(Made::Field("late")), Some(11));
        assert_eq!(line(Made::Field("name")), Some(15), "the name of the block is not made by its code");
        assert_eq!(line(Made::Field("twice")), None);
        assert_eq!(line(Made::Field("nothing")), None);
        assert_eq!(line(Made::Field("total")), None, "what is written to a state is not returned");
        assert_eq!(line_of("const a = `", "a.ts", &(0..11), Made::Field("a")), None);
    }

    #[test]
    fn the_call_that_writes_a_field_of_a_state_is_found() {
        let write = |scope, field| line(Made::Write { scope, field });
        assert_eq!(write("session", "total"), Some(6));
        assert_eq!(write("session", "log"), Some(7));
        assert_eq!(write("user", "total"), Some(8));
        assert_eq!(write("request", "total"), None);
        let cast = "const f = handler({ execute: (i, ctx) => {\n  ctx.session.patchState({ total: 1 } as any);\n} });";
        let total = Made::Write { scope: "session", field: "total" };
        assert_eq!(line_of(cast, "a.ts", &(0..cast.len()), total), Some(2));
    }
}
