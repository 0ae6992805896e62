//! What lists show of a request: the first words of its input, what it used of models, its emitter, its tags and its
//! title.

use std::collections::BTreeSet;

use crate::sql::{Connection, without_nul};
use engine::event::{EventKind, Seq};

use super::{Checked, debug_difference, difference};
use crate::row::annotation::{self, AnnotationKind, Subject};
use crate::row::error::Error;
use crate::row::input_words;
use crate::row::model_usage::DerivedUsage;

/// What the events of one request derive.
#[derive(Default)]
pub(super) struct ListsCheck {
    words: Option<String>,
    /// The words as older versions derived them: their rows keep them. The oldest ones did not regard edited inputs.
    words_before: Vec<Option<String>>,
    emitter: Option<String>,
    usage: DerivedUsage,
    /// The last event that a fork has in common with its origin, 0 if the request is no fork.
    last_copied: Seq,
    /// Whether an event cannot be read: then it is not known what it derived.
    is_damaged: bool,
}

impl ListsCheck {
    /// Takes the next event in, if it can be read.
    pub(super) fn add(&mut self, seq: Seq, path: Option<&str>, kind: Option<&EventKind>) {
        let Some(kind) = kind else {
            self.is_damaged = true;
            return;
        };
        if input_words::holds_input(kind, path) {
            let replaced = std::mem::replace(&mut self.words, input_words::of_request(kind));
            self.words_before.extend((seq > 1).then_some(replaced));
            self.words_before.extend(input_words::of_request_before(kind));
        }
        if let EventKind::RequestStarted { foreign: Some(foreign), .. } = kind {
            self.emitter = Some(foreign.emitter.clone());
        }
        if let EventKind::RequestStarted { forked_from: Some(from), .. } = kind {
            self.last_copied = from.seq;
        }
        self.usage.add(seq, kind, self.is_copied(seq));
    }

    /// Whether a fork has an event in common with its origin.
    pub(super) fn is_copied(&self, seq: Seq) -> bool {
        (2..=self.last_copied).contains(&seq)
    }

    /// Compares it, and what follows from the annotations, with the rows.
    pub(super) fn compare(
        self,
        connection: &Connection,
        found: &mut Checked,
        (n, id): (i64, &str),
    ) -> Result<(), Error> {
        let (words, tokens, title, emitter): (Option<String>, i64, Option<String>, Option<String>) = connection
            .prepare_cached("SELECT words, tokens, title, emitter FROM request WHERE n = ?1")?
            .query_row((n,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        let mut wrong = |what: &str, by: &str, difference: Option<(String, String)>| {
            if let Some((stored, derived)) = difference {
                found.add(Some(id), None, format!("its {what} is {stored}; its {by} say {derived}"));
            }
        };
        if !self.is_damaged {
            let used = DerivedUsage::stored(connection, n)?;
            // A file of an older version has the letter that is replaced now.
            let words = words.map(without_nul);
            let derived = self.words_before.iter().find(|before| **before == words).unwrap_or(&self.words);
            wrong("line of first words", "events", debug_difference(&words, derived));
            wrong("emitter", "events", debug_difference(&emitter, &self.emitter));
            wrong("number of tokens", "events", difference(&tokens, &self.usage.tokens()));
            wrong("use of models", "events", debug_difference(&used, &self.usage.used));
        }
        check_annotations(connection, (Subject::Request, n), title, &mut wrong)
    }
}

/// Compares what follows from the annotations of a request or a session with its rows. `wrong` hears what it is, which
/// rows say otherwise, and what was stored and derived where they differ.
pub(super) fn check_annotations(
    connection: &Connection,
    (subject, n): (Subject, i64),
    title: Option<String>,
    wrong: &mut impl FnMut(&str, &str, Option<(String, String)>),
) -> Result<(), Error> {
    let (mut tags, mut named) = (BTreeSet::new(), None);
    for added in annotation::all_of(connection, subject, n)? {
        if let Err(what) = added.check() {
            wrong("annotations", "rules", Some((format!("{:?}", added.value), what)));
        }
        match added.kind {
            AnnotationKind::TagAdded => _ = tags.insert(added.value),
            AnnotationKind::TagRemoved => _ = tags.remove(&added.value),
            AnnotationKind::Title => named = Some(added.value).filter(|title| !title.is_empty()),
            AnnotationKind::Note => {}
        }
    }
    let stored: BTreeSet<String> = annotation::tags_of(connection, subject, n)?.into_iter().collect();
    wrong("list of tags", "annotations", debug_difference(&stored, &tags));
    wrong("title", "annotations", debug_difference(&title, &named));
    Ok(())
}
