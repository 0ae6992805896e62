//! The values of expressions at a statement, in every request that reached it.

use std::path::Path;

use engine::event::{RequestStatus, Seq};
use script::{Asked, Probed, Question, check_expression};
use serde::Deserialize;
use store::RequestQuery;

use super::super::Workspace;
use super::Answer;
use super::handle::Handle;
use super::line::AskedLine;
use super::parts::Part;
use super::probed_code::ProbedCode;
use super::stops::failed_condition;
use crate::core::fault::{Detail, Fault};
use crate::core::real_path::real_path;
use crate::views::{NotAsked, Printed, PrintedHit, PrintedValue, RequestNote, RequestRow};

/// How many requests are evaluated if none is named.
const MAX_REQUESTS: usize = 100;
/// How many requests are searched for those that ran a file.
const MAX_LOOKED_AT: u64 = 10_000;
/// How many characters of an invalid expression an error shows.
const SHOWN: usize = 80;
/// How many hits of changed code are collected. Only those of its own part count.
const MAX_HITS_OF_CHANGED: usize = 100_000;
/// How many hits are found if no limit is given.
const USUAL_LIMIT: usize = 1000;

/// The expressions to print, and the requests.
#[derive(Clone, Debug, Default, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase", default)]
pub struct PrintQuery {
    /// Relative to the workspace, or a full path in it.
    pub file: String,
    /// From 1, in the file as it ran.
    pub line: u32,
    /// From 1; selects the statement on the line that begins there or before.
    pub column: Option<u32>,
    /// TypeScript expressions, evaluated in the scope of the statement.
    pub expressions: Vec<String>,
    /// Only hits for which this expression is true.
    pub condition: Option<String>,
    /// Only this request.
    pub request: Option<String>,
    /// Only requests of this session.
    pub session: Option<String>,
    /// Only requests of this flow.
    pub flow: Option<String>,
    /// Only requests with this status.
    pub status: Option<RequestStatus>,
    /// The maximum number of hits.
    pub limit: Option<u32>,
}

/// The place of a statement, and the names that the expressions use from its scope.
struct Place<'q> {
    file: &'q str,
    names: &'q [String],
    query: &'q PrintQuery,
}

/// The values in one request.
#[derive(Default)]
struct PrintedIn {
    hits: Vec<PrintedHit>,
    note: Option<String>,
    /// The limit that ended the replay.
    ended_by: Option<String>,
    /// The minimum number of hits, and whether there may be more.
    total: u64,
    may_be_more: bool,
    /// Whether code outside any block reached the statement.
    is_outside: bool,
    /// How many executions of blocks ran again for it.
    ran: usize,
}

impl Workspace {
    /// Finds the values of expressions at a statement in recorded requests: their code runs again with the effects of
    /// the log. Writes nothing to the database. Fails if the file never ran and does not exist, or if an expression is
    /// invalid.
    pub fn print(&self, query: &PrintQuery) -> Result<Printed, Fault> {
        self.check_trusted()?;
        let file = self.file_name_in(&query.file);
        let names = self.free_names(&file, query)?;
        let limit = query.limit.map_or(USUAL_LIMIT, |limit| limit as usize);
        if limit == 0 {
            return Err(Fault::invalid("a limit of 0 finds no hit: write 1 or more, or leave it out"));
        }
        let mut found = Printed::default();
        let (mut has_file, mut has_statement) = (0_usize, 0_usize);
        let mut nearest: Option<String> = None;
        let (mut is_outside, mut is_open) = (false, false);
        let is_one = query.request.is_some();
        let asked = self.asked_requests(query)?;
        let has_asked = !asked.is_empty();
        for row in asked {
            if has_file >= MAX_REQUESTS {
                break;
            }
            let not_asked = |why: String| NotAsked { request_id: row.id.clone(), why };
            let parts = self.parts_of_request(&row.id)?;
            let Some((_, newest)) = parts.codes().next_back() else {
                if is_one {
                    found.not_asked.push(not_asked(parts.missing()));
                }
                continue;
            };
            let with_file = parts.codes().map(|(_, code)| code).rfind(|code| code.table.has_file(&file));
            let Some(with_file) = with_file else {
                if is_one {
                    found.not_asked.push(not_asked(format!("its code does not have {file}: {}", files_of(newest))));
                }
                continue;
            };
            has_file += 1;
            is_open |= !row.status.is_terminal();
            let place = Place { file: &file, names: &names, query };
            let mut codes = parts.codes();
            if !codes.any(|(_, code)| code.table.find(&file, query.line, query.column, &names).is_some()) {
                nearest.get_or_insert_with(|| no_statement(with_file, &file, query.line));
            } else if found.hits.len() >= limit {
                (found.truncated, found.total_is_at_least) = (true, true);
                break;
            }
            match self.printed_in(&row, &place, limit - found.hits.len()) {
                Ok(Some(PrintedIn { mut hits, note, ended_by, total, may_be_more, is_outside: is_out, ran })) => {
                    is_outside |= is_out;
                    found.total = found.total.saturating_add(u32::try_from(total).unwrap_or(u32::MAX));
                    found.total_is_at_least |= may_be_more;
                    found.ran += ran as u32;
                    let left = limit - found.hits.len();
                    let is_ended = ended_by.is_some();
                    // First the note about a limit, then other notes.
                    let note = ended_by.into_iter().chain(note).reduce(|all, note| format!("{all}; {note}"));
                    let known = |note| RequestNote { request_id: row.id.clone(), note, ended_by_limit: is_ended };
                    found.notes.extend(note.map(known));
                    found.truncated |= hits.len() > left;
                    hits.truncate(left);
                    found.hits.extend(hits);
                    has_statement += 1;
                }
                Ok(None) => {}
                // The expression is invalid in every request.
                Err(fault @ Fault::Invalid { .. }) => return Err(fault),
                Err(fault) => found.not_asked.push(not_asked(fault.to_string())),
            }
        }
        if has_file == 0 && !is_one {
            self.file_in(&file)?;
            let which = which(query);
            found.note = Some(if has_asked {
                format!("no recorded request{which} ran {file}")
            } else {
                format!("no request{which} is recorded")
            });
        } else if found.hits.is_empty() && is_outside && query.condition.is_none() {
            let why = "ran outside of blocks only, as while the file loads or in a schema: no value can be asked there";
            found.note = Some(format!("{file}:{} {why}", query.line));
        } else if found.hits.is_empty() && has_statement > found.notes.len() {
            let condition = if query.condition.is_some() { " while the condition holds" } else { "" };
            let asked = if has_statement == 1 { "the request".to_owned() } else { format!("{has_statement} requests") };
            let reached = if is_open { "not reached so far" } else { "never reached" };
            found.note = Some(format!("{file}:{} was {reached}{condition} by {asked} that ran it", query.line));
        } else if found.hits.is_empty() {
            found.lacks_statement = nearest.is_some();
            found.note = nearest;
        } else {
            found.note = self.known_of_line(&Place { file: &file, names: &names, query }, &found);
        }
        if let Some(hidden) = self.hidden_env(query.expressions.iter().chain(&query.condition)) {
            found.note = Some(found.note.map_or(hidden.clone(), |note| format!("{note}; {hidden}")));
        }
        Ok(found)
    }

    /// Prints in one request: every part of it with the code that it ran. `None` if no code has a statement there.
    fn printed_in(&self, row: &RequestRow, place: &Place<'_>, limit: usize) -> Result<Option<PrintedIn>, Fault> {
        let Place { file, names, query } = place;
        let (row, events) = self.whole_log_of(&row.id)?;
        let mut found: Option<PrintedIn> = None;
        let parts = self.parts(&events)?;
        for (at, code) in parts.codes() {
            let Part { seqs, .. } = &parts.all[at];
            let Some(site) = code.table.find(file, query.line, query.column, names) else { continue };
            let question = Question {
                condition: query.condition.clone(),
                expressions: query.expressions.clone(),
                sites: Some(code.table.asked(site, query.column)),
                ..Question::default()
            };
            let question = question.watching(names, file);
            let watched = question.watched.clone();
            // Hits of later code in the time of earlier code are left out, so they must not use up the limit.
            let most = if at == 0 { limit + 1 } else { MAX_HITS_OF_CHANGED.max(limit + 1) };
            let asked = Asked::Values { of: None, ticks: (1, u64::from(u32::MAX)), limit: most, open: None };
            let answer = self.ask(&row, events.clone(), code, question, asked)?;
            let found = found.get_or_insert_default();
            let probed = &answer.replayed.probed;
            let failed = failed_condition(probed);
            let changed = changed(probed, &watched);
            let is_another_from = answer.is_another_from.unwrap_or(Seq::MAX);
            let ended_by = parts.all[at].ended_by(&answer);
            let note = parts.all[at].note(&answer).filter(|note| Some(note) != ended_by.as_ref());
            found.note = found.note.take().or(changed).or(failed).or(note);
            let is_cut = probed.is_full || ended_by.is_some();
            found.ended_by = found.ended_by.take().or(ended_by);
            found.is_outside |= probed.is_outside;
            let (total, ran) = (answer.total, answer.ran);
            let hits = self.hits(&row, code, query, answer).into_iter();
            let own: Vec<_> = hits.filter(|hit| seqs.contains(&hit.seq) && hit.seq < is_another_from).collect();
            // Only some hits of changed code count, so only their number is known.
            let total = total.filter(|_| parts.is_one() && is_another_from == Seq::MAX);
            found.may_be_more |= total.is_none() && is_cut;
            found.total += total.unwrap_or(own.len() as u64);
            found.ran += ran;
            found.hits.extend(own);
        }
        Ok(found)
    }

    /// The path of a file in stored code. The name of a flow's file is enough if there is no file of that path.
    pub(super) fn file_name_in(&self, file: &str) -> String {
        let named = self.path_in(file);
        let lies_in_flows = [format!("flows/{named}"), format!("flows/{named}.ts"), format!("{named}.ts")];
        let found = lies_in_flows.into_iter().find(|path| self.dir.join(path).is_file());
        found.filter(|_| !self.dir.join(&named).is_file()).unwrap_or(named)
    }

    /// The path of a file in the workspace, without links, `.` and `..`: an editor may have opened it by a link.
    fn path_in(&self, file: &str) -> String {
        let whole = self.dir.join(file);
        let shown = |path: &Path| path.display().to_string().replace('\\', "/");
        let real = real_path(&whole);
        let named = whole.strip_prefix(&self.dir).map(|named| shown(named).trim_start_matches("./").to_owned());
        let real = shown(real.strip_prefix(&self.dir).unwrap_or(&real));
        match named {
            // A flow file that is a link inside the workspace is stored by the name of the link.
            Ok(named) if named != real && self.is_flow_file(&named) => named,
            _ => real,
        }
    }

    /// Whether flows are loaded from a file of this name.
    fn is_flow_file(&self, file: &str) -> bool {
        self.with_catalogue(|catalogue| Ok(catalogue.is_flow_file(&self.dir, file))).unwrap_or(false)
    }

    /// Checks the expressions of a query, and returns the names that they use from their scope.
    fn free_names(&self, file: &str, query: &PrintQuery) -> Result<Vec<String>, Fault> {
        if query.expressions.is_empty() {
            return Err(Fault::invalid("print needs an expression, like: print flows/hello.ts:12 input.name"));
        }
        let all = query.expressions.iter().chain(&query.condition);
        let mut names = Vec::new();
        for text in all {
            names.extend(checked(text, file)?);
        }
        Ok(names)
    }

    fn asked_requests(&self, query: &PrintQuery) -> Result<Vec<RequestRow>, Fault> {
        if let Some(request) = &query.request {
            return Ok(vec![self.request(request)?]);
        }
        if let Some(flow) = &query.flow
            && self
                .requests(RequestQuery { flow: query.flow.clone(), limit: Some(1), ..RequestQuery::default() })?
                .is_empty()
        {
            // Fails for an unknown flow.
            self.with_catalogue(|catalogue| catalogue.find(flow))?;
        }
        self.requests(RequestQuery {
            session: query.session.clone(),
            flow: query.flow.clone(),
            status: query.status,
            limit: Some(MAX_LOOKED_AT),
            ..RequestQuery::default()
        })
    }

    fn hits(&self, row: &RequestRow, code: &ProbedCode, query: &PrintQuery, answer: Answer) -> Vec<PrintedHit> {
        let numbers = answer.numbers();
        let hits = answer.replayed.probed.hits.into_iter();
        hits.map(|hit| {
            let (seq, at) = numbers.of(hit.seq);
            let site = &code.table.sites[hit.site as usize];
            let handle = |expression: &str| Handle {
                request: row.id.clone(),
                path: hit.execution.path.to_string(),
                attempt: hit.execution.attempt,
                tick: hit.tick,
                site: hit.site,
                code: code.hash.clone(),
                expression: expression.to_owned(),
                keys: Vec::new(),
            };
            let taken = hit.values.as_array().into_iter().flatten();
            let values = taken.zip(&query.expressions);
            PrintedHit {
                request_id: row.id.clone(),
                path: hit.execution.path.to_string(),
                attempt: hit.execution.attempt,
                tick: hit.tick,
                seq,
                at,
                line: site.line,
                column: site.column,
                values: values.map(|(value, text)| PrintedValue::read(value, || handle(text).text())).collect(),
            }
        })
        .collect()
    }

    /// Returns a note about the line whose hits were found.
    fn known_of_line(&self, place: &Place<'_>, found: &Printed) -> Option<String> {
        let Place { file, names, query } = place;
        let hit = found.hits.first()?;
        let parts = self.parts_of_request(&hit.request_id).ok()?;
        let part = parts.all.iter().find(|part| part.seqs.contains(&hit.seq))?;
        let code = part.code.as_ref().ok()?;
        let today = std::fs::read_to_string(self.dir.join(file)).ok();
        let asked = AskedLine { file, line: query.line, column: query.column, names };
        asked.known(&code.table, code.text(file), today.as_deref(), found)
    }
}

/// Checks an expression, and returns the names that it uses from its scope.
pub(super) fn checked(text: &str, file: &str) -> Result<Vec<String>, Fault> {
    let shown: String = text.chars().take(SHOWN).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    check_expression(text, file).map_err(|wrong| Fault::Invalid {
        message: format!("the expression `{shown}{rest}` {} (column {})", wrong.message, wrong.column),
        details: vec![Detail { path: String::new(), message: format!("column {}", wrong.column) }],
    })
}

/// Describes the selected requests.
fn which(query: &PrintQuery) -> String {
    let parts = [
        query.session.as_ref().map(|session| format!(" of session \"{session}\"")),
        query.flow.as_ref().map(|flow| format!(" of flow \"{flow}\"")),
        query.status.map(|status| format!(" with status {}", status.as_str())),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns a note if an expression changed a value of the run.
fn changed(probed: &Probed, watched: &[String]) -> Option<String> {
    let (name, execution, tick) = probed.changed.as_ref()?;
    let name = watched.get(*name as usize)?;
    Some(format!(
        "an expression changed {name} at {}#{}+{tick}: what is shown of it from there on is not what the run had",
        execution.path, execution.attempt
    ))
}

fn files_of(code: &ProbedCode) -> String {
    let files: Vec<&str> = code.code.sources.iter().map(|source| source.file.as_str()).take(10).collect();
    format!("it ran {}", files.join(", "))
}

pub(super) fn no_statement(code: &ProbedCode, file: &str, line: u32) -> String {
    let text = code.text(file);
    let lines = text.map_or(0, |text| text.lines().count());
    if line as usize > lines {
        return format!("{file} has {lines} lines, not {line}");
    }
    let around = match code.table.around(file, line) {
        (Some(before), Some(after)) => format!("; the nearest are on lines {before} and {after}"),
        (Some(one), None) | (None, Some(one)) => format!("; the nearest is on line {one}"),
        (None, None) => String::new(),
    };
    format!("{file}:{line} holds no statement that a block runs{around}")
}
