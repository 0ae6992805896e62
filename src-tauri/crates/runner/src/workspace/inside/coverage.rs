//! How often each line of a request's code ran.

use std::collections::BTreeMap;

use script::{Asked, Question};

use super::super::Workspace;
use crate::core::fault::Fault;
use crate::views::{Covered, FileCoverage, LineHits};

impl Workspace {
    /// Counts how often the lines of a request's code ran: its code runs again with the effects of the log. Perhaps
    /// only of one file. Writes nothing to the database.
    pub fn coverage(&self, request: &str, file: Option<&str>) -> Result<Covered, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let code =
            self.code_of_request(request)?.map_err(|why| Fault::not_found(format!("request \"{request}\": {why}")))?;
        let file = file.map(|file| self.file_name_in(file));
        if let Some(file) = file.as_ref().filter(|file| !code.table.has_file(file)) {
            let known: Vec<&str> = code.code.sources.iter().map(|source| source.file.as_str()).collect();
            return Err(Fault::not_found(format!(
                "request \"{request}\" did not run {file}; it ran {}",
                known.join(", ")
            )));
        }
        let answer = self.ask(&row, events, &code, Question::default(), Asked::Counts)?;
        let (counts, note) = (answer.replayed.probed.counts, answer.note);
        let mut lines: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
        for (at, site) in code.table.sites.iter().enumerate() {
            let hits = counts.get(&(at as u32)).copied().unwrap_or(0);
            // Of several on a line the first: that is how often the line ran.
            lines.entry(&site.file).or_default().entry(site.line).or_insert(hits);
        }
        let wanted = lines.into_iter().filter(|(of, _)| file.as_deref().is_none_or(|file| file == *of));
        let covered = wanted.map(|(file, lines)| FileCoverage {
            file: file.to_owned(),
            lines: lines.into_iter().map(|(line, hits)| LineHits { line, hits }).collect(),
        });
        Ok(Covered { files: covered.collect(), note })
    }
}
