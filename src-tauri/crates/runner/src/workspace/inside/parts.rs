//! The parts of a request by the versions of its code: one that was resumed after its files changed ran several.
//!
//! Each part is asked with the code that it ran, and what is found is kept for the part alone. Must not ask: what is
//! asked is decided by the questions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use script::Execution;

use super::super::Workspace;
use super::probed_code::ProbedCode;
use super::{Answer, Known};
use crate::core::fault::Fault;
use crate::views::ImportedSource;

/// A part of a request that ran one version of its code.
pub(super) struct Part {
    /// Its first event, and the first of the part after it.
    pub(super) seqs: std::ops::Range<Seq>,
    pub(super) code: Known,
}

/// The parts of a request, the oldest first, and when its blocks began.
pub(super) struct Parts {
    pub(super) all: Vec<Part>,
    begun: HashMap<Execution, Seq>,
}

impl Parts {
    /// Whether all of the request ran the same code.
    pub(super) fn is_one(&self) -> bool {
        self.all.len() == 1
    }

    /// The part in which an execution began, by its place; the first one for what is not known.
    pub(super) fn of(&self, execution: &Execution) -> usize {
        let begin = self.begun.get(execution).copied().unwrap_or(0);
        self.all.iter().position(|part| part.seqs.contains(&begin)).unwrap_or(0)
    }

    /// Whether a part ran an execution: a request whose code stayed the same has one part for all.
    pub(super) fn has(&self, part: usize, execution: &Execution) -> bool {
        self.is_one() || self.of(execution) == part
    }

    /// The codes that are there, the oldest first.
    pub(super) fn codes(&self) -> impl DoubleEndedIterator<Item = (usize, &Arc<ProbedCode>)> {
        self.all.iter().enumerate().filter_map(|(at, part)| Some((at, part.code.as_ref().ok()?)))
    }

    /// Why nothing can be asked: what the newest part misses.
    pub(super) fn missing(&self) -> String {
        let why = self.all.last().and_then(|part| part.code.as_ref().err().cloned());
        why.unwrap_or_else(|| "it has not begun".to_owned())
    }

    /// The files of a code that have another text in another part.
    pub(super) fn changed_files<'c>(&self, code: &'c ProbedCode) -> HashSet<&'c str> {
        let is_changed = |file: &&str| self.codes().any(|(_, other)| other.text(file) != code.text(file));
        code.code.sources.iter().map(|source| source.file.as_str()).filter(is_changed).collect()
    }
}

impl Part {
    /// What is to be said of an answer about this part. What its code would do in the others is of no interest, except
    /// that what came before decides what its blocks are given.
    pub(super) fn note(&self, answer: &Answer) -> Option<String> {
        let divergence = answer.replayed.result.first.as_ref().map(|first| &first.divergence);
        match divergence {
            Some(divergence) if divergence.seq < self.seqs.start => Some(format!(
                "the code was changed before event {}, and the changed code does something else than the recording at \
                 {} (event {}), which ended before: what blocks after it get from it may not be what they had",
                self.seqs.start, divergence.path, divergence.seq
            )),
            Some(divergence) if divergence.seq >= self.seqs.end => None,
            _ => answer.note.clone(),
        }
    }

    /// Says which limit ended the replay of the part.
    pub(super) fn ended_by(&self, answer: &Answer) -> Option<String> {
        let divergence = answer.replayed.result.first.as_ref().map(|first| &first.divergence);
        let is_before_end = divergence.is_none_or(|divergence| divergence.seq < self.seqs.end);
        answer.ended_by.clone().filter(|_| is_before_end)
    }
}

impl Workspace {
    /// Returns the parts of a request by the versions of its code.
    pub(super) fn parts(&self, events: &[Event]) -> Result<Parts, Fault> {
        let mut parts: Vec<(Seq, &str)> = Vec::new();
        for event in events {
            if let EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } =
                &event.kind
                && parts.last().is_none_or(|(_, last)| last != code_hash)
            {
                // What a fork has in common with its request comes before the first.
                parts.push((if parts.is_empty() { 0 } else { event.seq }, code_hash));
            }
        }
        let ends: Vec<Seq> = parts.iter().skip(1).map(|(seq, _)| *seq).chain([Seq::MAX]).collect();
        let missing = "its code is not in this database: it came in a .run file, which holds no code, it was recorded \
                       by a version that kept none, or the database is damaged";
        let part = |((from, hash), end): ((Seq, &str), Seq)| {
            let missing = if hash.is_empty() { "it was received as a trace, without code" } else { missing };
            let code = self.probed_code(hash)?.ok_or_else(|| missing.to_owned());
            Ok(Part { seqs: from..end, code })
        };
        let all: Vec<Part> = parts.into_iter().zip(ends).map(part).collect::<Result<_, Fault>>()?;
        let mut begun = HashMap::new();
        for event in events.iter().filter(|_| all.len() > 1) {
            if let (EventKind::BlockStarted { .. }, Some(path)) = (&event.kind, &event.path) {
                begun.entry(Execution { path: path.clone(), attempt: event.attempt }).or_insert(event.seq);
            }
        }
        Ok(Parts { all, begun })
    }

    /// Returns the author's files of each version of the code that a request ran, the oldest first, with the hash of
    /// the version. Versions that are not stored are left out.
    pub fn versions_that_ran(&self, request: &str) -> Result<Vec<(String, Vec<ImportedSource>)>, Fault> {
        let (_, events) = self.log_of(request)?;
        let parts = self.parts(&events)?;
        let files = |code: &ProbedCode| {
            let (of_flow, others): (Vec<_>, Vec<_>) =
                code.code.sources.iter().partition(|source| source.file == code.code.file);
            let all = of_flow.into_iter().chain(others);
            all.map(|source| ImportedSource { file: source.file.clone(), text: source.text.clone() }).collect()
        };
        let versions: Vec<_> = parts.codes().map(|(_, code)| (code.hash.clone(), files(code))).collect();
        if versions.is_empty() {
            return Err(Fault::not_found(format!("request \"{request}\": {}", parts.missing())));
        }
        Ok(versions)
    }
}
