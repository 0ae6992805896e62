//! How often each line of a request's code ran.

use std::collections::{BTreeMap, HashMap};

use engine::event::Seq;
use script::{Asked, Question};

use super::super::Workspace;
use super::parts::Part;
use super::{Answer, Known};
use crate::core::fault::Fault;
use crate::views::{Covered, FileCoverage, LineHits};

/// The lines of a file with their hits. Of a file that was changed: of one of its texts, by the part's number.
type Lines = BTreeMap<(String, Option<usize>), BTreeMap<u32, u64>>;

impl Workspace {
    /// Counts how often the lines of a request's code ran: its code runs again with the effects of the log. Perhaps
    /// only of one file. Of a file that was changed before the request was resumed each text is counted apart. Writes
    /// nothing to the database.
    pub fn coverage(&self, request: &str, file: Option<&str>) -> Result<Covered, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let parts = self.parts(&events)?;
        let newest: Known = parts.codes().next_back().map(|(_, code)| code.clone()).ok_or_else(|| parts.missing());
        let newest = newest.map_err(|why| Fault::not_found(format!("request \"{request}\": {why}")))?;
        let file = file.map(|file| self.file_name_in(file));
        if let Some(file) = file.as_ref().filter(|file| !parts.codes().any(|(_, code)| code.table.has_file(file))) {
            let known: Vec<&str> = newest.code.sources.iter().map(|source| source.file.as_str()).collect();
            return Err(Fault::not_found(format!(
                "request \"{request}\" did not run {file}; it ran {}",
                known.join(", ")
            )));
        }
        let (mut lines, mut note, mut ended_by_limit) = (Lines::new(), None, false);
        for (at, code) in parts.codes() {
            let part = &parts.all[at];
            let by_event = !parts.is_one();
            let known = if by_event { None } else { self.covered(&row, &events, code)? };
            let counts = match known {
                Some(known) => known.counts(),
                None => {
                    let asked = Asked::Counts { by_event };
                    let answer = self.ask(&row, events.clone(), code, Question::default(), asked)?;
                    note = note.or_else(|| part.note(&answer));
                    ended_by_limit |= part.ended_by(&answer).is_some();
                    counts_of(part, &answer, by_event)
                }
            };
            let changed = parts.changed_files(code);
            let mut firsts: HashMap<(&str, u32), u32> = HashMap::new();
            for (number, site) in code.table.sites.iter().enumerate() {
                // Of several on a line the first: that is how often the line ran. If it is a loop, then with its turns.
                let first = *firsts.entry((site.file.as_str(), site.line)).or_insert(number as u32);
                let is_first = first == number as u32 || site.turn_of == Some(first);
                if !is_first || file.as_ref().is_some_and(|file| site.file != *file) {
                    continue;
                }
                let text = changed.contains(site.file.as_str()).then_some(at);
                let hits = counts.get(&(number as u32)).copied().unwrap_or(0);
                *lines.entry((site.file.clone(), text)).or_default().entry(site.line).or_default() += hits;
            }
        }
        let covered = lines.into_iter().map(|((file, text), lines)| {
            let part = text.map(|at| &parts.all[at]);
            FileCoverage {
                file,
                lines: lines.into_iter().map(|(line, hits)| LineHits { line, hits }).collect(),
                code: part.and_then(|part| Some(part.code.as_ref().ok()?.hash.clone())),
                from_seq: part.map(|part| part.seqs.start.max(1)),
                ended_by_limit,
            }
        });
        Ok(Covered { files: covered.collect(), note })
    }
}

/// How often the statements ran in a part of the request.
fn counts_of(part: &Part, answer: &Answer, by_event: bool) -> HashMap<u32, u64> {
    let mut counts: HashMap<u32, u64> = HashMap::new();
    let mut known: HashMap<Seq, bool> = HashMap::new();
    let numbers = answer.numbers();
    for ((site, seq), hits) in &answer.replayed.probed.counts {
        let is_of_part = || part.seqs.contains(&numbers.of(*seq).0);
        if !by_event || *known.entry(*seq).or_insert_with(is_of_part) {
            *counts.entry(*site).or_default() += hits;
        }
    }
    counts
}
