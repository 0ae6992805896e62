//! The lines of a span's block: what is odd about the span, and what its events say.

use engine::event::EventKind;
use serde_json::Value;

use crate::foreign::decode::REPLACED;
use crate::foreign::exact::{EXACT, REPEATED};
use crate::foreign::span::{ArrivedSpan, SpanEvent};

/// How many events of a span become lines of its block's log; all are in the span itself.
const MAX_LINES: usize = 50;
/// How many names of attributes that came more than once are said.
const MAX_NAMES: usize = 10;

/// A line at a time in nanoseconds; at 0 if it has none of its own.
pub(super) type Line = (u64, EventKind);

/// The lines of a span. `odd` is what was found odd about it before.
pub(super) fn lines(span: &ArrivedSpan, odd: impl IntoIterator<Item = String>) -> Vec<Line> {
    let line = |at: u64, level: &str, text: String| (at, EventKind::Logged { level: level.to_owned(), text });
    let is_replaced = span.rest.get(EXACT).is_some_and(|exact| exact[REPLACED] == true);
    let replaced = is_replaced.then(|| "some of its text is not Unicode: \u{fffd} stands for what is not".to_owned());
    let mut lines: Vec<Line> =
        odd.into_iter().chain(replaced).chain(repeated(span)).map(|text| line(0, "warn", text)).collect();
    let said = || span.events.iter().filter(|event| is_line(event));
    lines.extend(said().take(MAX_LINES).map(|event| line(event.at, "info", text(event))));
    let more = said().count().saturating_sub(MAX_LINES);
    if more > 0 {
        let at = said().nth(MAX_LINES).map_or(0, |event| event.at);
        let events = if more == 1 { "event is" } else { "events are" };
        lines.push(line(at, "info", format!("{more} more {events} in the span")));
    }
    lines
}

/// Says which attributes came more than once.
fn repeated(span: &ArrivedSpan) -> Option<String> {
    let of_scope = &span.scope[EXACT];
    let all = [span.rest.get(EXACT).unwrap_or(&Value::Null), of_scope, &of_scope["resource"]];
    let places = all.iter().filter_map(|exact| exact[REPEATED].as_array()).flatten().filter_map(Value::as_str);
    let names: Vec<String> = places.take(MAX_NAMES).map(|place| format!("{:?}", name_of(place))).collect();
    let one = "of each only the last value is kept";
    (!names.is_empty()).then(|| format!("attributes came more than once: {}; {one}", names.join(", ")))
}

/// A place of an attribute without the list that it is in.
fn name_of(place: &str) -> &str {
    place.strip_prefix("/attributes/").unwrap_or(place)
}

/// The name and the message of an exception from a traceback of Python, whose last paragraph begins with them.
pub(super) fn raised(message: &str) -> Option<(&str, &str)> {
    const BEGIN: &str = "Traceback (most recent call last):\n";
    // LangSmith writes the message before the traceback, too.
    let traceback = &message[message.rfind(BEGIN)? + BEGIN.len()..];
    let at = traceback.lines().position(|line| !line.is_empty() && !line.starts_with(' '))?;
    let begin: usize = traceback.split_inclusive('\n').take(at).map(str::len).sum();
    let raised = traceback[begin..].trim_end();
    let first = raised.lines().next().unwrap_or_default();
    let name = first.split(':').next().unwrap_or_default();
    let is_name = !name.is_empty() && !name.contains(' ');
    let words = raised[name.len()..].trim_start_matches(':').trim();
    is_name.then_some((name.rsplit('.').next().unwrap_or(name), if words.is_empty() { name } else { words }))
}

fn text(event: &SpanEvent) -> String {
    if event.attributes.is_empty() {
        event.name.clone()
    } else {
        format!("{} {}", event.name, Value::Object(event.attributes.clone()))
    }
}

/// Whether an event of a span is a line of its log: exceptions are its error, and messages are in its model call.
fn is_line(event: &SpanEvent) -> bool {
    event.name != "exception" && !event.name.starts_with("gen_ai.")
}

#[cfg(test)]
mod tests {
    use super::raised;

    #[test]
    fn a_traceback_is_said_by_its_exception() {
        let text = "ValueError(\"no\")\n\nTraceback (most recent call last):\n\n  File \"a.py\", line 1\n    g()\n\n\
                    pkg.errors.ValueError: no such city\nDuring task with name 'tools'";
        assert_eq!(raised(text), Some(("ValueError", "no such city\nDuring task with name 'tools'")));
        assert_eq!(
            raised("Traceback (most recent call last):\n  File \"a.py\"\nKeyError"),
            Some(("KeyError", "KeyError"))
        );
        for other in
            ["", "it failed", "Traceback (most recent call last):\n", "Traceback (most recent call last):\n  x"]
        {
            assert_eq!(raised(other), None, "{other}");
        }
    }
}
