//! Gives errors of the runtime itself the message and the place that Node.js would give them.
//!
//! QuickJS says "not a function" and reports a place near the call. The syntax trees of the bundle and of the author's
//! file show which expression it was. Must not guess: if the trees do not decide, the error keeps the runtime's
//! message. Errors that the author's code created stay unchanged.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use engine::error::Location;
use sourcemap::SourceMap;

use crate::bundle::marks;
use crate::bundle::native_errors;
use crate::bundle::own_errors::{self, is_known, nothing_iterated};
use crate::bundle::sites::{Form, FunctionSpan, Here, Site, Sites};
use crate::bundle::trace::is_embedded;

/// The message and the place that Node would give.
pub(crate) struct Explained {
    pub(crate) message: String,
    /// `None` if the reported place is right.
    pub(crate) place: Option<Spot>,
}

/// A place in an author's file.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    source: u32,
    at: u32,
}

/// The tables of a bundle and of its files, each read at its first use.
#[derive(Default)]
pub(crate) struct Tables {
    bundle: OnceCell<Option<Sites>>,
    sources: RefCell<HashMap<u32, Option<Rc<Sites>>>>,
}

/// Where an error was thrown.
pub(crate) struct Thrown<'a> {
    /// The message of the runtime.
    pub(crate) message: &'a str,
    /// The class.
    pub(crate) class: &'a str,
    /// The native function that threw it; `None` if the author's own code failed.
    pub(crate) native: Option<&'a str>,
    /// The innermost frames of the author's code: the function's name, line and column in the bundle, 1-based.
    pub(crate) frames: Vec<(&'a str, u32, u32)>,
}

/// A bundle, its map and its tables.
pub(crate) struct Explainer<'a> {
    pub(crate) code: &'a str,
    pub(crate) map: &'a SourceMap,
    pub(crate) tables: &'a Tables,
}

/// The classes of errors that the runtime makes.
const CLASSES: [&str; 5] = ["TypeError", "ReferenceError", "RangeError", "SyntaxError", "URIError"];

impl Explainer<'_> {
    /// Returns Node's message and place for an error of the runtime; `None` for other errors.
    pub(crate) fn explain(&self, thrown: &Thrown<'_>) -> Option<Explained> {
        if !CLASSES.contains(&thrown.class) || thrown.native.is_none() && !is_known(thrown.message) {
            return None;
        }
        let call = self.call_at(thrown.frames.first()?)?;
        if call.is_some_and(|site| site.text == thrown.class) {
            return None;
        }
        if let Some(native) = thrown.native {
            let (source, sites, row) = self.called(call, thrown)?;
            let site = sites.rows.get(row)?;
            let message = native_errors::message(thrown.message, native, site)?;
            return Some(Explained { message, place: Some(Spot { source, at: site.place }) });
        }
        let message = thrown.message;
        if message == "class constructors must be invoked with 'new'" {
            return self.class_called(thrown);
        }
        if message == "not a function" || message == "not a constructor" || message.ends_with(" is not a constructor") {
            return self.not_callable(call, thrown);
        }
        let frame = thrown.frames.first()?;
        let (source, at) = self.source_offset(frame)?;
        let sites = self.source(source)?;
        let is_spread = call.and_then(Site::call).is_some_and(|call| call.spread.is_some());
        let own = own_errors::message(message, &self.here(frame, source, at, &sites)?, is_spread);
        let found = own.or_else(|| self.spread(call, message))?;
        Some(Explained { message: found.0, place: found.1.map(|at| Spot { source, at }) })
    }

    /// Returns the location of a place.
    pub(crate) fn location(&self, spot: Spot, shown: impl FnOnce(&str) -> String) -> Option<Location> {
        let sites = self.source(spot.source)?;
        let (line, column) = sites.lines.place(&sites.text, spot.at);
        let file = shown(self.map.get_source(spot.source)?);
        Some(Location { file, line: line + 1, column: column + 1 })
    }

    fn not_callable(&self, call: Option<&Site>, thrown: &Thrown<'_>) -> Option<Explained> {
        let is_new = |site: &Site| site.call().is_some_and(|call| call.form == Form::New);
        // The runtime may say "not a function" for a construction, too.
        let is_meant = |site: &Site| thrown.message == "not a function" || is_new(site);
        let (source, sites, row) = self.called(call.filter(|call| is_meant(call)), thrown)?;
        let site = sites.rows.get(row).filter(|site| is_meant(site))?;
        let wanted = if is_new(site) { "constructor" } else { "function" };
        let message = format!("{} is not a {wanted}", site.text);
        Some(Explained { message, place: Some(Spot { source, at: site.place }) })
    }

    /// Returns the call at a frame's place in the bundle: `Some(None)` if there is no call at that place, `None` if the
    /// frame is not in the bundle.
    fn call_at(&self, frame: &(&str, u32, u32)) -> Option<Option<&Site>> {
        let spot = self.bundle_offset(frame)?;
        Some(self.bundle()?.rows.iter().find(|site| site.call().is_some_and(|it| it.reported == Some(spot))))
    }

    /// Finds a call in the author's file. The runtime reports no place for a construction without arguments or a
    /// template without expressions.
    fn called(&self, call: Option<&Site>, thrown: &Thrown<'_>) -> Option<(u32, Rc<Sites>, usize)> {
        if let Some(call) = call {
            return self.in_source(call);
        }
        let frame = thrown.frames.first()?;
        let (source, at) = self.source_offset(frame)?;
        let sites = self.source(source)?;
        let site = self.here(frame, source, at, &sites)?.innermost(|site| match site.call() {
            Some(call) => call.form != Form::Call && call.values.is_empty() && call.spread.is_none(),
            None => false,
        })?;
        let row = sites.rows.iter().position(|row| row == site)?;
        Some((source, sites, row))
    }

    /// Returns the place of a frame in a source file, with the frame's function in that file.
    fn here<'s>(&self, frame: &(&str, u32, u32), source: u32, at: u32, sites: &'s Sites) -> Option<Here<'s>> {
        let bundle = self.bundle()?;
        let offset = self.bundle_offset(frame)?;
        // If the first part of a function failed, the runtime reports its name, or the bracket or mark around it.
        let is_head = |next: &FunctionSpan| {
            let between = bundle.text.get(offset as usize..next.start as usize).unwrap_or_default().trim();
            let after_mark = between.strip_prefix(marks::BEFORE).unwrap_or(between).trim_start();
            !between.is_empty() && (["", "("].contains(&after_mark) || after_mark == frame.0)
        };
        let head = bundle.function_from(offset).filter(is_head);
        Some(self.within(head.or_else(|| bundle.function_around(offset)), source, at, sites))
    }

    /// Returns a place in a source file that belongs to a function of the bundle.
    fn within<'s>(&self, function: Option<FunctionSpan>, source: u32, at: u32, sites: &'s Sites) -> Here<'s> {
        let function = function.and_then(|function| {
            let inside = self.inside(function).filter(|(of_body, _)| *of_body == source);
            sites.function_around(inside.map_or(at, |(_, inside)| inside))
        });
        Here { sites, at, function }
    }

    /// Returns a place of the author's code in the body of a function of the bundle, but not in a function inside it.
    fn inside(&self, function: FunctionSpan) -> Option<(u32, u32)> {
        /// How many places of the map are tried.
        const MOST: u32 = 200;
        let bundle = self.bundle()?;
        let body = bundle.lines.place(&bundle.text, function.body);
        let (mut from, mut to) = (0, self.map.get_token_count());
        while from < to {
            let middle = from + (to - from) / 2;
            let is_before = self.map.get_token(middle as usize).is_some_and(|token| token.get_dst() < body);
            if is_before { from = middle + 1 } else { to = middle }
        }
        let offset = |(line, column)| bundle.lines.offset(&bundle.text, line, column);
        let tokens = (from..from.saturating_add(MOST)).map_while(|at| self.map.get_token(at as usize));
        let places = tokens.map(|token| token.get_dst());
        let inside = places.take_while(|place| offset(*place).is_some_and(|at| at < function.end));
        let mut own = inside.filter(|place| offset(*place).and_then(|at| bundle.function_around(at)) == Some(function));
        own.find_map(|(line, column)| self.mapped(line, column))
    }

    /// A class was called without `new`. The frame of the class comes before that of the call.
    fn class_called(&self, thrown: &Thrown<'_>) -> Option<Explained> {
        let (class, ..) = thrown.frames.first()?;
        let (source, sites, row) = self.in_source(self.call_at(thrown.frames.get(1)?)??)?;
        let message = format!("Class constructor {class} cannot be invoked without 'new'");
        Some(Explained { message, place: Some(Spot { source, at: sites.rows.get(row)?.place }) })
    }

    /// A spread argument that is not iterable.
    fn spread(&self, call: Option<&Site>, message: &str) -> Option<(String, Option<u32>)> {
        let (_, sites, row) = self.in_source(call?)?;
        let site = sites.rows.get(row)?;
        let text = site.call()?.spread.as_ref()?;
        let told = match nothing_iterated(message) {
            Some(nothing) => format!("{text} is not iterable (cannot read property {nothing})"),
            None if message == "value is not iterable" => {
                "Spread syntax requires ...iterable[Symbol.iterator] to be a function".to_owned()
            }
            None => return None,
        };
        Some((told, Some(site.place)))
    }

    fn bundle(&self) -> Option<&Sites> {
        self.tables.bundle.get_or_init(|| Sites::read(self.code, "bundle.mjs")).as_ref()
    }

    fn source(&self, source: u32) -> Option<Rc<Sites>> {
        let mut tables = self.tables.sources.borrow_mut();
        let read = || {
            let text = self.map.get_source_contents(source)?;
            Sites::read(text, self.map.get_source(source)?).map(Rc::new)
        };
        tables.entry(source).or_insert_with(read).clone()
    }

    fn bundle_offset(&self, frame: &(&str, u32, u32)) -> Option<u32> {
        let sites = self.bundle()?;
        sites.lines.offset(&sites.text, frame.1.checked_sub(1)?, frame.2.checked_sub(1)?)
    }

    /// Returns the source file of a frame's place, and the offset in it. The place of a mark is the end of the last
    /// argument of its call.
    fn source_offset(&self, frame: &(&str, u32, u32)) -> Option<(u32, u32)> {
        let at = self.bundle_offset(frame)?;
        let bundle = self.bundle()?;
        let begin = marks::begin(&bundle.text, at as usize).map_or(at, |begin| begin as u32);
        let (line, column) = bundle.lines.place(&bundle.text, begin);
        self.mapped(line, column)
    }

    fn mapped(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let token = self.map.lookup_token(line, column)?;
        if is_embedded(token.get_source()?) {
            return None;
        }
        let sites = self.source(token.get_src_id())?;
        Some((token.get_src_id(), sites.lines.offset(&sites.text, token.get_src_line(), token.get_src_col())?))
    }

    /// Finds a call of the bundle in the author's file: the file's table, and the row.
    fn in_source(&self, call: &Site) -> Option<(u32, Rc<Sites>, usize)> {
        let bundle = self.bundle()?;
        let wanted = call.call()?;
        let (line, column) = bundle.lines.place(&bundle.text, wanted.anchor);
        let (source, at) = self.mapped(line, column)?;
        let sites = self.source(source)?;
        let same = |table: &Sites, anchor: u32| {
            let is_same = |site: &Site| site.call().is_some_and(|it| it.anchor == anchor && it.form == wanted.form);
            let mut rows: Vec<usize> = (0..table.rows.len()).filter(|row| is_same(&table.rows[*row])).collect();
            rows.sort_by_key(|row| table.rows[*row].end);
            rows
        };
        // `f()()` are two calls at one place; the inner one ends first.
        let ordinal = same(bundle, wanted.anchor).iter().position(|row| bundle.rows[*row].end == call.end)?;
        let row = match same(&sites, at).get(ordinal) {
            Some(row) => *row,
            None => self.like(call, source, at, &sites)?,
        };
        Some((source, sites, row))
    }

    /// Finds a call of the bundle whose place in the author's file is not exact: the only call of its function with the
    /// same text, or else the call around the place with the same number of arguments.
    fn like(&self, call: &Site, source: u32, at: u32, sites: &Sites) -> Option<usize> {
        let bundle = self.bundle()?;
        let wanted = call.call()?;
        let here = self.within(bundle.function_around(wanted.anchor), source, at, sites);
        let is_same = |site: &Site| site.call().is_some_and(|it| it.form == wanted.form);
        let found = here.only(|site| is_same(site) && site.text == call.text).or_else(|| {
            let count = |site: &Site| site.call().map(|it| it.values.len());
            here.innermost(|site| is_same(site) && count(site) == count(call))
        })?;
        sites.rows.iter().position(|row| row == found)
    }
}
