//! The language in which lists of runs are filtered: `status:failed flow:cart -tag:seen dur>1s cost>0.1 "some text"`.
//!
//! Words, signs, quotes and `-` are those of the timeline's filter. All terms must hold. Samples of experiments are
//! left out, unless a term is `is:sample` or names a session.

use engine::event::RequestStatus;
use store::{Comparison, RunCondition, RunTerm};

use crate::core::fault::Fault;
use crate::core::instants::past_instant;
use crate::request_view::filter::parse::{Part, UNITS, checked_words, wrong};

/// Makes a condition of a name.
type Named = fn(String) -> RunCondition;
/// The fields whose values are names.
const NAMES: [(&str, Named); 6] = [
    ("session", RunCondition::Session),
    ("user", RunCondition::User),
    ("project", RunCondition::Project),
    ("flow", RunCondition::Flow),
    ("action", RunCondition::Action),
    ("tag", RunCondition::Tag),
];
/// Longer ones first: `>=` is not `>`.
const SIGNS: [(&str, Comparison); 6] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">", Comparison::Above),
    ("<", Comparison::Below),
    ("=", Comparison::Equal),
    (":", Comparison::Equal),
];
const FIELDS: &str = "status, flow, action, user, project, session, tag, dur, tokens, cost, since, until and is";
const STATUSES: &str = "queued, in_progress, completed, incomplete, failed, suspended, interrupted and aborted";

/// The terms of a filter.
pub(super) fn terms(text: &str) -> Result<Vec<RunTerm>, Fault> {
    let term = |part: Part<'_>| {
        let condition = match part.name {
            None => RunCondition::Text(part.rest.to_owned()),
            Some(name) => field(name, part.rest, part.at)?,
        };
        Ok(RunTerm { is_negated: part.is_negated, condition })
    };
    checked_words(text)?.iter().map(|word| term(word.part()?)).collect()
}

fn field(name: &str, rest: &str, at: usize) -> Result<RunCondition, Fault> {
    let (sign, compare) =
        SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)).copied().unwrap_or((":", Comparison::Equal));
    let value = &rest[sign.len()..];
    let sign_at = at + name.chars().count();
    let value_at = sign_at + sign.len();
    let Some(example) = example(name) else {
        let text = format!("{name}{rest}");
        let what = format!("\"{name}\" is not a field; there are {FIELDS}. To search for text, quote it: \"{text}\"");
        return Err(wrong(at, what));
    };
    if value.is_empty() {
        return Err(wrong(value_at, format!("there is nothing after \"{name}{sign}\"; write {example}")));
    }
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    match name {
        "dur" => {
            let ms = UNITS.iter().find_map(|(unit, ms)| Some(number(value.strip_suffix(unit)?)? * ms));
            let what = || format!("\"{value}\" is not a time; write it like 20ms, 1.5s, 2m or 1h");
            return ms.map(|ms| RunCondition::Duration(compare, ms)).ok_or_else(|| wrong(value_at, what()));
        }
        "tokens" | "cost" => {
            let found = number(value.strip_prefix('$').filter(|_| name == "cost").unwrap_or(value));
            let found = found.ok_or_else(|| wrong(value_at, format!("\"{value}\" is not a number")))?;
            return Ok(match name {
                "tokens" => RunCondition::Tokens(compare, found),
                _ => RunCondition::Cost(compare, found),
            });
        }
        _ if sign != ":" => {
            let what = format!("\"{name}\" cannot be compared with \"{sign}\"; write {example}");
            return Err(wrong(sign_at, what));
        }
        _ => {}
    }
    if let Some((_, condition)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(condition(value.to_owned()));
    }
    match name {
        "status" => RequestStatus::parse(value)
            .map(RunCondition::Status)
            .ok_or_else(|| wrong(value_at, format!("\"{value}\" is not a status; there are {STATUSES}"))),
        "since" | "until" => {
            let instant = past_instant(value).map_err(|what| wrong(value_at, what))?;
            Ok(if name == "since" { RunCondition::Since(instant) } else { RunCondition::Until(instant) })
        }
        _ => match value {
            "fork" => Ok(RunCondition::IsFork),
            "retry" => Ok(RunCondition::IsRetry),
            "mock" => Ok(RunCondition::IsMock),
            "trace" => Ok(RunCondition::IsTrace),
            "sample" => Ok(RunCondition::IsSample),
            _ => {
                Err(wrong(value_at, format!("\"{value}\" is not known; there are fork, retry, mock, trace and sample")))
            }
        },
    }
}

/// How a field is written; `None` if there is no such field.
fn example(name: &str) -> Option<&'static str> {
    Some(match name {
        "status" => "status:failed",
        "flow" => "flow:cart, flow:cart*",
        "action" => "action:checkout",
        "user" => "user:ada",
        "project" => "project:apollo",
        "session" => "session:thread-1",
        "tag" => "tag:seen",
        "dur" => "dur>1s, dur<=20ms",
        "tokens" => "tokens>1000",
        "cost" => "cost>0.1",
        "since" => "since:24h, since:2026-11-20",
        "until" => "until:7d, until:2026-11-20",
        "is" => "is:fork",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read() {
        let read =
            terms("status:failed -flow:demo dur>1.5s tokens>=1000 cost>$0.1 tag:\"x y\" \"Two words\" is:fork -x")
                .expect("it is right");
        let term = |condition| RunTerm { is_negated: false, condition };
        let not = |condition| RunTerm { is_negated: true, condition };
        let expected = [
            term(RunCondition::Status(RequestStatus::Failed)),
            not(RunCondition::Flow("demo".to_owned())),
            term(RunCondition::Duration(Comparison::Above, 1_500.0)),
            term(RunCondition::Tokens(Comparison::AtLeast, 1_000.0)),
            term(RunCondition::Cost(Comparison::Above, 0.1)),
            term(RunCondition::Tag("x y".to_owned())),
            term(RunCondition::Text("Two words".to_owned())),
            term(RunCondition::IsFork),
            not(RunCondition::Text("x".to_owned())),
        ];
        assert_eq!(read, expected);
        assert_eq!(terms("  ").expect("nothing is right"), []);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_would_be_right() {
        for (text, expected) in [
            ("a sttus:failed", "column 3: \"sttus\" is not a field; there are status, flow, action"),
            ("status:broken", "column 8: \"broken\" is not a status; there are queued, in_progress"),
            ("dur>soon", "column 5: \"soon\" is not a time; write it like 20ms"),
            ("cost>much", "column 6: \"much\" is not a number"),
            ("user>x", "column 5: \"user\" cannot be compared with \">\"; write user:ada"),
            ("since:soon", "column 7: write a time before now, like 2h or 7d"),
            ("tag:", "column 5: there is nothing after \"tag:\"; write tag:seen"),
            ("is:red", "column 4: \"red\" is not known; there are fork, retry, mock, trace and sample"),
            ("a \"b c", "column 3: unclosed quote"),
        ] {
            let told = terms(text).map(|terms| panic!("{text} is read as {terms:?}")).unwrap_or_else(|fault| fault);
            assert!(told.to_string().contains(expected), "{text}: {told}");
        }
    }
}
