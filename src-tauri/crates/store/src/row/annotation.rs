//! Annotations: the tags, notes and titles that people add to requests and sessions. How they are encoded, and what
//! holds of a request or a session.
//!
//! Must not write.

use crate::sql::{Connection, OptionalExtension};

use crate::row::error::Error;

/// The longest tag, in characters.
const MAX_TAG_CHARS: usize = 64;
/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The longest note, in characters.
const MAX_NOTE_CHARS: usize = 10_000;
/// The longest name of a person, in characters.
const MAX_NAME_CHARS: usize = 200;

/// What annotations are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A request.
    Request,
    /// A session.
    Session,
}

impl Subject {
    /// The table with its row; also the column that names the row in the tables of annotations and tags.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Subject::Request => "request",
            Subject::Session => "session",
        }
    }

    /// The table with its annotations.
    pub(crate) fn annotations(self) -> &'static str {
        match self {
            Subject::Request => "annotation",
            Subject::Session => "session_annotation",
        }
    }

    /// The table with its tags.
    pub(crate) fn tags(self) -> &'static str {
        match self {
            Subject::Request => "tag",
            Subject::Session => "session_tag",
        }
    }

    /// The column of its row with the title that a person gave it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Subject::Request => "title",
            Subject::Session => "given_title",
        }
    }
}

/// What an annotation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationKind {
    /// Adds a tag.
    TagAdded,
    /// Removes a tag.
    TagRemoved,
    /// Sets the note; an empty one removes it.
    Note,
    /// Sets the title; an empty one removes it.
    Title,
}

impl AnnotationKind {
    const ALL: [AnnotationKind; 4] =
        [AnnotationKind::TagAdded, AnnotationKind::TagRemoved, AnnotationKind::Note, AnnotationKind::Title];

    /// Its stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            AnnotationKind::TagAdded => "tag_added",
            AnnotationKind::TagRemoved => "tag_removed",
            AnnotationKind::Note => "note",
            AnnotationKind::Title => "title",
        }
    }

    /// The kind with this stored name.
    pub fn parse(name: &str) -> Option<AnnotationKind> {
        AnnotationKind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// One change of the tags, the note or the title of a request or a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// When it was made, in milliseconds since 1970.
    pub at: i64,
    /// Who made it, if that is known.
    pub by: Option<String>,
    /// What it does.
    pub kind: AnnotationKind,
    /// The tag, the note or the title.
    pub value: String,
}

impl Annotation {
    /// Says what is wrong with it, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        let value = &self.value;
        let count = |text: &str, most: usize| text.chars().take(most + 1).count();
        let too_long = |what: &str, most: usize| Err(format!("a {what} has at most {most} characters"));
        if let Some(by) = &self.by
            && (count(by, MAX_NAME_CHARS) > MAX_NAME_CHARS || by.chars().any(char::is_control))
        {
            return Err(format!("a name has at most {MAX_NAME_CHARS} characters, and no control characters"));
        }
        match self.kind {
            AnnotationKind::TagAdded | AnnotationKind::TagRemoved => {
                let shown: String = value.chars().take(MAX_TAG_CHARS).collect();
                if value.is_empty() {
                    Err("a tag has at least one character".to_owned())
                } else if count(value, MAX_TAG_CHARS) > MAX_TAG_CHARS {
                    too_long("tag", MAX_TAG_CHARS)
                } else if let Some(bad) = value.chars().find(|one| is_refused_in_tag(*one)) {
                    let code = u32::from(bad);
                    let bad = if bad == ',' || bad == ' ' { format!("\"{bad}\"") } else { format!("U+{code:04X}") };
                    Err(format!(
                        "the tag {shown:?} has the character {bad}; a tag has no commas, spaces, control characters or \
                         invisible characters"
                    ))
                } else {
                    Ok(())
                }
            }
            AnnotationKind::Title if count(value, MAX_TITLE_CHARS) > MAX_TITLE_CHARS => {
                too_long("title", MAX_TITLE_CHARS)
            }
            AnnotationKind::Title if value.chars().any(char::is_control) => {
                Err("a title is one line without control characters".to_owned())
            }
            AnnotationKind::Note if count(value, MAX_NOTE_CHARS) > MAX_NOTE_CHARS => too_long("note", MAX_NOTE_CHARS),
            AnnotationKind::Note if value.chars().any(|one| one.is_control() && !matches!(one, '\n' | '\r' | '\t')) => {
                Err("a note has no control characters except line breaks and tabs".to_owned())
            }
            AnnotationKind::Title | AnnotationKind::Note => Ok(()),
        }
    }
}

/// Whether a tag must not have a character: two tags that look the same would be different ones.
fn is_refused_in_tag(one: char) -> bool {
    let is_invisible = matches!(one,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    one == ',' || one.is_whitespace() || one.is_control() || is_invisible
}

/// What holds of a request or a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotated {
    /// Its tags, in the order of their characters.
    pub tags: Vec<String>,
    /// Its note.
    pub note: Option<String>,
    /// Its title.
    pub title: Option<String>,
}

/// What holds of the request or session with this number.
pub(crate) fn of_row(connection: &Connection, subject: Subject, n: i64) -> Result<Annotated, Error> {
    let (table, column) = (subject.annotations(), subject.table());
    let tags = tags_of(connection, subject, n)?;
    let newest = |kind: AnnotationKind| -> Result<Option<String>, Error> {
        let mut statement = connection.prepare_cached(&format!(
            "SELECT value FROM {table} WHERE {column} = ?1 AND kind = ?2 ORDER BY n DESC LIMIT 1"
        ))?;
        let value: Option<String> = statement.query_row((n, kind.as_str()), |row| row.get(0)).optional()?;
        Ok(value.filter(|value| !value.is_empty()))
    };
    Ok(Annotated { tags, note: newest(AnnotationKind::Note)?, title: newest(AnnotationKind::Title)? })
}

/// The tags of the request or session with this number, in the order of their characters.
pub(crate) fn tags_of(connection: &Connection, subject: Subject, n: i64) -> Result<Vec<String>, Error> {
    let (table, column) = (subject.tags(), subject.table());
    let mut statement =
        connection.prepare_cached(&format!("SELECT name FROM {table} WHERE {column} = ?1 ORDER BY name"))?;
    Ok(statement.query_map((n,), |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// The number of the row of a request or a session.
pub(crate) fn row_of(connection: &Connection, subject: Subject, id: &str) -> Result<Option<i64>, Error> {
    let mut statement = connection.prepare_cached(&format!("SELECT n FROM {} WHERE id = ?1", subject.table()))?;
    Ok(statement.query_row((id,), |row| row.get(0)).optional()?)
}

/// All annotations of a request or a session, oldest first, by the number of its row.
pub(crate) fn all_of(connection: &Connection, subject: Subject, n: i64) -> Result<Vec<Annotation>, Error> {
    let (table, column) = (subject.annotations(), subject.table());
    let mut statement = connection
        .prepare_cached(&format!("SELECT at, by, kind, value FROM {table} WHERE {column} = ?1 ORDER BY n"))?;
    let mut rows = statement.query((n,))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let kind: String = row.get(2)?;
        let kind = AnnotationKind::parse(&kind)
            .ok_or_else(|| Error::Damaged(format!("\"{kind}\" is not a kind of annotation")))?;
        found.push(Annotation { at: row.get(0)?, by: row.get(1)?, kind, value: row.get(3)? });
    }
    Ok(found)
}
