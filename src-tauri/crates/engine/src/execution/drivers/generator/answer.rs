//! Validation and repair of a model's answer (SEMANTICS §6.5).
//!
//! First the answer is parsed unchanged, then it is repaired without a model, then a model is asked to rewrite it. If
//! no result is valid, the error contains the raw answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ask::{ask, resolve};
use super::messages::message;
use crate::execution::ctx::Context;
use crate::execution::step::callback;
use crate::model::callable::{Arg, Issue, SchemaRef};
use crate::model::data::Data;
use crate::model::effects::{INCOMPLETE_SCRIPT, ModelCall};
use crate::model::error::FlowError;
use crate::model::flow::{Generator, Model};

/// Checks a streamed text answer. It is not repaired, because it has already been shown.
pub(super) fn check_text(cx: &Context, text: &str) -> Result<Data, FlowError> {
    let candidate: Data = Value::String(text.to_owned()).into();
    match &cx.frame.block.output_schema {
        None => Ok(candidate),
        Some(schema) => schema.parse(&candidate).map_err(|issues| refused(cx, &candidate, &issues, "stream")),
    }
}

/// Parses a null answer by the schema; `None` if the schema refuses null, which means that the model has not answered.
pub(super) fn check_null(cx: &Context) -> Option<Data> {
    let candidate = Data::from(Value::Null);
    match &cx.frame.block.output_schema {
        None => Some(candidate),
        Some(schema) => schema.parse(&candidate).ok(),
    }
}

/// The facts about a generator's run that `repairOutput` gets in its `state`.
pub(super) struct ToRepair<'a> {
    pub(super) input: &'a Data,
    /// The model that was called.
    pub(super) model: &'a str,
    /// The prompt and the messages of the first call.
    pub(super) first_asked: Value,
}

impl ToRepair<'_> {
    /// Returns the state that the function gets, as the framework creates it after the loop: without a step and tool
    /// results.
    fn state(&self, candidate: &Data) -> Value {
        let Self { input, model, first_asked } = self;
        json!({
            "iteration": 0,
            "input": input.to_json(),
            "model": model,
            "prompt": first_asked["prompt"],
            "messages": first_asked["messages"],
            "toolResults": [],
            "lastCandidate": candidate.to_json(),
        })
    }
}

/// Returns the answer that fits the schema, repaired if necessary, or `OutputValidationError`.
pub(super) async fn check_or_repair(
    cx: &Context,
    generator: &Generator,
    candidate: Data,
    told: ToRepair<'_>,
) -> Result<Data, FlowError> {
    let Some(schema) = &cx.frame.block.output_schema else { return Ok(candidate) };
    let mut issues = match fit(schema, &candidate) {
        Ok(parsed) => return Ok(parsed),
        Err(issues) => issues,
    };
    // Parsing or repairing a text that is nested so deep could overflow the stack.
    if let Some(deep) = too_deep(cx, &candidate) {
        issues = vec![deep];
    }
    let repair = &generator.repair;
    let mut repaired = candidate.clone();
    for _ in 0..repair.attempts {
        repaired = match &repair.call {
            Some(call) => {
                let error = refused(cx, &repaired, &issues, "final");
                let state = told.state(&candidate).into();
                let args = vec![Arg::Data(repaired.clone()), Arg::Error(error), Arg::Data(state)];
                callback::call(cx, "repair", call, args).await?.into_data()?
            }
            None => repair_by_default(&repaired, cx.run.effects.depth()),
        };
        match fit(schema, &repaired) {
            Ok(parsed) => return Ok(parsed),
            Err(found) if too_deep(cx, &repaired).is_none() => issues = found,
            Err(_) => {}
        }
    }
    if let Some(model) = &repair.coerce
        && let Some(parsed) = coerce(cx, model, schema, &candidate, &issues).await?
    {
        return Ok(parsed);
    }
    Err(refused(cx, &candidate, &issues, "final"))
}

/// Parses an answer by its schema. An integer that JavaScript would round is always invalid.
fn fit(schema: &SchemaRef, candidate: &Data) -> Result<Data, Vec<Issue>> {
    match candidate.as_value().and_then(crate::model::json::inexact) {
        Some((path, message)) => Err(vec![Issue { path, message }]),
        None => schema.parse(candidate),
    }
}

fn refused(cx: &Context, candidate: &Data, issues: &[Issue], phase: &str) -> FlowError {
    let first = issues.first();
    let at = match first {
        Some(issue) if !issue.path.is_empty() => format!(" at \"{}\"", issue.path),
        _ => String::new(),
    };
    let words = first.map_or("invalid", |issue| issue.message.as_str());
    FlowError {
        code: Some("output_validation_error".to_owned()),
        details: Some(json!({ "rawOutput": candidate.to_json(), "issues": Issue::list(issues), "phase": phase })),
        classes: ["OutputValidationError", "FlowError", "Error"].map(str::to_owned).to_vec(),
        ..FlowError::new(
            "OutputValidationError",
            format!("Generator \"{}\" output validation failed{at}: {words}", cx.frame.block.name),
        )
    }
}

/// Returns an issue if the answer is a text whose brackets nest deeper than `limits.depth`.
fn too_deep(cx: &Context, candidate: &Data) -> Option<Issue> {
    let (Some(Value::String(text)), most) = (candidate.as_value(), cx.run.effects.depth()) else { return None };
    let at = first_too_deep(text, most)?;
    let message = format!(
        "the answer is nested deeper than {most} levels, at character {}: limits.depth in flowglass.json says how deep \
         it may be",
        text[..at].chars().count() + 1
    );
    Some(Issue { path: String::new(), message })
}

/// Returns the byte at which brackets open deeper than `most` levels. Brackets within quotes count, too, because the
/// text may be invalid JSON, in which a lenient parser may not recognise the quotes.
fn first_too_deep(text: &str, most: usize) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().position(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > most
    })
}

/// The default repair: parses a text as JSON, and removes an `{ output }` wrapper.
fn repair_by_default(candidate: &Data, depth: usize) -> Data {
    match candidate.as_value() {
        Some(Value::String(text)) => find_json(text, depth).map_or_else(|| candidate.clone(), Data::from),
        Some(Value::Object(fields)) => fields.get("output").cloned().map_or_else(|| candidate.clone(), Data::from),
        _ => candidate.clone(),
    }
}

/// Finds JSON in a text: alone, in a code fence, or between other words; also JSON5 (single quotes, trailing commas,
/// unquoted keys, comments).
fn find_json(text: &str, depth: usize) -> Option<Value> {
    let inside = |open: char, close: char| {
        let (from, to) = (text.find(open)?, text.rfind(close)?);
        (from < to).then(|| &text[from..=to])
    };
    let fenced = text.split("```").nth(1).map(|block| block.trim_start_matches("json").trim());
    // The JSON5 parser has no limit of depth.
    let loosely = |text: &str| first_too_deep(text, depth).is_none().then(|| json5::from_str(text).ok()).flatten();
    [Some(text.trim()), fenced, inside('{', '}'), inside('[', ']')]
        .into_iter()
        .flatten()
        .find_map(|candidate| crate::model::json::parse_within(candidate, depth).ok().or_else(|| loosely(candidate)))
}

/// Asks a model to rewrite the answer. Returns `None` if it fails or its answer does not fit either: then the error of
/// the original answer is reported.
async fn coerce(
    cx: &Context,
    model: &Model,
    schema: &SchemaRef,
    candidate: &Data,
    issues: &[Issue],
) -> Result<Option<Data>, FlowError> {
    let wrong: Vec<String> = issues.iter().map(|issue| format!("- {}: {}", issue.path, issue.message)).collect();
    let instructions = format!(
        "Rewrite the answer as JSON that fits the schema. Reply with the JSON alone.\n\n<schema>\n{}\n</schema>\n\n\
         <problems>\n{}\n</problems>",
        schema.describe(),
        wrong.join("\n")
    );
    let input = cx.frame.input.borrow().clone();
    let call = ModelCall {
        generator: cx.frame.block.name.to_string(),
        model: String::new(),
        messages: vec![message("system", instructions), message("user", candidate.to_json().to_string())],
        tools: Vec::new(),
        output_schema: None,
        step: 0,
        max_tokens: None,
        provider_options: None,
        defined_models: BTreeMap::new(),
        coerces: true,
    };
    let asked = match resolve(cx, "coerceModel", model, &input).await {
        Ok(chosen) => ask(cx, &chosen, call, None).await,
        Err(error) => Err(error),
    };
    match asked {
        Ok((_, reply)) => {
            let answer = reply.structured_output.or_else(|| {
                let depth = cx.run.effects.depth();
                reply.text.as_deref().and_then(|text| find_json(text, depth))
            });
            Ok(answer.and_then(|value| fit(schema, &value.into()).ok()))
        }
        Err(error) if cx.run.abort.is_set() || error.is_uncatchable() => Err(error),
        // The author must see the error of a mock script with too few replies.
        Err(error) if error.code.as_deref() == Some(INCOMPLETE_SCRIPT) => Err(error),
        Err(_) => Ok(None),
    }
}
