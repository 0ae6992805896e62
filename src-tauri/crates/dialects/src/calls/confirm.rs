//! Whether a person has to agree to a Call, and which Call they agreed to.

use serde_json::{Map, Value};

use engine::callable::Arg;
use engine::context::Context;
use engine::driver::call_function;
use engine::error::FlowError;
use engine::event::{DriftKind, EventKind};
use engine::flow::{CallAgent, ValueOrCall};

/// Returns whether a person has to agree to a Call, which runs at one of two paths. The log comes first: what was asked
/// is answered before the Call runs, and what has run is not asked about, whatever `confirm` says by now. A replay does
/// what the code of today does, so that the question is missed where it is asked no more; but if the recorded run was
/// resumed with code that did not ask any more, the answer decided then.
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

/// Returns whether the author wants a person to agree to a Call. The function gets a copy of it.
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

/// Returns the tool of the Call that a person put in the place of the one at a path, if one did.
pub(super) fn edited_tool(cx: &Context, path: &str) -> Option<String> {
    let answers = (0..).map_while(|ordinal| cx.recorded_suspension(path, ordinal)?.resolved.as_ref());
    let edited = answers.filter(|answer| answer.is_edit()).last()?;
    let data = edited.data.as_ref()?;
    data.get("_tool").or_else(|| data.get("call")?.get("_tool"))?.as_str().map(str::to_owned)
}
