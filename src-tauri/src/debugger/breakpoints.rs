//! Breakpoints: at statements, at writes to a state, and at blocks that failed. Each has all its stops in the order of
//! the request's statements, so that the next and the previous stop can be looked up.

use std::str::FromStr;

use runner::{Breakpoint, Stopped};

/// The kind of a breakpoint.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A statement.
    Line(AtLine),
    /// A write to a path of a state: `session.plan`.
    State { address: String, hits: Option<HitCondition> },
    /// A block that failed.
    Failed,
}

/// A breakpoint at a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AtLine {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: Option<u32>,
    pub(super) condition: Option<String>,
    pub(super) hits: Option<HitCondition>,
    /// The message of a log point, which does not stop.
    pub(super) log: Option<LogMessage>,
}

/// A breakpoint of a session.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Counted from 1, never reused.
    pub(super) number: u32,
    pub(super) kind: Kind,
    /// The line of its statement.
    pub(super) line: Option<u32>,
    /// In order of time.
    pub(super) stops: Vec<Stopped>,
    /// Why it never stops, or another note for the person.
    pub(super) note: Option<String>,
}

impl Held {
    /// Its name for people: the place and the condition.
    pub(super) fn name(&self) -> String {
        match &self.kind {
            Kind::Line(at) => {
                let line = self.line.unwrap_or(at.line);
                let column = at.column.map(|column| format!(":{column}")).unwrap_or_default();
                let condition = at.condition.as_ref().map(|text| format!(" if {text}")).unwrap_or_default();
                format!("{}:{line}{column}{condition}", at.file)
            }
            Kind::State { address, .. } => format!("writes to {address}"),
            Kind::Failed => "blocks that failed".to_owned(),
        }
    }

    /// Whether it is a log point, which does not stop.
    pub(super) fn is_log(&self) -> bool {
        matches!(&self.kind, Kind::Line(AtLine { log: Some(_), .. }))
    }
}

impl AtLine {
    /// The query that finds its stops.
    pub(super) fn question(&self) -> Breakpoint {
        Breakpoint {
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            condition: self.condition.clone(),
            expressions: self.log.as_ref().map(|log| log.expressions.clone()).unwrap_or_default(),
        }
    }
}

/// The hits at which it stops: `3`, `>3`, `>=3`, `<3`, `<=3`, `%3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HitCondition {
    Equals(u64),
    MoreThan(u64),
    AtLeast(u64),
    LessThan(u64),
    AtMost(u64),
    EveryNth(u64),
}

impl FromStr for HitCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<HitCondition, String> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let at = compact.find(|c: char| c.is_ascii_digit()).unwrap_or(compact.len());
        let wrong = || format!("a hit count is a number, or one of > >= < <= % and a number (got \"{text}\")");
        let number: u64 = compact[at..].parse().map_err(|_| wrong())?;
        match &compact[..at] {
            "" | "=" | "==" | "===" => Ok(HitCondition::Equals(number)),
            ">" => Ok(HitCondition::MoreThan(number)),
            ">=" => Ok(HitCondition::AtLeast(number)),
            "<" => Ok(HitCondition::LessThan(number)),
            "<=" => Ok(HitCondition::AtMost(number)),
            "%" if number > 0 => Ok(HitCondition::EveryNth(number)),
            _ => Err(wrong()),
        }
    }
}

impl HitCondition {
    fn holds(self, nth: u64) -> bool {
        match self {
            HitCondition::Equals(number) => nth == number,
            HitCondition::MoreThan(number) => nth > number,
            HitCondition::AtLeast(number) => nth >= number,
            HitCondition::LessThan(number) => nth < number,
            HitCondition::AtMost(number) => nth <= number,
            HitCondition::EveryNth(number) => nth.is_multiple_of(number),
        }
    }
}

/// Keeps the stops that fulfil a hit condition.
pub(super) fn counted(stops: Vec<Stopped>, hits: Option<HitCondition>) -> Vec<Stopped> {
    let Some(hits) = hits else { return stops };
    stops.into_iter().zip(1..).filter(|(_, nth)| hits.holds(*nth)).map(|(stop, _)| stop).collect()
}

/// The message of a log point: text with expressions in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogMessage {
    /// The texts between the expressions: one more than there are expressions.
    texts: Vec<String>,
    expressions: Vec<String>,
}

impl LogMessage {
    pub(super) fn read(message: &str) -> LogMessage {
        let (mut texts, mut expressions) = (Vec::new(), Vec::new());
        let mut text = String::new();
        let mut rest = message;
        while let Some(at) = rest.find('{') {
            let Some(end) = closing(&rest[at..]) else { break };
            text.push_str(&rest[..at]);
            let expression = rest[at + 1..at + end].trim();
            if expression.is_empty() {
                text.push_str(&rest[at..=at + end]);
            } else {
                texts.push(std::mem::take(&mut text));
                expressions.push(expression.to_owned());
            }
            rest = &rest[at + end + 1..];
        }
        text.push_str(rest);
        texts.push(text);
        LogMessage { texts, expressions }
    }

    /// The message with the values of its expressions.
    pub(super) fn with(&self, said: &[String]) -> String {
        let mut message = String::new();
        for (at, text) in self.texts.iter().enumerate() {
            message.push_str(text);
            if at < self.expressions.len() {
                let value = said.get(at).map(String::as_str).unwrap_or_default();
                message.push_str(&serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned()));
            }
        }
        message
    }
}

/// The offset of the brace that closes the first one. Braces in strings are ignored.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', Some(_)) => is_escaped = true,
            (c, Some(open)) => quote = if c == open { None } else { Some(open) },
            ('"' | '\'' | '`', None) => quote = Some(c),
            ('{', None) => depth += 1,
            ('}', None) => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_in_braces_of_a_log_message_are_replaced() {
        let log = LogMessage::read("sum {sum} of {items.map((i) => ({ n: '}' + i }))}; {} {");
        assert_eq!(log.expressions, ["sum", "items.map((i) => ({ n: '}' + i }))"]);
        assert_eq!(log.with(&["7".to_owned(), "\"tea\"".to_owned()]), "sum 7 of tea; {} {");
        assert_eq!(LogMessage::read("plain").with(&[]), "plain");
    }

    #[test]
    fn hit_conditions_count_from_one() {
        let nth = |text: &str| {
            let hits: HitCondition = text.parse().expect("a hit condition");
            (1..=6).filter(|nth| hits.holds(*nth)).collect::<Vec<u64>>()
        };
        assert_eq!(nth("2"), [2]);
        assert_eq!(nth(" > 4"), [5, 6]);
        assert_eq!(nth(">=5"), [5, 6]);
        assert_eq!(nth("<2"), [1]);
        assert_eq!(nth("<= 2"), [1, 2]);
        assert_eq!(nth("% 3"), [3, 6]);
        for wrong in ["", "x", "%0", "1.5", "!3", "-1"] {
            assert!(wrong.parse::<HitCondition>().is_err(), "{wrong}");
        }
    }
}
