//! From what a model said to an answer that fits the schema (SEMANTICS §6.5).
//!
//! First the answer as it is, then a mending without a model, then one model that is asked to write
//! it anew; what still does not fit is an error that shows the raw answer.

use serde_json::{Value, json};

use super::ask::{Chosen, ask};
use super::messages::message;
use crate::execution::callback;
use crate::execution::context::Context;
use crate::model::callable::{Arg, Issue, SchemaRef};
use crate::model::data::Data;
use crate::model::effects::{INCOMPLETE_SCRIPT, ModelCall};
use crate::model::error::FlowError;
use crate::model::flow::Generator;

/// Checks a text answer; it was shown while it came, so it is not mended.
pub(super) fn check_text(cx: &Context, text: &str) -> Result<Data, FlowError> {
    let candidate: Data = Value::String(text.to_owned()).into();
    match &cx.frame.block.output_schema {
        None => Ok(candidate),
        Some(schema) => schema.parse(&candidate).map_err(|issues| refused(cx, &candidate, &issues, "stream")),
    }
}

/// The answer that fits, or why none does.
pub(super) async fn fit(cx: &Context, generator: &Generator, candidate: Data) -> Result<Data, FlowError> {
    let Some(schema) = &cx.frame.block.output_schema else { return Ok(candidate) };
    let mut issues = match schema.parse(&candidate) {
        Ok(parsed) => return Ok(parsed),
        Err(issues) => issues,
    };
    // Not even read: what is so deep would take the stack of whoever mends it.
    if let Some(deep) = too_deep(cx, &candidate) {
        issues = vec![deep];
    }
    let repair = &generator.repair;
    let mut mended = candidate.clone();
    for _ in 0..repair.attempts {
        mended = match &repair.call {
            Some(call) => {
                let error = refused(cx, &mended, &issues, "final");
                let state = cx.frame.own.as_ref().map_or_else(|| json!({}), |own| own.recordable());
                let args = vec![Arg::Data(mended.clone()), Arg::Error(error), Arg::Data(state.into())];
                callback::call(cx, "repair", call, args).await?.into_data()?
            }
            None => mend(&mended, cx.run.effects.depth()),
        };
        match schema.parse(&mended) {
            Ok(parsed) => return Ok(parsed),
            Err(found) if too_deep(cx, &mended).is_none() => issues = found,
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

/// What is wrong with a text that means to be JSON and is nested deeper than anybody may send it.
fn too_deep(cx: &Context, candidate: &Data) -> Option<Issue> {
    let (Some(Value::String(text)), most) = (candidate.as_value(), cx.run.effects.depth()) else { return None };
    let at = end_of_depth(text, most)?;
    let message = format!(
        "the answer is nested deeper than {most} levels, at character {}: limits.depth in flowglass.json says how deep \
         it may be",
        text[..at].chars().count() + 1
    );
    Some(Issue { path: String::new(), message })
}

/// Where brackets open deeper than so many levels. What stands in quotes counts, too: whoever reads a text that is
/// no JSON may take it for anything.
fn end_of_depth(text: &str, most: usize) -> Option<usize> {
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

/// The default mending: text becomes the JSON it means to be, an `{ output }` wrapper goes.
fn mend(candidate: &Data, depth: usize) -> Data {
    match candidate.as_value() {
        Some(Value::String(text)) => meant(text, depth).map_or_else(|| candidate.clone(), Data::from),
        Some(Value::Object(fields)) => fields.get("output").cloned().map_or_else(|| candidate.clone(), Data::from),
        _ => candidate.clone(),
    }
}

/// The JSON in a text: alone, in a code fence, among other words, or with the slips of hand-written
/// JSON (single quotes, trailing commas, bare keys, comments).
fn meant(text: &str, depth: usize) -> Option<Value> {
    let inside = |open: char, close: char| {
        let (from, to) = (text.find(open)?, text.rfind(close)?);
        (from < to).then(|| &text[from..=to])
    };
    let fenced = text.split("```").nth(1).map(|block| block.trim_start_matches("json").trim());
    // The second reader knows no limit.
    let loosely = |text: &str| end_of_depth(text, depth).is_none().then(|| json5::from_str(text).ok()).flatten();
    [Some(text.trim()), fenced, inside('{', '}'), inside('[', ']')]
        .into_iter()
        .flatten()
        .find_map(|candidate| crate::model::json::parse_within(candidate, depth).ok().or_else(|| loosely(candidate)))
}

/// Asks a model to write the answer anew. Its failure is no news; the answer's own error is.
async fn coerce(
    cx: &Context,
    model: &str,
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
    let call = ModelCall {
        generator: cx.frame.block.name.to_string(),
        model: model.to_owned(),
        messages: vec![message("system", instructions), message("user", candidate.to_json().to_string())],
        tools: Vec::new(),
        output_schema: None,
        step: 0,
        max_tokens: None,
        provider_options: None,
        coerces: true,
    };
    match ask(cx, &Chosen::Named(vec![model.to_owned()]), call, None).await {
        Ok((_, reply)) => {
            let answer = reply.structured_output.or_else(|| {
                let depth = cx.run.effects.depth();
                reply.text.as_deref().and_then(|text| meant(text, depth))
            });
            Ok(answer.and_then(|value| schema.parse(&value.into()).ok()))
        }
        Err(error) if cx.run.abort.is_set() => Err(error),
        // The author wrote too few replies: that is what there is to mend.
        Err(error) if error.code.as_deref() == Some(INCOMPLETE_SCRIPT) => Err(error),
        Err(_) => Ok(None),
    }
}
