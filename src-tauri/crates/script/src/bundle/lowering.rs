//! Rewrites syntax, before the bundler lowers it, that the bundler or the runtime would get wrong.
//!
//! The bundler lowers to ES2016 and removes dead code. Both have cases in which the result means something else, and
//! the runtime itself knows one label of a loop. Each case is rewritten in the syntax tree into a form that means the
//! same and is lowered correctly. Everything else stays as it is, because the text of a bundle decides whether code is
//! the code that ran (ARCHITECTURE §2.10). Nodes keep their places, so that errors have the author's.

mod calls;
mod labels;
mod namespaces;
mod rests;
mod spreads;
mod unsupported;

pub(crate) use rests::shown;
pub(crate) use unsupported::Unsupported;

use oxc::allocator::Allocator;
use oxc::ast::ast::Program;

/// What the tree of a module had.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    /// Whether [`shown`] must be called for the text of the bundle.
    pub(crate) has_hidden: bool,
    /// The first place that neither the bundler nor the runtime supports.
    pub(crate) unsupported: Option<Unsupported>,
}

/// Rewrites the tree of a module. `has_decorators` tells whether the bundler lowers decorators of this module.
pub(crate) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator, has_decorators: bool) -> Rewritten {
    let unsupported = unsupported::find(program, has_decorators);
    labels::rewrite(program, allocator);
    namespaces::rewrite(program, allocator);
    calls::rewrite(program, allocator);
    let has_rests = rests::rewrite(program, allocator);
    let has_spreads = spreads::rewrite(program, allocator);
    Rewritten { has_hidden: has_rests || has_spreads, unsupported }
}

#[cfg(test)]
mod tests {
    use oxc::allocator::Allocator;
    use oxc::codegen::Codegen;
    use oxc::parser::{ParseOptions, Parser};
    use oxc::span::SourceType;

    use super::rewrite;

    /// A text as it is rewritten, on one line.
    pub(super) fn rewritten(text: &str) -> String {
        parsed_and_printed(text, true)
    }

    /// A text as the tree of it is printed, on one line: `rewritten` of what stays.
    pub(super) fn printed(text: &str) -> String {
        parsed_and_printed(text, false)
    }

    fn parsed_and_printed(text: &str, is_rewritten: bool) -> String {
        let allocator = Allocator::default();
        // As the bundler parses.
        let options = ParseOptions { preserve_parens: false, ..ParseOptions::default() };
        let parsed = Parser::new(&allocator, text, SourceType::ts()).with_options(options).parse();
        assert!(!parsed.panicked, "{text}");
        let mut program = parsed.program;
        if is_rewritten {
            rewrite(&mut program, &allocator, false);
        }
        Codegen::new().build(&program).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_lowered_correctly_stays() {
        for text in [
            "o?.a.f(1);",
            "(o.f)();",
            "const { a = 1, ...rest } = o;",
            "for (const { a = 1, ...rest } of o) {}",
            "({ a, ...rest } = o);",
            "const f = ({ a = 1, ...rest }, q = 7) => [a, rest, q];",
            "a: for (;;) { b: for (;;) { continue a; } }",
            "namespace A { export const one = 1; export const two = one; }",
        ] {
            assert_eq!(rewritten(text), printed(text));
        }
    }
}
