//! Mapping of places in a bundle to places in the author's files.

use std::cell::OnceCell;
use std::sync::Arc;

use engine::error::Location;
use sourcemap::SourceMap;

use crate::bundle::Bundle;
use crate::bundle::callsite::{Hint, refine};
use crate::bundle::embedded::SCHEME;
use crate::bundle::explained::{Explainer, Tables, Thrown};
use crate::bundle::lines::Lines;
use crate::bundle::own_errors::is_of_bundler;

/// The bundle's name in stacks.
pub(crate) const BUNDLE: &str = "flow.js";

/// A bundle's source map, ready for look-ups.
pub(crate) struct Trace {
    map: Option<SourceMap>,
    workspace: String,
    code: Arc<str>,
    lines: OnceCell<Lines>,
    tables: Tables,
}

/// A stack in the author's files.
pub(crate) struct Mapped {
    /// Where the error was thrown.
    pub(crate) location: Option<Location>,
    /// The frames of the author's code.
    pub(crate) stack: String,
}

impl Trace {
    pub(crate) fn new(bundle: &Bundle, workspace: &std::path::Path) -> Self {
        let map = SourceMap::from_slice(bundle.map.as_bytes()).ok();
        let workspace = workspace.display().to_string().replace('\\', "/");
        Trace { map, workspace, code: bundle.code.clone(), lines: OnceCell::new(), tables: Tables::default() }
    }

    /// The folder that the flow file is in a workspace of.
    pub(crate) fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Maps every place of a stack; frames of the SDK are left out.
    ///
    /// `classes` are the error's class names: the constructors of an author's error class are on the stack, too, and
    /// are skipped. `message` is the error's message.
    pub(crate) fn map_stack(&self, stack: &str, message: &str, classes: &[String]) -> Mapped {
        let place_told = self.explained(stack, message, classes).and_then(|(_, place)| place);
        let mut first = None;
        let mut called = None;
        // Whether what runs `async` functions was on the stack since the frame before.
        let mut is_driven = false;
        let mut mapped: Vec<(&str, Location)> = Vec::new();
        for line in stack.lines() {
            let Some((name, place)) = self.frame(line) else {
                called = native_name(line).or(called);
                continue;
            };
            if first.is_none() && classes.iter().any(|class| class == name) {
                continue;
            }
            let located = place.and_then(|place| Some((place, self.locate(place.0, place.1)?)));
            let Some((place, mut location)) = located else {
                called = Some(name);
                is_driven |= name == "drive";
                continue;
            };
            if first.is_none() {
                let refined = || {
                    let (line, column) = refine(&self.code, place.0, place.1, &Hint { called, message, classes });
                    self.locate(line, column)
                };
                location = place_told.clone().or_else(refined).unwrap_or(location);
            }
            first.get_or_insert_with(|| location.clone());
            // An `async` function is several functions in the bundle: the outer ones have the name, and only call the
            // one inside.
            is_driven = is_driven && self.is_wrapper(place.0);
            match mapped.last_mut().filter(|_| is_driven) {
                Some((inner, _)) => *inner = name,
                None => mapped.push((name, location)),
            }
        }
        let line = |(name, at): &(&str, Location)| format!("    at {name} ({}:{}:{})", at.file, at.line, at.column);
        Mapped { location: first, stack: mapped.iter().map(line).collect::<Vec<_>>().join("\n") }
    }

    /// Whether a line of the bundle only calls what an `async` function was lowered to.
    fn is_wrapper(&self, line: u32) -> bool {
        let text = self.code.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim_start();
        text.starts_with("return _") && text.contains(".apply(this, ") && text.contains("arguments")
    }

    /// Returns the message and the place of an error as Node.js says them, if the runtime itself made the error while
    /// the author's code ran. The place is `None` if the one on the stack is right.
    pub(crate) fn explained(
        &self,
        stack: &str,
        message: &str,
        classes: &[String],
    ) -> Option<(String, Option<Location>)> {
        let mut thrown = Thrown { message, class: classes.first()?, native: None, frames: Vec::new() };
        for line in stack.lines() {
            match self.frame(line) {
                None if thrown.frames.is_empty() => thrown.native = thrown.native.or(native_name(line)),
                None => {}
                Some((name, place)) => match place.filter(|(line, column)| self.locate(*line, *column).is_some()) {
                    Some((line, column)) => thrown.frames.push((name, line, column)),
                    // Code of ours threw it, and not what the bundler lowers the author's to.
                    None if thrown.frames.is_empty() && !is_of_bundler(message) => return None,
                    None => {}
                },
            }
        }
        let explainer = Explainer { code: &self.code, map: self.map.as_ref()?, tables: &self.tables };
        let found = explainer.explain(&thrown)?;
        let shown = |source: &str| shown_source(source, &self.workspace);
        Some((found.message, found.place.and_then(|spot| explainer.location(spot, shown))))
    }

    /// As [`frame`], with columns that count UTF-16 units.
    pub(crate) fn frame<'l>(&self, line: &'l str) -> Option<(&'l str, Option<(u32, u32)>)> {
        let (name, place) = frame(line)?;
        let lines = || self.lines.get_or_init(|| Lines::new(&self.code));
        let exact = |(line, bytes)| (line, lines().column(&self.code, line, bytes).unwrap_or(bytes));
        Some((name, place.map(exact)))
    }

    /// Maps the stacks in a text, line by line; frames of the SDK are left out.
    pub(crate) fn map_text(&self, text: &str) -> String {
        if !text.contains(BUNDLE) {
            return text.to_owned();
        }
        let mapped = text.lines().filter_map(|line| match self.frame(line) {
            None => Some(line.to_owned()),
            Some((name, place)) => {
                let (at, column) = place?;
                let place = self.locate(at, column)?;
                Some(format!("    at {name} ({}:{}:{})", place.file, place.line, place.column))
            }
        });
        mapped.collect::<Vec<_>>().join("\n")
    }

    /// Returns the author's place of a place in the bundle (both 1-based); `None` for code of the SDK.
    pub(crate) fn locate(&self, line: u32, column: u32) -> Option<Location> {
        let token = self.map.as_ref()?.lookup_token(line.checked_sub(1)?, column.saturating_sub(1))?;
        let source = token.get_source()?;
        if is_embedded(source) {
            return None;
        }
        let file = shown_source(source, &self.workspace);
        Some(Location { file, line: token.get_src_line() + 1, column: token.get_src_col() + 1 })
    }
}

/// Returns whether a source of a map is the SDK's or the bundler's.
pub(crate) fn is_embedded(source: &str) -> bool {
    source.contains("flowglass:")
        || source.contains("flowglass-link:")
        || source.contains("oxc-project")
        || source.contains("rolldown/runtime")
}

/// Returns the path of a source of a map for people.
pub(crate) fn shown_source(source: &str, workspace: &str) -> String {
    let source = source.trim_start_matches("./");
    let file = source.strip_prefix(&format!("{workspace}/")).unwrap_or(source);
    file.trim_start_matches("../").to_owned()
}

/// Returns the name in `    at name (native)`.
fn native_name(line: &str) -> Option<&str> {
    line.trim().strip_prefix("at ")?.strip_suffix(" (native)")
}

/// Parses `    at name (file:line:column)` as QuickJS writes it. Returns the name, and the place if it is in the bundle
/// (`None` for an embedded module). Returns `None` for other lines and other files.
fn frame(line: &str) -> Option<(&str, Option<(u32, u32)>)> {
    let rest = line.trim().strip_prefix("at ")?;
    let (name, place) = match rest.split_once(" (") {
        Some((name, place)) => (name, place.trim_end_matches(')')),
        None => ("<anonymous>", rest),
    };
    if place.starts_with(SCHEME) {
        return Some((name, None));
    }
    let mut parts = place.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    (parts.next()? == BUNDLE).then_some((name, Some((line, column))))
}
