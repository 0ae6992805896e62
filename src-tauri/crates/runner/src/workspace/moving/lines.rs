//! A bundle's records as the lines of an export, and back. Must not decide what is exported or imported.

use engine::event::Event;
use store::{Annotation, AnnotationKind, BundleRecord, Subject};

use crate::workspace::export_format::Line;

/// The line of a record.
pub(super) fn line_of(piece: BundleRecord) -> Line {
    match piece {
        BundleRecord::Record { scope, version, state } => Line::Record { scope, version, state },
        BundleRecord::Code { hash, code } => Line::Code { hash, code },
        BundleRecord::Event { request, event } => {
            let Event { seq, at, path, attempt, kind } = *event;
            Line::Event { request, seq, at, path, attempt, event: Box::new(kind) }
        }
        BundleRecord::Annotation { subject, id, annotation: Annotation { at, by, kind, value } } => {
            let kind = kind.as_str().to_owned();
            match subject {
                Subject::Request => Line::Annotation { request: id, at, by, kind, value },
                Subject::Session => Line::SessionAnnotation { session: id, at, by, kind, value },
            }
        }
    }
}

/// The record of a line; `None` of a line that is none of a bundle's.
pub(super) fn piece(line: Line) -> Option<BundleRecord> {
    match line {
        Line::Record { scope, version, state } => Some(BundleRecord::Record { scope, version, state }),
        Line::Code { hash, code } => Some(BundleRecord::Code { hash, code }),
        Line::Event { request, seq, at, path, attempt, event } => {
            Some(BundleRecord::Event { request, event: Box::new(Event { seq, at, path, attempt, kind: *event }) })
        }
        // A kind of a later version is left out.
        Line::Annotation { request, at, by, kind, value } => AnnotationKind::parse(&kind).map(|kind| {
            let annotation = Annotation { at, by, kind, value };
            BundleRecord::Annotation { subject: Subject::Request, id: request, annotation }
        }),
        Line::SessionAnnotation { session, at, by, kind, value } => AnnotationKind::parse(&kind).map(|kind| {
            let annotation = Annotation { at, by, kind, value };
            BundleRecord::Annotation { subject: Subject::Session, id: session, annotation }
        }),
        Line::Expectation { .. } | Line::Request { .. } | Line::Item { .. } => None,
    }
}
