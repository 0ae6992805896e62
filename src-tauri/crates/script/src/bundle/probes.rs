//! Probes in an author's code: at every statement a call that counts it, and at chosen ones the expressions of a
//! question, which so have exactly the scope of their statement.
//!
//! Probes are put into the text before it is parsed, on its own lines; a source map leads back to the author's columns.
//! Only what is asked of a recording has them: what live runs execute is the plain text (ARCHITECTURE §8.10).

mod expression;
mod left_out;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rolldown_plugin::{HookTransformOutput, HookTransformOutputMap};
use string_wizard::{Hires, MagicString, SourceMapOptions};

use crate::bundle::code::Code;
use crate::bundle::lines::Lines;
use crate::bundle::project_files::normal;
use crate::bundle::statements::{Spot, Stops};

use left_out::RanPlaces;

pub use expression::{WrongExpression, check_expression};

/// Endings of files that have statements.
const CODE: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/// How many names all statements of a bundle may list before only the chosen ones do.
const MAX_LISTED: usize = 100_000;

/// What is imported at the end of a bundle with probes; imports come first wherever they stand.
pub(crate) const IMPORT: &str = "\nimport { tick as __fg_t, enter as __fg_n, initialize as __fg_f, take as __fg_v, \
                                 keep as __fg_k } from \"flowglass:sdk/probe.js\";\n";

/// A statement of the files that a bundle is made of. Lines and columns begin at 1; columns count UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Relative to the workspace.
    pub file: String,
    /// Where it begins.
    pub line: u32,
    /// Where it begins.
    pub column: u32,
    /// Where it ends, or what comes before the statements inside.
    pub end_line: u32,
    /// Where it ends, or what comes before the statements inside.
    pub end_column: u32,
    /// The function around it.
    pub function: Arc<str>,
    /// The names in its scope except those of the whole file, the nearest first; in methods and fields also `this`.
    pub names: Arc<[String]>,
    /// The names that have no value before it has run.
    pub declares: Arc<[String]>,
    /// Of the turns of a `for` loop: the number of the statement that begins the loop.
    pub turn_of: Option<u32>,
}

/// All statements of stored code; each is known by its place in the table.
#[derive(Clone, Debug, Default)]
pub struct SiteTable {
    /// By number.
    pub sites: Vec<Site>,
    files: HashMap<String, FileStops>,
}

#[derive(Clone, Debug)]
struct FileStops {
    /// The number of the file's first statement.
    first: usize,
    stops: Arc<Stops>,
}

/// What a statement of a bundle with probes takes when it is asked to.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// A condition that must hold; all expressions are TypeScript.
    pub condition: Option<String>,
    /// Their values are taken.
    pub expressions: Vec<String>,
    /// At these statements, by number; at all without it.
    pub sites: Option<Vec<u32>>,
    /// Whether the names in scope are taken, after the expressions.
    pub locals: bool,
    /// Names that the expressions use: what is behind them is compared before and after.
    pub watched: Vec<String>,
}

/// Probes for the files of stored code.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    /// Texts of the author's files in place of those on disk, by their paths.
    pub(crate) texts: HashMap<PathBuf, String>,
    table: Arc<SiteTable>,
    /// Without one the texts are bundled as they ran.
    question: Option<Question>,
    ran: RanPlaces,
    workspace: PathBuf,
}

impl SiteTable {
    /// Reads the statements of stored code.
    pub fn of(code: &Code) -> SiteTable {
        let mut table = SiteTable::default();
        for source in &code.sources {
            let ending = source.file.rsplit_once('.').map_or("", |(_, ending)| ending);
            if !CODE.contains(&ending) {
                continue;
            }
            let Some(stops) = Stops::read(&source.text, &source.file) else { continue };
            let (lines, first) = (Lines::new(&source.text), table.sites.len());
            for stop in &stops.found {
                let (line, column) = lines.place(&source.text, stop.start);
                let (end_line, end_column) = lines.place(&source.text, stop.end);
                table.sites.push(Site {
                    file: source.file.clone(),
                    line: line + 1,
                    column: column + 1,
                    end_line: end_line + 1,
                    end_column: end_column + 1,
                    function: stop.function.clone(),
                    names: stop.names.clone(),
                    declares: stop.declares.clone(),
                    turn_of: stop.turn_of.map(|of| (first + of) as u32),
                });
            }
            table.files.insert(source.file.clone(), FileStops { first, stops: Arc::new(stops) });
        }
        table
    }

    /// Returns the numbers of a file's statements, in order of their places.
    pub fn of_file(&self, file: &str) -> std::ops::Range<usize> {
        self.files.get(file).map_or(0..0, |known| known.first..known.first + known.stops.found.len())
    }

    /// Returns whether the code has a file.
    pub fn has_file(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Returns the statement that is meant by a line and perhaps a column of a file, for expressions with these free
    /// names: of several on the line the innermost one around the column, or without one the first in whose scope the
    /// most of the names are, and have a value. `None` if the line has no statement.
    pub fn find(&self, file: &str, line: u32, column: Option<u32>, names: &[String]) -> Option<u32> {
        let on_line: Vec<u32> = match column {
            None => self.meant(file, line, names),
            Some(column) => {
                let on_line = self.of_file(file).filter(|at| self.sites[*at].line == line);
                let (before, after): (Vec<usize>, _) = on_line.partition(|at| self.sites[*at].column <= column);
                // Behind a function inside a statement, the statement is meant.
                let end = |at: usize| (self.sites[at].end_line, self.sites[at].end_column);
                let around = before.iter().rev().find(|at| (line, column) < end(**at));
                around.or(before.last()).or(after.first()).map(|at| *at as u32).into_iter().collect()
            }
        };
        if let Some(first) = on_line.first() {
            return Some(*first);
        }
        // A line in the middle of a statement.
        let covers = |at: &usize| self.sites[*at].line < line && line <= self.sites[*at].end_line;
        self.of_file(file).filter(covers).max_by_key(|at| self.sites[*at].line).map(|at| at as u32)
    }

    /// Returns the statements on a line that expressions with these free names fit best, in order of their places.
    pub fn meant(&self, file: &str, line: u32, names: &[String]) -> Vec<u32> {
        let on_line: Vec<usize> = self.of_file(file).filter(|at| self.sites[*at].line == line).collect();
        // The turns of a loop are asked with its beginning.
        let is_statement = |at: &usize| self.sites[*at].turn_of.is_none();
        let begun: Vec<usize> = on_line.iter().copied().filter(is_statement).collect();
        let on_line = if begun.is_empty() { on_line } else { begun };
        // Where the statement ends that declares a name: before that it has no value.
        let declared = |name: &String| on_line.iter().find(|at| self.sites[**at].declares.contains(name));
        let end = |at: &usize| (self.sites[*at].end_line, self.sites[*at].end_column);
        let ends: Vec<Option<(u32, u32)>> = names.iter().map(|name| declared(name).map(end)).collect();
        let fits = |at: usize| {
            let site = &self.sites[at];
            let has_value = |end: Option<(u32, u32)>| end.is_none_or(|end| (site.line, site.column) >= end);
            let known = names.iter().zip(&ends).filter(|(name, _)| site.names.contains(name));
            known.fold((0, 0), |(known, set), (_, end)| (known + 1, set + usize::from(has_value(*end))))
        };
        let fit: Vec<(usize, (usize, usize))> = on_line.into_iter().map(|at| (at, fits(at))).collect();
        let best = fit.iter().map(|(_, fits)| *fits).max();
        fit.into_iter().filter(|(_, fits)| Some(*fits) == best).map(|(at, _)| at as u32).collect()
    }

    /// Returns the statements that are asked for by one: with it the turns of the loop that it begins, if those are on
    /// its line. A column asks for one alone.
    pub fn asked(&self, site: u32, column: Option<u32>) -> Vec<u32> {
        let begun = &self.sites[site as usize];
        let turns = (site..).zip(&self.sites[site as usize..]).take_while(|(_, turn)| turn.file == begun.file);
        let turns = turns.filter(|(_, turn)| turn.turn_of == Some(site) && turn.line == begun.line);
        std::iter::once(site).chain(turns.map(|(turn, _)| turn).take(usize::from(column.is_none()))).collect()
    }

    /// Returns the nearest statements of a file before and after a line.
    pub fn around(&self, file: &str, line: u32) -> (Option<u32>, Option<u32>) {
        let lines = || self.of_file(file).map(|at| self.sites[at].line);
        (lines().filter(|at| *at < line).max(), lines().filter(|at| *at > line).min())
    }
}

impl Probes {
    /// Prepares the probes for a question.
    pub(crate) fn new(workspace: &Path, code: &Code, table: Arc<SiteTable>, question: Option<Question>) -> Probes {
        // Data has no text in the source map: it is read from the disk.
        let stored = code.sources.iter().filter(|source| table.has_file(&source.file) && !source.text.is_empty());
        let texts = stored.map(|source| (workspace.join(&source.file), source.text.clone())).collect();
        let ran = question.as_ref().map(|_| RanPlaces::of(&code.map)).unwrap_or_default();
        Probes { texts, table, question, ran, workspace: workspace.to_owned() }
    }

    /// No probes, and texts in place of files on the disk.
    pub(crate) fn of_texts(workspace: &Path, texts: HashMap<PathBuf, String>) -> Probes {
        let (table, ran) = (Arc::default(), RanPlaces::default());
        Probes { texts, table, question: None, ran, workspace: workspace.to_owned() }
    }

    /// Returns the built-ins of the SDK whose globals the expressions of the question use: the files may use none.
    pub(crate) fn globals(&self) -> Vec<&'static str> {
        let asked = self.question.iter().flat_map(|question| question.expressions.iter().chain(&question.condition));
        asked.flat_map(|text| expression::globals(text)).collect()
    }

    /// Whether any probes are put in.
    pub(crate) fn has_question(&self) -> bool {
        self.question.is_some()
    }

    /// Returns the stored file that a relative import means, as the bundler would find it if it were there; or that
    /// the entry imports, which is in no folder.
    pub(crate) fn stored(&self, importer: Option<&Path>, specifier: &str) -> Option<PathBuf> {
        let Some(importer) = importer else {
            let file = Path::new(specifier);
            return self.texts.contains_key(file).then(|| file.to_owned());
        };
        if !specifier.starts_with('.') {
            return None;
        }
        let path = normal(&importer.parent()?.join(specifier));
        let named = path.display().to_string();
        let stem = [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|ending| named.strip_suffix(ending));
        let names = [Some(named.as_str()), stem];
        let candidates = names.into_iter().flatten().flat_map(|name| {
            let with = CODE.iter().map(move |ending| PathBuf::from(format!("{name}.{ending}")));
            let inside = CODE.iter().map(move |ending| PathBuf::from(format!("{name}/index.{ending}")));
            std::iter::once(PathBuf::from(name)).chain(with).chain(inside)
        });
        candidates.into_iter().find(|file| self.texts.contains_key(file))
    }

    /// Puts the probes into the text of a module, which may have been changed where it has no statements. `None` for
    /// modules that are not the author's.
    pub(crate) fn put_into(&self, id: &str, text: &str) -> Option<HookTransformOutput> {
        let question = self.question.as_ref()?;
        let file = crate::bundle::shown(&self.workspace, Path::new(id));
        let known = self.table.files.get(&file)?;
        let stops = Stops::read(text, &file)?;
        if stops.found.len() != known.stops.found.len() {
            return None;
        }
        let mut texts: BTreeMap<u32, String> = BTreeMap::new();
        for (at, spot) in &stops.spots {
            let at = texts.entry(*at).or_default();
            let probe =
                |place: usize, call: &str| self.probe(question, known.first + place, call, &stops.found[place].keeps);
            match spot {
                Spot::Before(place) => at.push_str(&format!("{};", probe(*place, "__fg_c"))),
                Spot::Body(place) => at.push_str(&format!("{{{};", probe(*place, "__fg_c"))),
                Spot::BodyEnd => at.push('}'),
                // Its body has no place for a variable.
                Spot::Arrow(place) => at.push_str(&format!("({},", probe(*place, "__fg_n()"))),
                Spot::Field(place) => at.push_str(&format!("({},", probe(*place, "__fg_f(this)"))),
                Spot::StaticField(place) => at.push_str(&format!("({},", probe(*place, "__fg_f(this,true)"))),
                Spot::Head(place) => at.push_str(&format!("({},", probe(*place, "__fg_c"))),
                Spot::ExpressionEnd => at.push(')'),
                Spot::NoUpdate(place) => at.push_str(&probe(*place, "__fg_c")),
                // A directive may end without a semicolon.
                Spot::Entry => at.push_str(";const __fg_c=__fg_n();"),
                Spot::StaticEntry => at.push_str("const __fg_c=__fg_f(this,true);"),
                Spot::ListEnd(kept) => at.push_str(&format!(";__fg_c{};", keep(&stops.kept[*kept]))),
            }
        }
        let mut made = MagicString::new(text.to_owned());
        let mut texts = texts.into_iter().peekable();
        // What the code that ran does not call is not called here either; nothing inside of it has probes.
        for (span, instead) in self.ran.left_out(&file, text) {
            while let Some((at, probe)) = texts.next_if(|(at, _)| *at <= span.start) {
                made.append_left(at, probe).ok()?;
            }
            while texts.next_if(|(at, _)| *at < span.end).is_some() {}
            made.update(span.start, span.end, instead).ok()?;
        }
        for (at, probe) in texts {
            made.append_left(at, probe).ok()?;
        }
        let options = SourceMapOptions { include_content: true, source: id.into(), hires: Hires::Boundary };
        let map = HookTransformOutputMap::Sourcemap(Box::new(made.source_map(options)));
        Some(HookTransformOutput { code: Some(made.to_string()), map, ..Default::default() })
    }

    /// The probe of a statement.
    fn probe(&self, question: &Question, number: usize, call: &str, keeps: &[String]) -> String {
        let Question { condition, expressions, sites, locals, watched } = question;
        let tick = format!("__fg_t({number},{call})");
        let keep = keep(keeps);
        let is_asked = sites.as_ref().is_none_or(|sites| sites.contains(&(number as u32)));
        let names: &[String] = if *locals { &self.table.sites[number].names } else { &[] };
        if !is_asked || expressions.is_empty() && !*locals {
            return tick + &keep;
        }
        let thunk = |expression: &String| format!("()=>({expression}\n)");
        let condition = condition.as_ref().map_or("void 0".to_owned(), thunk);
        let names = names.iter().map(|name| format!("()=>{name}"));
        let thunks: Vec<String> = expressions.iter().map(thunk).chain(names).collect();
        let watched: Vec<String> = watched.iter().map(|name| format!("()=>{name}")).collect();
        let watched = if watched.is_empty() { String::new() } else { format!(",[{}]", watched.join(",")) };
        format!("{tick}&&__fg_v({number},{condition},[{}]{watched}){keep}", thunks.join(","))
    }
}

/// Refers to variables behind a value that is no function, in code that never runs.
fn keep(variables: &[String]) -> String {
    if variables.is_empty() { String::new() } else { format!("===__fg_k&&__fg_k({})", variables.join(",")) }
}

impl Question {
    /// Lets what the expressions use be compared before and after, if they call anything. `names` are the names that
    /// they take from their scope.
    #[must_use]
    pub fn watching(mut self, names: &[String], file: &str) -> Question {
        if self.expressions.iter().chain(&self.condition).any(|text| expression::calls(text, file)) {
            self.watched = names.to_vec();
            self.watched.sort();
            self.watched.dedup();
        }
        self
    }

    /// Restricts a question for the names in scope to one statement if the table lists too many of them.
    #[must_use]
    pub fn for_locals(table: &SiteTable, site: u32) -> Question {
        let listed: usize = table.sites.iter().map(|site| site.names.len()).sum();
        let sites = (listed > MAX_LISTED).then(|| vec![site]);
        Question { locals: true, sites, ..Question::default() }
    }
}
