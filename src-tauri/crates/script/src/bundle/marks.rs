//! Marks in the calls of an author's code, so that the runtime's places tell nested calls apart.
//!
//! QuickJS notes places while it parses: for a call that fails, the last place inside its arguments. In `f(g(1))`
//! that is the `1` for both calls. So the last argument of each call becomes `true?argument:0*0`. The parser notes the
//! place of the second `0`, and its optimizer removes the branch: the bytecode is the same, and each call has a place
//! of its own. The source map resolves that place to the call.
//!
//! For a value that is taken apart, looped over or spread QuickJS notes nothing, and reports what it noted before: so
//! `if(false)0* 0;` comes before each such statement. A statement that is a body without braces gets braces.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use oxc::allocator::ArenaVec;
use oxc::ast::ast::{
    Argument, BindingPattern, CallExpression, CatchClause, NewExpression, Statement, TaggedTemplateExpression,
};
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan as _, Span};
use sourcemap::{SourceMap, SourceMapBuilder, Token};

use crate::bundle::embedded::ASYNC;
use crate::bundle::lines::Lines;
use crate::bundle::parsed::parsed;
use crate::bundle::printed::{after, anchor};
use crate::bundle::trace::is_embedded;
use crate::bundle::unplaced::{bodies, is_unplaced, without_labels};

pub(crate) const BEFORE: &str = "true?";
const AFTER: &str = ":0* 0";
const EMPTY: &str = " ";
/// Before a statement that takes a value apart, loops over a list or spreads one.
const STATEMENT: &str = "if(false)0* 0;";
/// Around such a statement that is the body of another one.
const BODY: &str = "{/*$*/if(false)0* 0;";
const BODY_END: &str = "/*$*/}";
/// Tells an error that the author's code caught, so that it gets Node's words first. The name and `);` follow.
const CAUGHT: &str = "$caught(";

/// Adds the marks to a bundle, and moves the places of its source map accordingly.
pub(crate) fn mark(code: &str, map: &str) -> (String, String) {
    let unchanged = || (code.to_owned(), map.to_owned());
    let Ok(map) = SourceMap::from_slice(map.as_bytes()) else { return unchanged() };
    let lines = Lines::new(code);
    let is_own = |at: u32| {
        let (line, column) = lines.place(code, at);
        let source = map.lookup_token(line, column).and_then(|token| token.get_source());
        source.is_some_and(|source| !is_embedded(source) && !source.contains("node_modules/"))
    };
    let mut inserted: Vec<Inserted> = Vec::new();
    let read = parsed(code, "bundle.mjs", |program| {
        let mut found = Marks { code, found: Vec::new() };
        found.visit_program(program);
        found.found
    });
    let mut has_caught = false;
    for Marked { anchor, place } in read.unwrap_or_default() {
        let mut insert = |at, text: Cow<'static, str>, callee| inserted.push(Inserted { at, text, callee });
        match place {
            _ if !is_own(anchor) => {}
            Place::Empty(at) => insert(at, EMPTY.into(), Some(anchor)),
            Place::Bare => insert(anchor, "".into(), Some(anchor)),
            Place::Last(start, end) => {
                insert(start, BEFORE.into(), None);
                insert(end, AFTER.into(), Some(anchor));
            }
            Place::Before(at) => insert(at, STATEMENT.into(), Some(anchor)),
            Place::Body(start, end) => {
                insert(start, BODY.into(), Some(anchor));
                insert(end, BODY_END.into(), None);
            }
            Place::Caught(at, name) => {
                has_caught = true;
                insert(at, format!("{CAUGHT}{name});").into(), None);
            }
        }
    }
    // Of arguments that end together, the inner one ends first; those that begin together have the same sign.
    inserted.sort_by_key(|inserted| inserted.at);
    let mut marked = String::with_capacity(code.len() + inserted.len() * 5);
    let mut done = 0;
    for Inserted { at, text, .. } in &inserted {
        marked.push_str(&code[done..*at as usize]);
        marked.push_str(text);
        done = *at as usize;
    }
    marked.push_str(&code[done..]);
    if has_caught {
        // At the end, where no line changes its number.
        marked.push_str(&format!("\nimport {{ caught as $caught }} from \"{ASYNC}\";\n"));
    }
    let map = moved(code, &lines, &map, &inserted);
    (marked, map)
}

/// Returns code as it was marked before statements had marks.
pub(crate) fn without_statements(code: &str) -> String {
    code.replace(BODY, "").replace(BODY_END, "").replace(STATEMENT, "")
}

/// Removes the marks from a function's source.
pub(crate) fn without(source: &str) -> String {
    let mut plain = without_statements(source).replace(BEFORE, "").replace(AFTER, "").replace("( )", "()");
    while let Some(start) = plain.find(CAUGHT) {
        let end = plain[start..].find(");").map_or(plain.len(), |length| start + length + 2);
        plain.replace_range(start..end, "");
    }
    plain
}

/// Returns the offset that the runtime reports for a call in marked code; `None` if the call is not marked.
pub(crate) fn reported(code: &str, callee_end: u32, last: Option<Span>) -> Option<u32> {
    let end = match last {
        Some(argument) => argument.end,
        None => after(code, callee_end, "(") + 1 + EMPTY.len() as u32,
    };
    let sign = if last.is_some() { AFTER } else { EMPTY };
    let is_marked = code.get(..end as usize).is_some_and(|before| before.ends_with(sign));
    is_marked.then(|| if last.is_some() { end - 1 } else { end })
}

/// Returns where the mark of a call begins, or what is marked of a statement, if an offset is the one that the runtime
/// reports for it.
pub(crate) fn begin(code: &str, at: usize) -> Option<usize> {
    if code.get(..at + 2).is_some_and(|before| before.ends_with(STATEMENT)) {
        return Some(at + 2);
    }
    let is_empty = code.get(..at)?.ends_with("( ") && code.get(at..)?.starts_with(')');
    if is_empty {
        return Some(at - EMPTY.len());
    }
    code.get(..at + 1)?.ends_with(AFTER).then(|| at + 1 - AFTER.len())
}

/// A text that is put into a bundle.
struct Inserted {
    at: u32,
    text: Cow<'static, str>,
    /// Where the callee is, if the text is the end of a call's mark.
    callee: Option<u32>,
}

/// A call in a bundle that has no marks yet.
struct Marked {
    /// Where the callee is.
    anchor: u32,
    place: Place,
}

/// Where a mark goes.
enum Place {
    /// Between the brackets of a call without arguments.
    Empty(u32),
    /// Around the last argument.
    Last(u32, u32),
    /// Before a statement.
    Before(u32),
    /// Around a statement.
    Body(u32, u32),
    /// None: of a construction without arguments the runtime reports the class.
    Bare,
    /// At the beginning of what catches an error of this name.
    Caught(u32, String),
}

struct Marks<'c> {
    code: &'c str,
    found: Vec<Marked>,
}

impl Marks<'_> {
    fn add(&mut self, anchor: u32, callee_end: u32, arguments: &[Argument<'_>]) {
        let place = match arguments.last() {
            Some(Argument::SpreadElement(spread)) => Place::Last(spread.argument.span().start, spread.span.end),
            Some(last) => Place::Last(last.span().start, last.span().end),
            None => Place::Empty(after(self.code, callee_end, "(") + 1),
        };
        self.found.push(Marked { anchor, place });
    }
}

impl<'a> Visit<'a> for Marks<'_> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.add(anchor(&it.callee), it.callee.span().end, &it.arguments);
        walk::walk_call_expression(self, it);
    }

    fn visit_new_expression(&mut self, it: &NewExpression<'a>) {
        let class = it.callee.span();
        if it.arguments.is_empty() {
            self.found.push(Marked { anchor: class.start, place: Place::Bare });
        } else {
            self.add(class.start, class.end, &it.arguments);
        }
        walk::walk_new_expression(self, it);
    }

    fn visit_tagged_template_expression(&mut self, it: &TaggedTemplateExpression<'a>) {
        if let Some(last) = it.quasi.expressions.last() {
            let place = Place::Last(last.span().start, last.span().end);
            self.found.push(Marked { anchor: anchor(&it.tag), place });
        }
        walk::walk_tagged_template_expression(self, it);
    }

    fn visit_statements(&mut self, it: &ArenaVec<'a, Statement<'a>>) {
        // A label stays beside its loop.
        let labelled = it.iter().map(|statement| (statement.span().start, without_labels(statement)));
        for (at, statement) in labelled.filter(|(_, statement)| is_unplaced(statement)) {
            self.found.push(Marked { anchor: statement.span().start, place: Place::Before(at) });
        }
        walk::walk_statements(self, it);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        for Span { start, end, .. } in bodies(it).into_iter().filter(|body| is_unplaced(body)).map(|body| body.span()) {
            self.found.push(Marked { anchor: start, place: Place::Body(start, end) });
        }
        walk::walk_statement(self, it);
    }

    fn visit_catch_clause(&mut self, it: &CatchClause<'a>) {
        if let Some(BindingPattern::BindingIdentifier(name)) = it.param.as_ref().map(|param| &param.pattern) {
            let place = Place::Caught(it.body.span.start + 1, name.name.to_string());
            self.found.push(Marked { anchor: name.span.start, place });
        }
        walk::walk_catch_clause(self, it);
    }
}

/// Returns a map whose places in the bundle are moved by texts that were inserted, in order. The place that the runtime
/// reports for a marked call becomes that of the call.
fn moved(code: &str, lines: &Lines, map: &SourceMap, inserted: &[Inserted]) -> String {
    let place = |at: u32| lines.place(code, at);
    let moves: Vec<((u32, u32), u32)> =
        inserted.iter().map(|it| (place(it.at), it.text.encode_utf16().count() as u32)).collect();
    let move_by = |(line, column): (u32, u32)| {
        let from = moves.partition_point(|((at, _), _)| *at < line);
        let here = moves[from..].iter().take_while(|((at, before), _)| *at == line && *before <= column);
        (line, column + here.map(|(_, length)| length).sum::<u32>())
    };
    let of = |token: Token<'_>| (token.get_src(), token.get_src_id());
    let mut places: BTreeMap<(u32, u32), ((u32, u32), u32)> = BTreeMap::new();
    for token in map.tokens() {
        places.insert(move_by(token.get_dst()), of(token));
    }
    let mut sources: HashMap<u32, Lines> = HashMap::new();
    for Inserted { at, text, callee } in inserted {
        let Some(callee) = *callee else { continue };
        let (line, column) = place(callee);
        let Some(called) = map.lookup_token(line, column) else { continue };
        let is_new = code.get(..callee as usize).is_some_and(|before| before.trim_end().ends_with("new"));
        let exact = if is_new { new_before(map, &mut sources, called) } else { None };
        let old = place(*at);
        let (line, after) = move_by(old);
        let reported = match &**text {
            AFTER => after - 1,
            STATEMENT | BODY => after - 2,
            _ => after,
        };
        // What follows the mark has the place that it had.
        if let Some(before) = map.lookup_token(old.0, old.1).filter(|_| !text.is_empty()) {
            places.entry((line, reported + 1)).or_insert(of(before));
        }
        places.insert((line, reported), (exact.unwrap_or(called.get_src()), called.get_src_id()));
    }
    let mut made = SourceMapBuilder::new(None);
    for ((line, column), ((src_line, src_column), source)) in places {
        made.add(line, column, src_line, src_column, map.get_source(source), None, false);
    }
    for (id, source) in map.sources().enumerate() {
        let made_id = made.add_source(source);
        made.set_source_contents(made_id, map.get_source_contents(id as u32));
    }
    crate::bundle::code::as_json(made)
}

/// Returns the place of the `new` before a class in its source. The map's own place of `new` is wrong if the bundler
/// moved the construction to where its value is used.
fn new_before(map: &SourceMap, sources: &mut HashMap<u32, Lines>, class: Token<'_>) -> Option<(u32, u32)> {
    let text = map.get_source_contents(class.get_src_id())?;
    let lines = sources.entry(class.get_src_id()).or_insert_with(|| Lines::new(text));
    let at = lines.offset(text, class.get_src_line(), class.get_src_col())?;
    let before = text.get(..at as usize)?.trim_end().strip_suffix("new")?;
    Some(lines.place(text, before.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks a text that is its own source, of one line.
    fn marked_map(text: &str) -> (String, SourceMap) {
        let mut map = SourceMapBuilder::new(None);
        for column in 0..text.len() as u32 {
            map.add(0, column, 0, column, Some("flows/main.ts"), None, false);
        }
        map.set_source_contents(0, Some(text));
        let (marked, map) = mark(text, &crate::bundle::code::as_json(map));
        (marked, SourceMap::from_slice(map.as_bytes()).expect("a map"))
    }

    /// As [`marked_map`]; returns the source's column of every reported place.
    fn marked(text: &str) -> (String, Vec<u32>) {
        let (marked, map) = marked_map(text);
        let reported = (0..marked.len()).filter(|at| begin(&marked, *at).is_some());
        let columns = reported.map(|at| map.lookup_token(0, at as u32).expect("a place").get_src_col()).collect();
        (marked, columns)
    }

    #[test]
    fn the_mark_of_a_call_has_the_place_of_the_call() {
        assert_eq!(marked("f(1)"), ("f(true?1:0* 0)".to_owned(), vec![0]));
        assert_eq!(marked("a.b()"), ("a.b( )".to_owned(), vec![2]));
        assert_eq!(marked("f(g(1))"), ("f(true?g(true?1:0* 0):0* 0)".to_owned(), vec![2, 0]));
        assert_eq!(marked("f(g())"), ("f(true?g( ):0* 0)".to_owned(), vec![2, 0]));
        assert_eq!(marked("throw new E(...l)"), ("throw new E(...true?l:0* 0)".to_owned(), vec![6]));
    }

    #[test]
    fn the_class_of_a_construction_without_arguments_has_the_place_of_new() {
        let (marked, map) = marked_map("throw new E()");
        assert_eq!(marked, "throw new E()");
        let place = |at| map.lookup_token(0, at).map(|token| token.get_src_col());
        assert_eq!((place(6), place(10), place(11)), (Some(6), Some(6), Some(11)));
    }

    #[test]
    fn a_body_that_may_fail_at_no_place_gets_braces() {
        for (text, expected) in [
            ("if(n)[a]=b;else c();", "if(n){/*$*/if(false)0* 0;[a]=b;/*$*/}else c( );"),
            ("for(x of y)({z}=x);", "if(false)0* 0;for(x of y){/*$*/if(false)0* 0;({z}=x);/*$*/}"),
            ("l:for(const[a] of b)continue l;", "if(false)0* 0;l:for(const[a] of b)continue l;"),
        ] {
            assert_eq!((marked(text).0.as_str(), without(expected).as_str()), (expected, text));
        }
        assert_eq!(marked("if(n)[a]=b;").1, vec![5]);
    }

    #[test]
    fn columns_of_the_runtime_are_bytes() {
        let text = "a\nä🎉.b";
        assert_eq!(Lines::new(text).column(text, 2, 1), Some(1));
        assert_eq!(Lines::new(text).column(text, 2, 8), Some(5));
        assert_eq!(Lines::new(text).column(text, 2, 2), None);
        assert_eq!(Lines::new(text).column(text, 9, 1), None);
    }

    #[test]
    fn other_places_stay() {
        let (marked, map) = marked_map("f(g(1), h()).i");
        assert_eq!(without(&marked), "f(g(1), h()).i");
        for (sign, column) in [("g(", 2), ("1:", 4), ("h(", 8), (").i", 11), (".i", 12), ("i", 13)] {
            let at = marked.find(sign).expect(sign) as u32;
            assert_eq!(map.lookup_token(0, at).map(|token| token.get_src_col()), Some(column), "{sign} in {marked}");
        }
    }
}
