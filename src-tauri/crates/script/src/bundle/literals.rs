//! The texts that the code of a definition can produce: its literals and the parts of its templates, read from the
//! syntax tree.
//!
//! Excludes texts that the code only compares with or uses as property names. Must not depend on a run.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use oxc::ast::ast::{
    Argument, ArrowFunctionExpression, BinaryExpression, BindingPattern, CallExpression, ComputedMemberExpression,
    Declaration, Expression, FormalParameters, Function, IdentifierReference, ObjectProperty, ObjectPropertyKind,
    Program, PropertyKey, Statement, StringLiteral, SwitchCase, TSType, TemplateElement, VariableDeclaration,
};
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan, Span};
use oxc::syntax::scope::ScopeFlags;

use crate::bundle::definition::{first_text, name_of, options_in};
use crate::bundle::makers::{Made, is_write, is_write_to};
use crate::bundle::parsed::parsed;

/// Methods that only search for their argument, or split at it.
const LOOKING: [&str; 10] =
    ["includes", "startsWith", "endsWith", "indexOf", "lastIndexOf", "split", "match", "search", "has", "get"];

/// A text of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    pub text: String,
    /// Its byte range in the file.
    pub at: Range<usize>,
    /// Whether it is an option of the block outside any function, such as a fixed prompt.
    pub is_option: bool,
    /// Whether it is inside the only expression that produces the queried value.
    pub is_of_made: bool,
}

/// The texts that a definition can produce, including those of constants and functions of the file that it uses.
/// Empty if the definition reads the value that `made` names from a parameter of its functions.
pub fn literals_in(
    text: &str,
    file: &str,
    (name, range): (&str, &Range<usize>),
    made: Option<Made<'_>>,
) -> Vec<Literal> {
    let own = Span::new(range.start as u32, range.end as u32);
    let found = parsed(text, file, |program| {
        let mut names = Names::default();
        names.read(program);
        let mut literals = Literals::new((name, own), names.reached(own), made);
        literals.visit_program(program);
        literals.finish()
    });
    found.unwrap_or_default()
}

/// The declarations of a file, and the uses of names.
#[derive(Default)]
struct Names {
    declared: HashMap<String, Span>,
    used: Vec<(u32, String)>,
}

impl Names {
    fn read(&mut self, program: &Program<'_>) {
        for statement in &program.body {
            match statement {
                Statement::VariableDeclaration(it) => self.variables(it),
                Statement::FunctionDeclaration(it) => self.function(it),
                Statement::ExportDeclaration(it) => match &it.declaration {
                    Declaration::VariableDeclaration(it) => self.variables(it),
                    Declaration::FunctionDeclaration(it) => self.function(it),
                    _ => {}
                },
                _ => {}
            }
        }
        self.visit_program(program);
        self.used.sort_by_key(|(at, _)| *at);
    }

    fn variables(&mut self, it: &VariableDeclaration<'_>) {
        for one in &it.declarations {
            let (BindingPattern::BindingIdentifier(name), Some(value)) = (&one.id, &one.init) else { continue };
            if let Some(content) = content_of_resource(value.get_inner_expression()) {
                self.declared.insert(name.name.to_string(), content);
                continue;
            }
            // A call with options or functions creates another block.
            let is_made = match value.get_inner_expression() {
                Expression::CallExpression(call) => call.arguments.iter().any(|argument| {
                    let given = argument.as_expression().map(Expression::get_inner_expression);
                    given.is_some_and(|given| is_function(given) || matches!(given, Expression::ObjectExpression(_)))
                }),
                _ => false,
            };
            if !is_made {
                self.declared.insert(name.name.to_string(), value.span());
            }
        }
    }

    fn function(&mut self, it: &Function<'_>) {
        if let Some(name) = &it.id {
            self.declared.insert(name.name.to_string(), it.span);
        }
    }

    /// The declarations that a span uses, and those that they use.
    fn reached(&self, own: Span) -> Vec<Span> {
        let (mut seen, mut reached, mut open) = (HashSet::new(), Vec::new(), vec![own]);
        while let Some(span) = open.pop() {
            let first = self.used.partition_point(|(at, _)| *at < span.start);
            for (_, name) in self.used[first..].iter().take_while(|(at, _)| *at < span.end) {
                let Some(found) = self.declared.get(name).filter(|_| seen.insert(name)) else { continue };
                // The definition itself may be such a declaration, or inside of one.
                if found.start <= own.start && own.end <= found.end {
                    continue;
                }
                reached.push(*found);
                open.push(*found);
            }
        }
        reached
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.used.push((it.span.start, it.name.to_string()));
    }
}

/// The text of a resource that stands in its definition: blocks read it until they write another one.
fn content_of_resource(value: &Expression<'_>) -> Option<Span> {
    let Expression::CallExpression(call) = value else { return None };
    let Expression::Identifier(callee) = call.callee.get_inner_expression() else { return None };
    if callee.name != "defineResource" {
        return None;
    }
    options_in(call).flat_map(|options| &options.properties).find_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(it) if it.key.static_name()? == "content" => Some(it.value.span()),
        _ => None,
    })
}

fn is_function(it: &Expression<'_>) -> bool {
    matches!(it, Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_))
}

struct Literals<'m> {
    /// The name of the block.
    name: &'m str,
    own: Span,
    reached: Vec<Span>,
    made: Option<Made<'m>>,
    /// How many functions of the definition enclose the current node.
    functions: usize,
    /// How many state-writing calls enclose the current node: all, and those of the queried scope.
    writes: (usize, usize),
    parameters: HashSet<String>,
    /// The expressions that produce the queried value, each with the name from which it reads.
    makers: Vec<(Span, Option<String>)>,
    found: Vec<Literal>,
}

impl<'m> Literals<'m> {
    fn new((name, own): (&'m str, Span), reached: Vec<Span>, made: Option<Made<'m>>) -> Literals<'m> {
        let (parameters, makers, found) = (HashSet::new(), Vec::new(), Vec::new());
        Literals { name, own, reached, made, functions: 0, writes: (0, 0), parameters, makers, found }
    }

    fn finish(mut self) -> Vec<Literal> {
        if let [(span, read_from)] = self.makers.as_slice() {
            if read_from.as_ref().is_some_and(|name| self.parameters.contains(name)) {
                return Vec::new();
            }
            for one in &mut self.found {
                one.is_of_made = span.start as usize <= one.at.start && one.at.end <= span.end as usize;
            }
        }
        self.found
    }

    fn is_own(&self, span: Span) -> bool {
        self.own.start <= span.start && span.end <= self.own.end
    }

    fn add(&mut self, text: &str, span: Span) {
        let is_reached = self.reached.iter().any(|one| one.start <= span.start && span.end <= one.end);
        if text.is_empty() || !self.is_own(span) && !is_reached {
            return;
        }
        let is_option = self.functions == 0 && !is_reached;
        let at = span.start as usize..span.end as usize;
        self.found.push(Literal { text: text.to_owned(), at, is_option, is_of_made: false });
    }

    /// Whether a property of this name would produce the queried value.
    fn makes(&self, name: &str, span: Span) -> bool {
        let is_named = match self.made {
            Some(Made::Field(field)) => field == name && self.writes.0 == 0,
            Some(Made::Write { field, .. }) => field == name && self.writes.1 > 0,
            None => false,
        };
        is_named && self.functions > 0 && self.is_own(span)
    }
}

/// The name that a chain of plain properties begins with: `i` of `i.customer.tier`.
fn read_from(it: &Expression<'_>) -> Option<String> {
    let mut here = it.get_inner_expression();
    let mut is_member = false;
    loop {
        match here {
            Expression::StaticMemberExpression(member) => here = member.object.get_inner_expression(),
            Expression::Identifier(name) => return is_member.then(|| name.name.to_string()),
            _ => return None,
        }
        is_member = true;
    }
}

impl<'a> Visit<'a> for Literals<'_> {
    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let entered = usize::from(self.is_own(it.span));
        self.functions += entered;
        walk::walk_function(self, it, flags);
        self.functions -= entered;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let entered = usize::from(self.is_own(it.span));
        self.functions += entered;
        walk::walk_arrow_function_expression(self, it);
        self.functions -= entered;
    }

    fn visit_formal_parameters(&mut self, it: &FormalParameters<'a>) {
        for one in &it.items {
            if let BindingPattern::BindingIdentifier(name) = &one.pattern
                && self.is_own(one.span)
            {
                self.parameters.insert(name.name.to_string());
            }
        }
        walk::walk_formal_parameters(self, it);
    }

    fn visit_object_property(&mut self, it: &ObjectProperty<'a>) {
        if !it.shorthand && it.key.static_name().is_some_and(|name| self.makes(&name, it.span)) {
            self.makers.push((it.value.span(), read_from(&it.value)));
        }
        walk::walk_object_property(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        // Another block, defined inside a chain or on the same line.
        let is_plain = matches!(it.callee.get_inner_expression(), Expression::Identifier(_));
        if is_plain && self.functions == 0 && self.is_own(it.span) {
            let named = options_in(it).find_map(name_of).or_else(|| first_text(it));
            if named.is_some_and(|named| named != self.name) {
                return;
            }
        }
        self.visit_expression(&it.callee);
        let is_looking = it
            .callee
            .get_inner_expression()
            .as_member_expression()
            .is_some_and(|member| member.static_property_name().is_some_and(|name| LOOKING.contains(&name)));
        let of_scope = match self.made {
            Some(Made::Write { scope, .. }) => is_write_to(&it.callee, scope),
            _ => false,
        };
        let entered = (usize::from(is_write(&it.callee)), usize::from(of_scope));
        self.writes = (self.writes.0 + entered.0, self.writes.1 + entered.1);
        for argument in &it.arguments {
            let is_text = matches!(argument, Argument::StringLiteral(_));
            if !(is_looking && is_text) {
                self.visit_argument(argument);
            }
        }
        self.writes = (self.writes.0 - entered.0, self.writes.1 - entered.1);
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        for side in [&it.left, &it.right] {
            let is_text = matches!(side.get_inner_expression(), Expression::StringLiteral(_));
            if !(is_text && (it.operator.is_equality() || it.operator.is_compare())) {
                self.visit_expression(side);
            }
        }
    }

    fn visit_switch_case(&mut self, it: &SwitchCase<'a>) {
        it.consequent.iter().for_each(|statement| self.visit_statement(statement));
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        self.visit_expression(&it.object);
        if !matches!(it.expression, Expression::StringLiteral(_)) {
            self.visit_expression(&it.expression);
        }
    }

    fn visit_property_key(&mut self, _: &PropertyKey<'a>) {}

    fn visit_ts_type(&mut self, _: &TSType<'a>) {}

    fn visit_string_literal(&mut self, it: &StringLiteral<'a>) {
        self.add(it.value.as_str(), it.span);
    }

    fn visit_template_element(&mut self, it: &TemplateElement<'a>) {
        if let Some(text) = &it.value.cooked {
            self.add(text.as_str(), it.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"const GREETING = "Good day to you";
const word = (n: number) => `turn number ${n} of many`;
const other = handler({ name: "other", execute: () => "of another block" });
const pick = handler({
  name: "pick",
  prompt: "a fixed prompt",
  execute: (i: any, c: any) => {
    if (i.kind === "compared" || i.list.includes("looked for")) c.session.patchState({ tier: "silver" });
    const hello = `${GREETING}, ${i["key"]}!`;
    return { tier: i.tier, level: i.tier === "gold" ? "high" : "low", said: word(i.n), hello };
  },
});
const all = chain("all").step(handler({ name: "inner", execute: () => ({ v: "inside" }) }))
  .map(() => ({ v: "mapped" }));
"#;

    fn texts(name: &str, begins: &str, made: Option<Made<'_>>) -> Vec<String> {
        let start = TEXT.find(begins).unwrap_or_default();
        let end = TEXT[start..].find("\n});\n").filter(|_| name == "pick").map_or(TEXT.len(), |at| start + at + 4);
        let found = literals_in(TEXT, "a.ts", (name, &(start..end)), made);
        let mark = |one: &Literal| match (one.is_of_made, one.is_option) {
            (true, _) => "=",
            (_, true) => "?",
            _ => "",
        };
        found.iter().map(|one| format!("{}{}", mark(one), one.text)).collect()
    }

    #[test]
    fn texts_that_are_only_compared_with_do_not_count() {
        let all = texts("pick", "const pick", None);
        let expected = [
            "Good day to you",
            "turn number ",
            " of many",
            "?pick",
            "?a fixed prompt",
            "silver",
            ", ",
            "!",
            "high",
            "low",
        ];
        assert_eq!(all, expected);
        assert_eq!(texts("all", "const all", None), ["?all", "mapped"]);
    }

    #[test]
    fn a_field_read_from_a_parameter_is_not_a_text_of_the_code() {
        assert_eq!(texts("pick", "const pick", Some(Made::Field("tier"))), [""; 0]);
        let write = texts("pick", "const pick", Some(Made::Write { scope: "session", field: "tier" }));
        assert!(write.contains(&"=silver".to_owned()) && write.contains(&"high".to_owned()), "{write:?}");
        let level = texts("pick", "const pick", Some(Made::Field("level")));
        assert!(level.contains(&"=high".to_owned()) && level.contains(&"silver".to_owned()), "{level:?}");
    }
    #[test]
    fn the_text_of_a_resource_is_a_text_of_the_blocks_that_use_it() {
        let text = r#"const page = defineResource({ scope: "session", stateSchema, content: "Hello to you" });
const resources = { page };
const read = handler({ name: "read", resources, execute: (_, c) => c.resources.page.readContent() });
const other = handler({ name: "other", execute: () => 1 });
"#;
        let texts = |name: &str| -> Vec<String> {
            let start = text.find(&format!("handler({{ name: \"{name}\"")).unwrap_or_default();
            let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
            literals_in(text, "a.ts", (name, &(start..end)), None).into_iter().map(|one| one.text).collect()
        };
        assert_eq!(texts("read"), ["Hello to you", "read"]);
        assert_eq!(texts("other"), ["other"]);
    }
}
