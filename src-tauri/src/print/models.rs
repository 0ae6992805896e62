//! Model calls and their totals, as text.

use std::fmt::Write as _;

use runner::{MessageSource, ModelCallRow, Totals};
use serde_json::Value;

use super::{counted, cut, duration, plain, short};

/// The totals of a request on one line, without those that are zero.
pub(crate) fn totals(totals: &Totals) -> String {
    let sums = &totals.sums;
    let mut parts = vec![counted(totals.blocks, "block")];
    if sums.model_calls > 0 {
        parts.push(counted(sums.model_calls, "model call"));
    }
    if sums.prompt_tokens > 0 || sums.completion_tokens > 0 {
        parts.push(format!("{} tokens in", thousands(sums.prompt_tokens)));
        parts.push(format!("{} out", thousands(sums.completion_tokens)));
    }
    parts.extend(sums.cost.map(dollars));
    if sums.changes > 0 {
        parts.push(counted(sums.changes, "write"));
    }
    if totals.failed > 0 {
        parts.push(format!("{} failed", totals.failed));
    }
    if let Some(kept) = &totals.kept {
        let cost = kept.cost.map(|cost| format!(", {}", dollars(cost))).unwrap_or_default();
        parts.push(format!("kept: {}{cost}", counted(kept.model_calls, "model call")));
    }
    parts.join(" · ")
}

/// `640`, `4.1k`, `12k`, `1.2M`.
fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{:.1}k", count as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Two significant digits, or cents if there are any: `$0.00021`, `$0.012`, `$3.40`.
pub(crate) fn dollars(cost: f64) -> String {
    if cost == 0.0 {
        return "$0".to_owned();
    }
    let digits = if cost >= 0.1 { 2 } else { (-cost.log10()).ceil().max(0.0) as usize + 1 };
    format!("${:.digits$}", half_up(cost, digits))
}

/// Rounds half up in decimal, like the window: 0.145 becomes 0.15, although no binary fraction equals 0.145. Costs are
/// whole trillionths.
fn half_up(cost: f64, digits: usize) -> f64 {
    if digits > 11 {
        return cost;
    }
    let scale = 10_f64.powi(digits as i32);
    ((cost * 1e12).round() / (1e12 / scale)).round() / scale
}

/// Every call with its messages, its reply, its tokens and its time.
pub(crate) fn calls(calls: &[ModelCallRow]) -> String {
    calls.iter().map(call).collect::<Vec<_>>().join("\n")
}

fn call(call: &ModelCallRow) -> String {
    let effect = &call.effect;
    let mut text = format!("#{} {}", effect.seq, call.model);
    if let Some(by) = call.answered_by.as_ref().filter(|by| **by != call.model) {
        let _ = write!(text, " (answered by {by})");
    }
    let mut facts = vec![duration(effect.duration_ms)];
    facts.extend(call.first_token_ms.map(|ms| format!("first token {ms} ms")));
    if let Some(tokens) = &call.tokens {
        let cached = if tokens.cached > 0 { format!(" ({} cached)", thousands(tokens.cached)) } else { String::new() };
        facts.push(format!("{} tokens in{cached}", thousands(tokens.input)));
        facts.push(format!("{} out", thousands(tokens.output)));
    }
    facts.extend(call.cost.map(dollars));
    facts.extend(call.finish_reason.clone());
    if effect.memoized {
        facts.push("taken from the log".to_owned());
    }
    let _ = writeln!(text, " · {}", facts.join(" · "));
    let messages = effect.request.as_ref().and_then(|request| request.0["messages"].as_array());
    for (message, source) in messages.into_iter().flatten().zip(&call.sources) {
        let role = message["role"].as_str().unwrap_or("?");
        let origin = origin(source).map(|origin| format!("  [{origin}]")).unwrap_or_default();
        let _ = writeln!(text, "  {role:<9} {}{origin}", said(&message["content"]));
    }
    for retry in &call.retries {
        let _ = writeln!(text, "  failed before: #{} {}: {}", retry.seq, retry.model, cut(&retry.error.message));
    }
    let reply = effect.result.as_ref().map(|reply| &reply.0);
    let said = |name: &str| reply.and_then(|reply| reply[name].as_str()).map(cut);
    if let Some(thoughts) = said("reasoning") {
        let _ = writeln!(text, "  thoughts  {thoughts}");
    }
    if let Some(answer) = said("text") {
        let _ = writeln!(text, "  reply     {answer}");
    } else if let Some(answer) = reply.and_then(|reply| reply.get("structuredOutput")) {
        let _ = writeln!(text, "  reply     {}", short(answer));
    }
    for tool in &call.tools {
        let came = match (&tool.result, &tool.error) {
            (_, Some(error)) => format!("✗ {}", cut(error)),
            (Some(result), None) => short(&result.0),
            (None, None) => "…".to_owned(),
        };
        let _ = writeln!(text, "  tool      {}({}) → {came}", tool.name, short(&tool.args.0));
    }
    match (&effect.error, effect.duration_ms) {
        (Some(error), _) => drop(writeln!(text, "  ✗ {}: {}", error.name, cut(&error.message))),
        (None, None) => text.push_str("  ▶ not ended\n"),
        _ => {}
    }
    text
}

/// The content of a message: its text, tool calls written as code, and tool results.
fn said(content: &Value) -> String {
    match content.as_array() {
        Some(parts) => cut(&parts.iter().map(part).collect::<Vec<_>>().join(" ")),
        None => plain(content),
    }
}

fn part(part: &Value) -> String {
    match (part["text"].as_str(), part["toolName"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(tool)) => match part.get("args") {
            Some(args) => format!("{tool}({args})"),
            None => format!("{tool} → {}", plain(part["output"].get("value").unwrap_or(&part["output"]))),
        },
        (None, None) => part.to_string(),
    }
}

/// The source of a message, if it is known.
fn origin(source: &MessageSource) -> Option<String> {
    Some(match source {
        MessageSource::System => "prompt".to_owned(),
        MessageSource::Context => "context".to_owned(),
        MessageSource::History { request_id, seq } => format!("history: item at #{seq} of {request_id}"),
        MessageSource::User => "user".to_owned(),
        MessageSource::Answer { seq } => format!("its answer to #{seq}"),
        MessageSource::Tool { seq, id } => format!("tool {id} of #{seq}"),
        MessageSource::Unknown => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{dollars, thousands};

    #[test]
    fn amounts_are_short_and_keep_significant_digits() {
        let shown = [0.0, 0.000_021, 0.0123, 0.099, 3.4].map(dollars);
        assert_eq!(shown, ["$0", "$0.000021", "$0.012", "$0.099", "$3.40"]);
        let halves = [0.145, 0.225, 1.005, 0.0235].map(dollars);
        assert_eq!(halves, ["$0.15", "$0.23", "$1.01", "$0.024"], "as the window rounds them");
        assert_eq!([640, 4_100, 12_345, 1_200_000].map(thousands), ["640", "4.1k", "12k", "1.2M"]);
    }
}
