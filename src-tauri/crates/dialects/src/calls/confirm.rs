//! Whether a Call needs a person's approval, and which Call the person approved.

use serde_json::{Map, Value};

use engine::callable::Arg;
use engine::context::Context;
use engine::driver::call_function;
use engine::error::FlowError;
use engine::event::{DriftKind, EventKind};
use engine::flow::{CallAgent, ValueOrCall};

/// Returns whether a Call needs a person's approval. `work` and `path` are the paths at which it runs.
///
/// The log overrides the current `confirm`: a recorded question is answered before the Call runs, and a Call that has
/// run is not asked about. A replay follows the current code, so that a question that is no longer asked is reported as
/// missing. But if a resume of the recorded run already met such code, the answer decided then, and it does so again.
pub(super) async fn needs_person(
    cx: &Context,
    of: &CallAgent,
    call: &Map<String, Value>,
    [work, path]: [String; 2],
) -> Result<bool, FlowError> {
    if cx.has_ended(&work) {
        return Ok(false);
    }
    let needs = asks(cx, of, call).await?;
    let Some(asked) = cx.recorded_suspension(&path, 0).filter(|_| !needs) else { return Ok(needs) };
    let text = format!(
        "drift: confirm of \"{}\" does not ask about {path} any more; suspension \"{}\" asked, so its answer decides",
        of.name, asked.request.id
    );
    let was_noted = cx.has_drift_text(&text);
    if !was_noted && cx.is_replay() {
        return Ok(false);
    }
    if !was_noted {
        cx.record(EventKind::drift(DriftKind::Question, text));
    }
    Ok(true)
}

/// Returns whether `confirm` asks for approval of a Call. A function gets a copy of the Call.
async fn asks(cx: &Context, of: &CallAgent, call: &Map<String, Value>) -> Result<bool, FlowError> {
    match &of.confirm {
        None => Ok(false),
        Some(ValueOrCall::Fixed(value)) => Ok(value == &Value::Bool(true)),
        Some(ValueOrCall::Call(confirm)) => {
            let call = Value::Object(call.clone());
            let answer = call_function(cx, "confirm", confirm, vec![Arg::Data(call.into())]).await?;
            Ok(answer.into_data()?.is_truthy())
        }
    }
}

/// Returns the tool of the Call by which a person replaced the one at a path, if any.
pub(super) fn edited_tool(cx: &Context, path: &str) -> Option<String> {
    let answers = (0..).map_while(|ordinal| cx.recorded_suspension(path, ordinal)?.resolved.as_ref());
    let edited = answers.filter(|answer| answer.is_edit()).last()?;
    let data = edited.data.as_ref()?;
    data.get("_tool").or_else(|| data.get("call")?.get("_tool"))?.as_str().map(str::to_owned)
}
