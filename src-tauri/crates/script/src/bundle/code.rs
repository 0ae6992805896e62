//! The part of a bundle that a database stores: the author's files, and the part of the source map that refers to them.
//! The SDK and packages are left out.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sourcemap::{SourceMap, SourceMapBuilder};

use crate::bundle::Bundle;
use crate::bundle::definition::{called, definitions};
use crate::bundle::texts::without_import;
use crate::bundle::trace::{is_embedded, shown_source};

/// Finds the places of a name in a file: the line of each, and the bytes.
type Finder = fn(&str, &str, &str) -> Vec<(u32, Range<usize>)>;

/// An author's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Relative to the workspace.
    pub file: String,
    /// As it was.
    pub text: String,
}

/// The code of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Code {
    /// The flow file.
    pub file: String,
    /// The flow file, and the files of the workspace that it imports.
    pub sources: Vec<Source>,
    /// From places in the bundle to places in these files, as JSON, without their texts.
    pub map: String,
}

impl Code {
    /// Returns the part of a bundle that is stored.
    pub fn of(bundle: &Bundle, workspace: &Path) -> Code {
        let workspace = workspace.display().to_string().replace('\\', "/");
        let whole = SourceMap::from_slice(bundle.map.as_bytes()).ok();
        let sources = contents(whole.as_ref(), is_own)
            .map(|(source, text)| Source {
                file: shown_source(source, &workspace),
                text: without_import(text).to_owned(),
            })
            .collect();
        let made = part(whole.as_ref(), is_own, |source| shown_source(source, &workspace));
        Code { file: bundle.file.clone(), sources, map: as_json(made) }
    }

    /// Finds the definition of a block by its name: its file, the line, and the text of the call with those that are
    /// chained to it. `None` if there are several or none.
    pub fn definition(&self, name: &str) -> Option<(&Source, u32, &str)> {
        let mut found = self.sources.iter().flat_map(|source| {
            let all = definitions(&source.text, &source.file, name).into_iter();
            all.map(move |(line, range)| (source, line, &source.text[range])).collect::<Vec<_>>()
        });
        let first = found.next()?;
        if found.next().is_some() { None } else { Some(first) }
    }

    /// Finds what defines a block by its name: its file, the line, and the bytes there. As [`Code::definition`], or a
    /// call of an author's own function that is given the name first. `None` if there are several or none.
    pub fn range_of(&self, name: &str) -> Option<(&Source, u32, Range<usize>)> {
        let mut found = self.found_by(definitions, name);
        if found.is_empty() {
            found = self.found_by(called, name);
        }
        if found.len() == 1 { found.pop() } else { None }
    }

    fn found_by(&self, find: Finder, name: &str) -> Vec<(&Source, u32, Range<usize>)> {
        let all = self.sources.iter().map(|source| (source, find(&source.text, &source.file, name)));
        all.flat_map(|(source, all)| all.into_iter().map(move |(line, range)| (source, line, range))).collect()
    }
}

/// Returns a bundle's source map without the SDK and zod, which are most of it and are never shown.
pub(crate) fn without_embedded(map: &str) -> String {
    let whole = SourceMap::from_slice(map.as_bytes()).ok();
    let is_shown = |source: &str| !is_embedded(source);
    let mut made = part(whole.as_ref(), is_shown, str::to_owned);
    for (source, text) in contents(whole.as_ref(), is_shown) {
        let id = made.add_source(source);
        made.set_source_contents(id, Some(text));
    }
    as_json(made)
}

/// Returns the sources of a map for which `is_wanted` is true, with their texts.
fn contents(map: Option<&SourceMap>, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, &str)> {
    let all = map.into_iter().flat_map(|map| map.sources().enumerate().map(move |(id, source)| (map, id, source)));
    all.filter(move |(_, _, source)| is_wanted(source))
        .map(|(map, id, source)| (source, map.get_source_contents(id as u32).unwrap_or_default()))
}

/// Returns the part of a map that refers to sources for which `is_wanted` is true.
fn part(map: Option<&SourceMap>, is_wanted: impl Fn(&str) -> bool, named: impl Fn(&str) -> String) -> SourceMapBuilder {
    let mut made = SourceMapBuilder::new(None);
    let mut is_before = true;
    for token in map.into_iter().flat_map(SourceMap::tokens) {
        let wanted = token.get_source().filter(|source| is_wanted(source));
        // One token without a source marks the end of a wanted part.
        if wanted.is_none() && is_before {
            continue;
        }
        is_before = wanted.is_none();
        let (src_line, src_col) = match wanted {
            Some(_) => (token.get_src_line(), token.get_src_col()),
            None => (0, 0),
        };
        let source = wanted.map(&named);
        made.add(token.get_dst_line(), token.get_dst_col(), src_line, src_col, source.as_deref(), None, false);
    }
    made
}

pub(crate) fn as_json(made: SourceMapBuilder) -> String {
    let mut map = Vec::new();
    // Writing to memory does not fail; without a map the files are still there.
    let _ = made.into_sourcemap().to_writer(&mut map);
    String::from_utf8(map).unwrap_or_default()
}

/// Whether a source is a file of the workspace, and not one of a package.
fn is_own(source: &str) -> bool {
    !is_embedded(source) && !source.contains("node_modules/")
}
