//! Finds calls of the clock and of random values that the bundler removed from the recorded code, because their results
//! are unused.
//!
//! A probe may use such a result. Code with probes would then make the call, consume the value recorded for the
//! next call, and diverge. The source map of the recorded code has no position for a removed call. Must
//! not depend on queries.

use std::collections::{HashMap, HashSet};

use oxc::ast::ast::{
    ArrowFunctionExpression, CallExpression, Expression, Function, NewExpression, SequenceExpression,
    VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::{Scoping, SemanticBuilder};
use oxc::span::Span;
use oxc::syntax::scope::ScopeFlags;
use oxc::syntax::symbol::SymbolId;
use sourcemap::SourceMap;

use crate::bundle::lines::Lines;
use crate::bundle::parsed::parsed;

/// Replaces a call that returns a number.
const NUMBER: &str = "NaN";

/// The positions in an author's files that the recorded code contains: lines and columns from 0, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct RanPlaces(HashMap<String, Vec<(u32, u32)>>);

impl RanPlaces {
    /// Reads the positions from the source map of the recorded code. Without a readable map there are none.
    pub(crate) fn of(map: &str) -> RanPlaces {
        let mut places: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        let map = SourceMap::from_slice(map.as_bytes()).ok();
        for token in map.iter().flat_map(SourceMap::tokens) {
            let Some(file) = token.get_source() else { continue };
            match places.get_mut(file) {
                Some(known) => known.push(token.get_src()),
                None => drop(places.insert(file.to_owned(), vec![token.get_src()])),
            }
        }
        places.values_mut().for_each(|places| places.sort_unstable());
        RanPlaces(places)
    }

    /// The removed calls of a file, in order: their spans and their replacements. Nested calls are not listed.
    pub(crate) fn left_out(&self, file: &str, text: &str) -> Vec<(Span, &'static str)> {
        let Some(places) = self.0.get(file).filter(|_| text.contains("Math") || text.contains("Date")) else {
            return Vec::new();
        };
        let read = parsed(text, file, |program| {
            let scoping = SemanticBuilder::new().build(program).semantic.into_scoping();
            let around = Around { span: program.span, symbol: None };
            let (functions, calls, sequences) = (vec![around], Vec::new(), HashSet::new());
            let mut reader = Reader { scoping: &scoping, functions, open: vec![0], calls, sequences };
            reader.visit_program(program);
            (reader.functions, reader.calls, reader.sequences)
        });
        let Some((functions, calls, sequences)) = read else { return Vec::new() };
        let lines = Lines::new(text);
        let ran = Ran { text, lines: &lines, places, sequences };
        let draws = drawing(&functions, &calls);
        let mut found: Vec<(Span, &'static str)> = Vec::new();
        for call in &calls {
            let (is_left_out, instead) = match call.callee {
                Callee::Outside { part, instead } => (!ran.has_call(part), instead),
                Callee::Own(symbol) => (draws.contains(&symbol) && !ran.has_call(call.span), NUMBER),
            };
            // A function that was removed completely never ran, but a query's expression may call it.
            if is_left_out && ran.has_any(functions[call.function].span) {
                found.push((call.span, instead));
            }
        }
        found.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        let mut end = 0;
        found.retain(|(span, _)| {
            let is_outermost = span.start >= end;
            end = end.max(span.end);
            is_outermost
        });
        found
    }
}

/// A file's text, and the positions in it that the recorded code contains.
struct Ran<'t> {
    text: &'t str,
    lines: &'t Lines,
    places: &'t [(u32, u32)],
    /// The offsets of comma expressions.
    sequences: HashSet<u32>,
}

impl Ran<'_> {
    fn has_any(&self, span: Span) -> bool {
        self.count(span) > 0
    }

    /// Whether the recorded code contains a call. What remains of a comma expression has a position at its
    /// beginning, so a kept call there has two: its function, and its brackets.
    fn has_call(&self, part: Span) -> bool {
        self.count(part) > usize::from(self.sequences.contains(&part.start))
    }

    /// How many positions of a span the recorded code contains.
    fn count(&self, span: Span) -> usize {
        let (start, end) = (self.lines.place(self.text, span.start), self.lines.place(self.text, span.end));
        let from = self.places.partition_point(|place| *place < start);
        self.places[from..].partition_point(|place| *place < end)
    }
}

/// A function, or the file.
struct Around {
    span: Span,
    /// The symbol by which it is called.
    symbol: Option<SymbolId>,
}

/// A call that the bundler may remove.
struct Call {
    span: Span,
    /// The function around it.
    function: usize,
    callee: Callee,
}

#[derive(Clone, Copy)]
enum Callee {
    /// The clock or a random value. `part` has a position in the source map if the bundler kept the call: the name of a
    /// function, or the beginning of a `new` expression. `instead` replaces a removed call.
    Outside { part: Span, instead: &'static str },
    /// A function of the file.
    Own(SymbolId),
}

/// The functions that read the clock or a random value, themselves or through other functions of the file.
fn drawing(functions: &[Around], calls: &[Call]) -> HashSet<SymbolId> {
    let mut callers: HashMap<SymbolId, Vec<SymbolId>> = HashMap::new();
    let (mut draws, mut open): (HashSet<SymbolId>, Vec<SymbolId>) = (HashSet::new(), Vec::new());
    for call in calls {
        let Some(caller) = functions[call.function].symbol else { continue };
        match call.callee {
            Callee::Own(callee) => callers.entry(callee).or_default().push(caller),
            Callee::Outside { .. } if draws.insert(caller) => open.push(caller),
            Callee::Outside { .. } => {}
        }
    }
    while let Some(callee) = open.pop() {
        for caller in callers.get(&callee).into_iter().flatten() {
            if draws.insert(*caller) {
                open.push(*caller);
            }
        }
    }
    draws
}

struct Reader<'s> {
    scoping: &'s Scoping,
    functions: Vec<Around>,
    /// The functions that enclose the current node, by their numbers: the file first.
    open: Vec<usize>,
    calls: Vec<Call>,
    /// The offsets of comma expressions.
    sequences: HashSet<u32>,
}

impl Reader<'_> {
    fn add(&mut self, span: Span, callee: Callee) {
        let function = self.open.last().copied().unwrap_or(0);
        self.calls.push(Call { span, function, callee });
    }

    fn inside(&mut self, span: Span, symbol: Option<SymbolId>, read: impl FnOnce(&mut Self)) {
        self.open.push(self.functions.len());
        self.functions.push(Around { span, symbol });
        read(self);
        self.open.pop();
    }

    fn symbol_of(&self, callee: &Expression<'_>) -> Option<SymbolId> {
        let Expression::Identifier(name) = callee else { return None };
        self.scoping.get_reference(name.reference_id.get()?).symbol_id()
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        let outside = match &it.callee {
            _ if !it.arguments.is_empty() || it.optional => None,
            Expression::Identifier(name) if name.name == "Date" => Some((name.span, "String(NaN)")),
            Expression::StaticMemberExpression(member) if !member.optional => {
                let of = match &member.object {
                    Expression::Identifier(of) => of.name.as_str(),
                    _ => "",
                };
                let is_drawn = matches!((of, member.property.name.as_str()), ("Math", "random") | ("Date", "now"));
                is_drawn.then_some((member.property.span, NUMBER))
            }
            _ => None,
        };
        match (self.symbol_of(&it.callee), outside) {
            (None, Some((part, instead))) => self.add(it.span, Callee::Outside { part, instead }),
            (Some(symbol), _) => self.add(it.span, Callee::Own(symbol)),
            (None, None) => {}
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_sequence_expression(&mut self, it: &SequenceExpression<'a>) {
        self.sequences.insert(it.span.start);
        walk::walk_sequence_expression(self, it);
    }

    fn visit_new_expression(&mut self, it: &NewExpression<'a>) {
        let is_date = matches!(&it.callee, Expression::Identifier(name) if name.name == "Date");
        if is_date && it.arguments.is_empty() && self.symbol_of(&it.callee).is_none() {
            self.add(it.span, Callee::Outside { part: it.span, instead: "new Date(NaN)" });
        }
        walk::walk_new_expression(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        let symbol = it.id.get_binding_identifier().and_then(|name| name.symbol_id.get());
        match &it.init {
            Some(Expression::ArrowFunctionExpression(arrow)) if symbol.is_some() => {
                self.inside(arrow.span, symbol, |reader| walk::walk_arrow_function_expression(reader, arrow));
            }
            Some(Expression::FunctionExpression(function)) if symbol.is_some() => {
                let flags = ScopeFlags::Function;
                self.inside(function.span, symbol, |reader| walk::walk_function(reader, function, flags));
            }
            _ => walk::walk_variable_declarator(self, it),
        }
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let symbol = it.id.as_ref().and_then(|name| name.symbol_id.get());
        self.inside(it.span, symbol, |reader| walk::walk_function(reader, it, flags));
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.inside(it.span, None, |reader| walk::walk_arrow_function_expression(reader, it));
    }
}
