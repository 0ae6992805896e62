//! Adds tags, notes and titles to requests and sessions. Changes no log.

use store::{Annotating, Annotation, AnnotationKind, Subject};

use super::super::Workspace;
use crate::core::fault::{Detail, Fault};
use crate::core::id::turns_text;
use crate::core::notice::Notice;
use crate::effects::outside::now_ms;
use crate::views::{TagCount, Tags};

/// Changes of the tags, the note and the title of a request or a session.
#[derive(Clone, Debug, Default)]
pub struct TagChanges {
    /// Tags to add (`true`) or to remove, in this order.
    pub tags: Vec<(bool, String)>,
    /// The new note; an empty one removes the note.
    pub note: Option<String>,
    /// The new title; an empty one removes the title.
    pub title: Option<String>,
    /// The author of the change.
    pub by: Option<String>,
}

impl TagChanges {
    /// Whether there is no change.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.note.is_none() && self.title.is_none()
    }

    /// Converts the changes to annotations, or returns the first error.
    fn annotations(&self) -> Result<Vec<Annotation>, Fault> {
        if let Some((_, tag)) = self.tags.iter().find(|(is_added, tag)| *is_added && tag.starts_with(['+', '-'])) {
            let what = format!("a tag must not begin with + or - (got {tag:?})");
            let details = vec![Detail { path: "+".to_owned(), message: what.clone() }];
            return Err(Fault::Invalid { message: what, details });
        }
        let tags = self.tags.iter().map(|(is_added, tag)| {
            let (kind, sign) =
                if *is_added { (AnnotationKind::TagAdded, "+") } else { (AnnotationKind::TagRemoved, "-") };
            (kind, sign, tag.as_str())
        });
        let note = self.note.iter().map(|note| (AnnotationKind::Note, "--note", note.as_str()));
        let title = self.title.iter().map(|title| (AnnotationKind::Title, "--title", title.trim()));
        let at = now_ms();
        let annotation = |(kind, field, value): (AnnotationKind, &str, &str)| {
            let annotation = Annotation { at, by: self.by.clone(), kind, value: value.to_owned() };
            check(&annotation).map_err(|what| Fault::Invalid {
                message: what.clone(),
                details: vec![Detail { path: field.to_owned(), message: what }],
            })?;
            Ok(annotation)
        };
        tags.chain(note).chain(title).map(annotation).collect()
    }
}

/// Checks an annotation that a person adds. A title is shown next to other text, so like a tag it must not change the
/// direction of that text; titles of older databases may.
fn check(annotation: &Annotation) -> Result<(), String> {
    annotation.check()?;
    match annotation.value.chars().find(|one| annotation.kind == AnnotationKind::Title && turns_text(*one)) {
        Some(bad) => Err(format!(
            "the title has the character U+{:04X}, which changes the direction of the text; remove it",
            u32::from(bad)
        )),
        None => Ok(()),
    }
}

impl Workspace {
    /// All tags of requests, the most used first.
    pub fn tag_counts(&self) -> Result<Vec<TagCount>, Fault> {
        let counts = self.store.tags().map_err(Fault::internal)?;
        Ok(counts.into_iter().map(|(tag, requests)| TagCount { tag, requests }).collect())
    }

    /// The tags, the note and the title of a request or a session.
    pub fn tags(&self, subject: Subject, id: &str) -> Result<Tags, Fault> {
        let found = self.store.annotated(subject, id).map_err(Fault::internal)?;
        let found = found.ok_or_else(|| unknown(subject, id))?;
        Ok(Tags::new(subject, id, found))
    }

    /// Changes the tags, the note or the title of a request or a session. Does not change logs.
    pub fn tag(&self, subject: Subject, id: &str, changes: &TagChanges) -> Result<Tags, Fault> {
        let annotations = changes.annotations()?;
        if annotations.is_empty() {
            return self.tags(subject, id);
        }
        self.check_writable()?;
        match self.store.annotate(subject, id, annotations).map_err(Fault::internal)? {
            Annotating::Done(now) => {
                self.notices.tell(&Notice::Sessions { workspace: self.name.clone() });
                Ok(Tags::new(subject, id, now))
            }
            Annotating::Unknown => Err(unknown(subject, id)),
            Annotating::TooManyTags(most) => Err(Fault::invalid(format!(
                "{} \"{id}\" would have more than {most} tags; remove some first",
                word(subject)
            ))),
        }
    }

    /// [`tag`](Self::tag) for several requests. Skips deleted ones, and returns how many were changed. If one is
    /// refused, the message says how many were changed before it.
    pub fn tag_all(&self, requests: &[String], changes: &TagChanges) -> Result<u32, Fault> {
        let mut changed = 0;
        for request in requests {
            match self.tag(Subject::Request, request, changes) {
                Ok(_) => changed += 1,
                Err(Fault::NotFound { .. }) => {}
                Err(fault) if changed == 0 => return Err(fault),
                Err(fault) => {
                    return Err(
                        fault.followed_by(&format!("; {changed} of {} runs were changed before", requests.len()))
                    );
                }
            }
        }
        Ok(changed)
    }
}

fn word(subject: Subject) -> &'static str {
    match subject {
        Subject::Request => "request",
        Subject::Session => "session",
    }
}

fn unknown(subject: Subject, id: &str) -> Fault {
    Fault::not_found(format!("unknown {} \"{id}\"", word(subject)))
}
