//! Reads filters, and the words that filters of other lists are made of.

use engine::event::BlockKind;
use engine::views::blocks::BlockStatus;

use super::{Compare, Figure, Term, Test};
use crate::core::fault::{Detail, Fault};

const KINDS: [BlockKind; 5] =
    [BlockKind::Handler, BlockKind::Sequencer, BlockKind::Router, BlockKind::Generator, BlockKind::Hook];
const STATUSES: [(&str, BlockStatus); 7] = [
    ("running", BlockStatus::Running),
    ("completed", BlockStatus::Completed),
    ("failed", BlockStatus::Failed),
    ("returned_error", BlockStatus::ReturnedError),
    ("timed_out", BlockStatus::TimedOut),
    ("suspended", BlockStatus::Suspended),
    ("abandoned", BlockStatus::Abandoned),
];
const FIGURES: [(&str, Figure); 5] = [
    ("dur", Figure::Duration),
    ("attempt", Figure::Attempt),
    ("items", Figure::Items),
    ("writes", Figure::Writes),
    ("tokens", Figure::Tokens),
];
/// Longer ones first: `>=` is not `>`.
const SIGNS: [(&str, Compare); 6] = [
    (">=", Compare::AtLeast),
    ("<=", Compare::AtMost),
    (">", Compare::Above),
    ("<", Compare::Below),
    ("=", Compare::Equal),
    (":", Compare::Equal),
];
/// Longer ones first: `ms` is not `s`.
pub(crate) const UNITS: [(&str, f64); 4] = [("ms", 1.0), ("s", 1_000.0), ("m", 60_000.0), ("h", 3_600_000.0)];
const FIELDS: &str = "kind, status, dur, name, path, attempt, items, writes and tokens";

/// Each term is checked on every block, so a long text pasted by mistake would keep a view busy for minutes.
const MAX_TERMS: usize = 64;
const MAX_CHARACTERS: usize = 4_096;

/// The error of a filter at a column, counted in characters from 1.
pub(crate) fn wrong(at: usize, what: impl Into<String>) -> Fault {
    let what = what.into();
    Fault::Invalid {
        message: format!("invalid filter at column {at}: {what}"),
        details: vec![Detail { path: at.to_string(), message: what }],
    }
}

/// A word of a filter, where it begins, and where quotes begin in it.
pub(crate) struct Word {
    at: usize,
    text: String,
    /// How many bytes of `text` stand before the first quote; all of them where there is none.
    plain: usize,
}

/// A word as `-NAME SIGN VALUE`, or as a text.
pub(crate) struct Part<'a> {
    pub(crate) is_negated: bool,
    /// The column at which the name or the text begins, from 1.
    pub(crate) at: usize,
    /// The field name before the first `:`, `<`, `>` or `=`. `None` if the term is only a text.
    pub(crate) name: Option<&'a str>,
    /// The text, or the sign and the value.
    pub(crate) rest: &'a str,
}

/// The words of a filter: between blanks, where quotes keep blanks together.
fn words(text: &str) -> Result<Vec<Word>, Fault> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    for (at, letter) in (1..).zip(text.chars()) {
        if letter.is_whitespace() && quote.is_none() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert(Word { at, text: String::new(), plain: usize::MAX });
        match letter {
            '"' => {
                word.plain = word.plain.min(word.text.len());
                quote = if quote.is_some() { None } else { Some(at) };
            }
            letter => word.text.push(letter),
        }
    }
    if let Some(at) = quote {
        return Err(wrong(at, "unclosed quote; write \"…\" around text with spaces"));
    }
    words.extend(word);
    Ok(words)
}

/// The words of a filter that is not too long.
pub(crate) fn checked_words(text: &str) -> Result<Vec<Word>, Fault> {
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        return Err(wrong(MAX_CHARACTERS + 1, format!("a filter has at most {MAX_CHARACTERS} characters")));
    }
    let words = words(text)?;
    if let Some(word) = words.get(MAX_TERMS) {
        let count = words.len();
        return Err(wrong(word.at, format!("there are {count} terms, and a filter has at most {MAX_TERMS}")));
    }
    Ok(words)
}

impl Word {
    /// Takes the word apart.
    pub(crate) fn part(&self) -> Result<Part<'_>, Fault> {
        let Word { at, text, plain } = self;
        let is_negated = text.starts_with('-') && *plain > 0;
        let (rest, at) = if is_negated { (&text[1..], at + 1) } else { (text.as_str(), *at) };
        let plain = plain.saturating_sub(usize::from(is_negated)).min(rest.len());
        if rest.is_empty() {
            let what = if is_negated {
                "there is nothing after \"-\"; write what is not wanted, like -status:completed"
            } else {
                "there is nothing between the quotes"
            };
            return Err(wrong(at, what));
        }
        // A sign inside quotes separates nothing.
        let (name, rest) = match rest[..plain].find([':', '<', '>', '=']) {
            None => (None, rest),
            Some(end) => (Some(&rest[..end]), &rest[end..]),
        };
        Ok(Part { is_negated, at, name, rest })
    }
}

/// The terms of a filter.
pub(super) fn terms(text: &str) -> Result<Vec<Term>, Fault> {
    let words = checked_words(text)?;
    let term = |word: Word| {
        let Part { is_negated, at, name, rest } = word.part()?;
        let test = match name {
            None => Test::Text(rest.to_lowercase()),
            Some(name) => field(name, rest, at)?,
        };
        Ok(Term { is_negated, test })
    };
    words.into_iter().map(term).collect()
}

fn field(name: &str, rest: &str, at: usize) -> Result<Test, Fault> {
    let (sign, compare) =
        SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)).copied().unwrap_or((":", Compare::Equal));
    let value = &rest[sign.len()..];
    let value_at = at + name.chars().count() + sign.len();
    let figure = FIGURES.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure);
    if figure.is_none() && !["kind", "status", "name", "path"].contains(&name) {
        let text = format!("{name}{rest}");
        return Err(wrong(
            at,
            format!("\"{name}\" is not a field; there are {FIELDS}. To search for text, quote it: \"{text}\""),
        ));
    }
    if value.is_empty() {
        return Err(wrong(value_at, format!("there is nothing after \"{name}{sign}\"; write {}", example(name))));
    }
    if let Some(figure) = figure {
        if figure == Figure::Writes && sign == ":" && value.parse::<f64>().is_err() {
            return Ok(Test::WritesTo(value.to_owned()));
        }
        return Ok(Test::Figure(figure, compare, number(figure, value, value_at)?));
    }
    if sign != ":" {
        let sign_at = at + name.chars().count();
        return Err(wrong(sign_at, format!("\"{name}\" cannot be compared with \"{sign}\"; write {}", example(name))));
    }
    match name {
        "kind" => {
            let kind = KINDS.into_iter().find(|kind| kind.as_str() == value);
            let known = KINDS.map(BlockKind::as_str).join(", ");
            kind.map(Test::Kind).ok_or_else(|| wrong(value_at, format!("\"{value}\" is not a kind; there are {known}")))
        }
        "status" => {
            let status = STATUSES.iter().find(|(known, _)| *known == value);
            let known = STATUSES.map(|(known, _)| known).join(", ");
            let status = status.map(|(_, status)| Test::Status(*status));
            status.ok_or_else(|| wrong(value_at, format!("\"{value}\" is not a status; there are {known}")))
        }
        "name" => Ok(Test::Name(value.to_lowercase())),
        _ => Ok(Test::Path(value.to_owned())),
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "kind" => "kind:generator",
        "status" => "status:failed",
        "dur" => "dur>1s, dur<=20ms",
        "name" => "name:search",
        "path" => "path:root/step:plan/*",
        "attempt" => "attempt>0",
        "items" => "items>0",
        "writes" => "writes>0, writes:session.plan",
        _ => "tokens>100",
    }
}

fn number(figure: Figure, text: &str, at: usize) -> Result<f64, Fault> {
    let parse = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    if figure == Figure::Duration {
        let unit = UNITS.iter().find_map(|(unit, ms)| Some(parse(text.strip_suffix(unit)?)? * ms));
        let what = || format!("\"{text}\" is not a time; write it like 20ms, 1.5s, 2m or 1h");
        return unit.ok_or_else(|| wrong(at, what()));
    }
    parse(text).ok_or_else(|| wrong(at, format!("\"{text}\" is not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        match terms(text) {
            Ok(terms) => panic!("{text} is read as {terms:?}"),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn terms_are_read() {
        let term = |test| Term { is_negated: false, test };
        let read =
            terms("kind:generator  dur>1.5s dur<=20ms -name:Search path:root/x/* \"Two words\" writes:session.plan")
                .expect("it is right");
        let expected = [
            term(Test::Kind(BlockKind::Generator)),
            term(Test::Figure(Figure::Duration, Compare::Above, 1_500.0)),
            term(Test::Figure(Figure::Duration, Compare::AtMost, 20.0)),
            Term { is_negated: true, test: Test::Name("search".to_owned()) },
            term(Test::Path("root/x/*".to_owned())),
            term(Test::Text("two words".to_owned())),
            term(Test::WritesTo("session.plan".to_owned())),
        ];
        assert_eq!(read, expected);
        let read = terms("attempt>0 items:2 tokens>=100 writes>0 -\"-a:b\" name:\"a b\" -x").expect("it is right");
        let expected = [
            term(Test::Figure(Figure::Attempt, Compare::Above, 0.0)),
            term(Test::Figure(Figure::Items, Compare::Equal, 2.0)),
            term(Test::Figure(Figure::Tokens, Compare::AtLeast, 100.0)),
            term(Test::Figure(Figure::Writes, Compare::Above, 0.0)),
            Term { is_negated: true, test: Test::Text("-a:b".to_owned()) },
            term(Test::Name("a b".to_owned())),
            Term { is_negated: true, test: Test::Text("x".to_owned()) },
        ];
        assert_eq!(read, expected);
        assert_eq!(terms("  ").expect("nothing is right"), []);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_would_be_right() {
        let wrong = [
            ("a sttus:failed", "column 3: \"sttus\" is not a field; there are kind, status, dur"),
            (
                "step:search",
                "column 1: \"step\" is not a field; there are kind, status, dur, name, path, attempt, items, \
                             writes and tokens. To search for text, quote it: \"step:search\"",
            ),
            ("status:broken", "column 8: \"broken\" is not a status; there are running, completed, failed"),
            ("-kind:agent", "column 7: \"agent\" is not a kind; there are handler, sequencer, router, generator"),
            ("dur>soon", "column 5: \"soon\" is not a time; write it like 20ms"),
            ("dur>5", "column 5: \"5\" is not a time"),
            ("items>many", "column 7: \"many\" is not a number"),
            ("items>-1", "column 7: \"-1\" is not a number"),
            ("status:", "column 8: there is nothing after \"status:\"; write status:failed"),
            ("name>x", "column 5: \"name\" cannot be compared with \">\"; write name:search"),
            ("a \"b c", "column 3: unclosed quote"),
            ("-", "column 2: there is nothing after \"-\""),
            ("\"\"", "column 1: there is nothing between the quotes"),
        ];
        for (text, expected) in wrong {
            let told = told(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
