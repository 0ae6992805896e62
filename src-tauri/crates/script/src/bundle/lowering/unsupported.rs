//! Finds syntax that neither the bundler nor the runtime supports, so that the error names it and its place.

use oxc::ast::ast::{AccessorProperty, AccessorPropertyType, Decorator, Program};
use oxc::ast_visit::{Visit, walk};

/// The place of unsupported syntax, and a message with an alternative.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unsupported {
    /// Its offset in the source.
    pub(crate) at: u32,
    pub(crate) message: &'static str,
}

const DECORATOR: &str = "decorators are not supported: call the function instead, as in \"const K = decorate(class { … \
                         })\"; those of the older form are, in TypeScript and with \"experimentalDecorators\": true in \
                         tsconfig.json";
const ACCESSOR: &str = "\"accessor\" before a property is not supported: write a getter and a setter";

/// Finds the first unsupported syntax. `has_decorators` tells whether the bundler lowers decorators of this module.
pub(super) fn find(program: &Program<'_>, has_decorators: bool) -> Option<Unsupported> {
    let mut search = Search { has_decorators, first: None };
    search.visit_program(program);
    search.first
}

struct Search {
    has_decorators: bool,
    first: Option<Unsupported>,
}

impl Search {
    fn found(&mut self, at: u32, message: &'static str) {
        if self.first.as_ref().is_none_or(|first| at < first.at) {
            self.first = Some(Unsupported { at, message });
        }
    }
}

impl<'a> Visit<'a> for Search {
    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        if !self.has_decorators {
            self.found(it.span.start, DECORATOR);
        }
        walk::walk_decorator(self, it);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        if it.r#type == AccessorPropertyType::AccessorProperty {
            self.found(it.span.start, ACCESSOR);
        }
        walk::walk_accessor_property(self, it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::parsed::parsed;

    #[test]
    fn the_first_unsupported_syntax_is_found() {
        let found =
            |text: &str, has_decorators| parsed(text, "a.ts", |program| find(program, has_decorators)).flatten();
        let at = |text: &str, has_decorators| found(text, has_decorators).map(|found| found.at);
        assert_eq!(at("class K { a = 1; @d m() {} }", false), Some(17));
        assert_eq!(at("@d class K { @d m() {} }", false), Some(0));
        assert_eq!(at("export class K { m(@d x: string) {} }", false), Some(19));
        assert_eq!(at("@d class K { @d m() {} }", true), None);
        assert_eq!(at("class K { accessor a = 1; }", true), Some(10));
        assert_eq!(at("abstract class K { abstract accessor a: number; accessor = 1; }", false), None);
    }
}
