//! The site table of a source: one row for each place where its code may fail, read from its syntax tree.
//!
//! The table is built at the first error. It is used for the bundle and for the author's files. Must not know the
//! runtime's messages: that is `explained`.

mod rows;

use oxc::ast::ast::Program;
use oxc::semantic::SemanticBuilder;
use oxc::span::GetSpan as _;
use oxc::syntax::symbol::SymbolFlags;

use crate::bundle::lines::Lines;
use crate::bundle::parsed::parsed;

/// What may fail at a site.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A call or a construction.
    Call(Call),
    /// `...` in a list.
    Spread,
    /// The list of a loop.
    ForOf,
    /// `yield*`.
    Delegate,
    /// A destructured list. `init` is its source (`None` for a parameter), `place` the place of the pattern.
    ArrayPattern { init: Option<Taken>, place: Within },
    /// A destructured object: its first property and its source. `has_inner` tells whether there is a pattern inside,
    /// whose value may be the missing one; `list` is the offset of the first list inside.
    ObjectPattern { key: Option<String>, init: Option<Taken>, has_inner: bool, list: Option<u32>, place: Within },
    /// The read of a property. `object_end` is where the object ends; `is_unplaced` tells whether the object begins
    /// with
    /// `this` or a literal, for which the runtime reports no place.
    Member { key: Key, object_end: u32, is_unplaced: bool },
    /// An operator with two operands; `right` is where the second one begins.
    Binary { operator: &'static str, left: String, right: u32, operand: String },
    /// A write to a variable or a property.
    Write { key: Key, is_variable: bool },
    /// The expression after `extends`.
    Heritage,
    /// The removal of a property.
    Delete { key: Key },
    /// A private method or accessor of the class in this row.
    PrivateMethod { name: String, is_static: bool },
}

/// How a call is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Call,
    New,
    /// A template after the function's name.
    Template,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) form: Form,
    /// The offset by which the call is found in another form of the same source.
    pub(crate) anchor: u32,
    /// The offset that the runtime reports, if the source is a marked bundle.
    pub(crate) reported: Option<u32>,
    /// The arguments as Node writes their values.
    pub(crate) values: Vec<String>,
    /// An argument that is spread.
    pub(crate) spread: Option<String>,
    /// The first two arguments, if they are texts in the source.
    pub(crate) texts: Vec<Option<String>>,
}

/// The source of a destructuring.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Taken {
    pub(crate) text: String,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether it is a name or a literal: Node prints those as written, and only the kind of other values.
    pub(crate) is_plain: bool,
}

/// The place of a pattern. The runtime notes no place for patterns, and reports the last place that it noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// Among the parameters of its function.
    Parameters,
    /// In the statement that begins here.
    Statement(u32),
    /// In the head of a loop that begins here, over the list that has this range.
    Loop { statement: u32, start: u32, end: u32 },
}

/// The name of a property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    /// A name that the source contains.
    Known(String),
    /// `Symbol.iterator`.
    Iterator,
    /// A value that is known only while the code runs.
    Computed,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Site {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Where the enclosing function begins; 0 for the file itself.
    pub(crate) function: u32,
    /// Where the enclosing statement begins; 0 if there is none.
    pub(crate) statement: u32,
    /// The offset that Node names.
    pub(crate) place: u32,
    /// The expression that Node names: the callee, the list, the value.
    pub(crate) text: String,
}

impl Site {
    pub(crate) fn contains(&self, at: u32) -> bool {
        self.start <= at && at < self.end
    }

    /// Returns the row of a call.
    pub(crate) fn call(&self) -> Option<&Call> {
        match &self.kind {
            Kind::Call(call) => Some(call),
            _ => None,
        }
    }
}

/// A function of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionSpan {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Where its body begins: the first statement, or the expression.
    pub(crate) body: u32,
}

/// All sites of a source.
pub(crate) struct Sites {
    pub(crate) text: String,
    file: String,
    pub(crate) lines: Lines,
    pub(crate) rows: Vec<Site>,
    functions: Vec<FunctionSpan>,
}

impl Sites {
    /// Reads the table of a source. Returns `None` if it cannot be parsed.
    pub(crate) fn read(text: &str, file: &str) -> Option<Sites> {
        let (rows, functions) = parsed(text, file, |program| rows::read(text, program))?;
        Some(Sites { text: text.to_owned(), file: file.to_owned(), lines: Lines::new(text), rows, functions })
    }

    /// Returns whether a name is that of a variable or a class wherever the source uses it, and in scope at an offset.
    /// The bundler drops an unreachable declaration, and the runtime then reports that the name is not defined. An
    /// expression of a question may also use a name that is not in scope at its statement.
    pub(crate) fn declares(&self, name: &str, at: u32) -> bool {
        let declares = |program: &Program<'_>| {
            let semantic = SemanticBuilder::new().with_build_nodes(true).build(program).semantic;
            let (scoping, nodes) = (semantic.scoping(), semantic.nodes());
            let wanted = SymbolFlags::BlockScopedVariable | SymbolFlags::Class;
            let is_in_scope = |id| {
                let scope = nodes.kind(scoping.get_node_id(scoping.symbol_scope_id(id))).span();
                scope.start <= at && at < scope.end
            };
            let is_meant = |id| {
                let flags = scoping.symbol_flags(id);
                scoping.symbol_name(id) == name
                    && flags.intersects(wanted)
                    && !flags.contains(SymbolFlags::Ambient)
                    && is_in_scope(id)
            };
            let is_unresolved =
                scoping.root_unresolved_references().keys().any(|unresolved| unresolved.as_str() == name);
            !is_unresolved && scoping.symbol_ids().any(is_meant)
        };
        parsed(&self.text, &self.file, declares).unwrap_or(false)
    }

    /// Returns the next function that begins at an offset or after it.
    pub(crate) fn function_from(&self, at: u32) -> Option<FunctionSpan> {
        self.functions.iter().filter(|function| function.start >= at).min_by_key(|function| function.start).copied()
    }

    /// Returns the innermost function around an offset; `None` for code of no function.
    pub(crate) fn function_around(&self, at: u32) -> Option<FunctionSpan> {
        let around = self.functions.iter().filter(|function| function.start <= at && at < function.end);
        around.min_by_key(|function| function.end - function.start).copied()
    }
}

/// The place that the runtime reports for a frame, and the function of that frame. The failed site is always in this
/// function.
#[derive(Clone, Copy)]
pub(crate) struct Here<'s> {
    pub(crate) sites: &'s Sites,
    pub(crate) at: u32,
    /// `None` for code of no function.
    pub(crate) function: Option<FunctionSpan>,
}

impl<'s> Here<'s> {
    /// The sites of the function itself, without those of functions inside.
    fn own(&self) -> impl Iterator<Item = &'s Site> + use<'s> {
        let start = self.function.map_or(0, |function| function.start);
        self.sites.rows.iter().filter(move |site| site.function == start)
    }

    /// Returns the innermost site around the place that passes a test.
    pub(crate) fn innermost(&self, is_meant: impl Fn(&Site) -> bool) -> Option<&'s Site> {
        let around = self.own().filter(|site| site.contains(self.at) && is_meant(site));
        around.min_by_key(|site| site.end - site.start)
    }

    /// Returns the next site after the place: the runtime reports the place before, or that of the function, if a
    /// statement begins with a literal.
    pub(crate) fn next(&self, is_meant: impl Fn(&Site) -> bool) -> Option<&'s Site> {
        self.own().filter(|site| site.start >= self.at && is_meant(site)).min_by_key(|site| site.start)
    }

    /// Returns the only site of the function that passes a test.
    pub(crate) fn only(&self, is_meant: impl Fn(&Site) -> bool) -> Option<&'s Site> {
        let mut found = self.own().filter(|site| is_meant(site));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Returns the only site that passes a test, in the statement that begins at the place.
    pub(crate) fn only_of_statement(&self, is_meant: impl Fn(&Site) -> bool) -> Option<&'s Site> {
        self.only(|site| site.statement == self.at && is_meant(site))
    }

    /// Returns the pattern that has failed, if the place tells which one.
    pub(crate) fn pattern(&self, is_meant: impl Fn(&Site) -> bool) -> Option<&'s Site> {
        let within = |site: &Site| match site.kind {
            Kind::ArrayPattern { place, .. } | Kind::ObjectPattern { place, .. } if is_meant(site) => Some(place),
            _ => None,
        };
        let is_before_body = self.function.is_some_and(|function| self.at < function.body);
        let is_here = |site: &Site| match within(site) {
            Some(Within::Statement(statement) | Within::Loop { statement, .. }) => statement == self.at,
            Some(Within::Parameters) => is_before_body,
            _ => false,
        };
        let of_loop = self.own().filter_map(|site| match within(site) {
            Some(Within::Loop { start, end, .. }) if start <= self.at && self.at < end => Some((end - start, site)),
            _ => None,
        });
        let of_loop = of_loop.min_by_key(|(length, _)| *length).map(|(_, site)| site);
        self.only(is_here).or(of_loop)
    }
}
