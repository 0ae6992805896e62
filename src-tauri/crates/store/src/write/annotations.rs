//! Tags, notes and titles of requests and sessions.
//!
//! An annotation is stored outside of any request's log: it changes no replay, no verdict and no event.
//! Rows are only added, so the author and time of each stay known; the newest one counts. Must not write events.

use crate::sql::Connection;

use crate::Store;
use crate::row::annotation::{Annotated, Annotation, AnnotationKind, Subject, of_row, row_of};
use crate::row::error::Error;

/// The maximum number of tags of one request or session.
const MAX_TAGS: usize = 100;

/// Statements that delete the rows of a request that do not belong to events (annotations, tags, model usage), a few at
/// a time.
pub(crate) const DELETE_SOME: [&str; 3] = [
    "DELETE FROM annotation WHERE n IN (SELECT n FROM annotation WHERE request = ?1 LIMIT ?2)",
    "DELETE FROM tag WHERE request = ?1 AND name IN (SELECT name FROM tag WHERE request = ?1 LIMIT ?2)",
    "DELETE FROM model_usage WHERE request = ?1 AND (model, paid_by) IN
         (SELECT model, paid_by FROM model_usage WHERE request = ?1 LIMIT ?2)",
];

/// [`DELETE_SOME`] for a session, with its journal.
pub(crate) const DELETE_SOME_OF_SESSION: [&str; 3] = [
    "DELETE FROM journal WHERE session = ?1 AND event IN (SELECT event FROM journal WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM session_annotation WHERE n IN (SELECT n FROM session_annotation WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM session_tag WHERE session = ?1 AND name IN (SELECT name FROM session_tag WHERE session = ?1 LIMIT ?2)",
];

/// The result of adding annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotating {
    /// They are stored; these tags, note and title are now in effect.
    Done(Annotated),
    /// There is no such request or session. Nothing was stored.
    Unknown,
    /// The tags would exceed this limit. Nothing was stored.
    TooManyTags(usize),
}

impl Store {
    /// Adds annotations to a request or a session, all or none, in their order. One that changes nothing adds no row.
    /// They must have been [checked](Annotation::check).
    pub fn annotate(&self, subject: Subject, id: &str, added: Vec<Annotation>) -> Result<Annotating, Error> {
        let id = id.to_owned();
        self.sliced_work()?.write(move |connection, _| {
            let Some(n) = row_of(connection, subject, &id)? else { return Ok(Annotating::Unknown) };
            let before = of_row(connection, subject, n)?;
            if count_after(&before, &added) > MAX_TAGS {
                return Ok(Annotating::TooManyTags(MAX_TAGS));
            }
            for annotation in &added {
                if changes(&of_row(connection, subject, n)?, annotation) {
                    insert(connection, subject, n, annotation)?;
                }
            }
            Ok(Annotating::Done(of_row(connection, subject, n)?))
        })
    }
}

fn changes(before: &Annotated, annotation: &Annotation) -> bool {
    let value = &annotation.value;
    match annotation.kind {
        AnnotationKind::TagAdded => !before.tags.contains(value),
        AnnotationKind::TagRemoved => before.tags.contains(value),
        AnnotationKind::Note => before.note.as_deref().unwrap_or_default() != value,
        AnnotationKind::Title => before.title.as_deref().unwrap_or_default() != value,
    }
}

fn count_after(before: &Annotated, added: &[Annotation]) -> usize {
    let mut tags: std::collections::BTreeSet<&str> = before.tags.iter().map(String::as_str).collect();
    for annotation in added {
        match annotation.kind {
            AnnotationKind::TagAdded => _ = tags.insert(&annotation.value),
            AnnotationKind::TagRemoved => _ = tags.remove(annotation.value.as_str()),
            AnnotationKind::Note | AnnotationKind::Title => {}
        }
    }
    // Existing tags may exceed the limit, because older versions had none; only more tags are refused.
    if tags.len() > before.tags.len() { tags.len() } else { 0 }
}

/// Adds a row, and updates the tags and the title derived from it.
pub(crate) fn insert(connection: &Connection, subject: Subject, n: i64, annotation: &Annotation) -> Result<(), Error> {
    let Annotation { at, by, kind, value } = annotation;
    let (annotations, tags, row) = (subject.annotations(), subject.tags(), subject.table());
    let sql = format!("INSERT INTO {annotations} ({row}, at, by, kind, value) VALUES (?1, ?2, ?3, ?4, ?5)");
    connection.prepare_cached(&sql)?.execute((n, at, by, kind.as_str(), value))?;
    let sql = match kind {
        AnnotationKind::TagAdded => format!("INSERT INTO {tags} (name, {row}) VALUES (?2, ?1) ON CONFLICT DO NOTHING"),
        AnnotationKind::TagRemoved => format!("DELETE FROM {tags} WHERE name = ?2 AND {row} = ?1"),
        AnnotationKind::Title => format!("UPDATE {row} SET {} = nullif(?2, '') WHERE n = ?1", subject.title()),
        AnnotationKind::Note => return Ok(()),
    };
    connection.prepare_cached(&sql)?.execute((n, value))?;
    Ok(())
}
