//! The `block_tool_output` item of a tool call: in progress while the block runs, then done with its output or error.
//!
//! Emitted for a generator's calls, and for a block wrapped by `asTool`, which no model asked for (SEMANTICS §2.7).

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::execution::ctx::Context;
use crate::execution::step::block::run_block;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Seq};
use crate::model::flow::{Block, ToolIdentity};
use crate::model::item::{ItemStatus, NewItem};
use crate::model::path::{encode, join};
use crate::model::step_value::StepValue;
use crate::views::history::tool_alias;

/// Records the start of a call. Returns the event that adds its item.
pub fn begin(cx: &Context, tool: &str, call_id: &str, alias: &str, args: &Value, who: &ToolIdentity) -> Seq {
    let mut payload = Map::new();
    payload.insert("blockName".to_owned(), tool.into());
    payload.insert("toolCall".to_owned(), tool_call(cx, tool, call_id, alias, args));
    let item = NewItem {
        agent_type: who.agent_type,
        agent_name: who.agent_name.clone(),
        item_visibility: who.item_visibility,
        ..NewItem::plain("block_tool_output", ItemStatus::InProgress, payload)
    };
    cx.begin_item(item).seq
}

/// Returns the fields of a call in its item.
fn tool_call(cx: &Context, tool: &str, call_id: &str, alias: &str, args: &Value) -> Value {
    json!({
        "callId": call_id,
        "name": tool,
        "alias": alias,
        "arguments": args.to_string(),
        "generatorBlock": &*cx.frame.block.name,
    })
}

/// Returns the same for a call that ran with other arguments than those proposed, because a person changed them.
pub fn edited_call(
    cx: &Context,
    tool: &str,
    call_id: &str,
    alias: &str,
    (proposed, edited): (&Value, &Value),
) -> Value {
    let mut fields = tool_call(cx, tool, call_id, alias, edited);
    fields["proposedArguments"] = proposed.to_string().into();
    fields
}

/// Records the end of a call: the fields of its output, or its error. `edited` are the fields of the call if it ran
/// with other arguments than its item has.
pub fn end(cx: &Context, of: Seq, ended: Result<Map<String, Value>, &FlowError>, edited: Option<Value>) {
    let (status, mut patch) = match ended {
        Ok(patch) => (ItemStatus::Completed, patch),
        Err(error) => (ItemStatus::Failed, Map::from_iter([("error".to_owned(), error.to_public_json())])),
    };
    patch.extend(edited.map(|call| ("toolCall".to_owned(), call)));
    cx.record(EventKind::ItemDone { of, status, patch });
}

/// Runs the block inside a wrapper made by `asTool`. Its output passes unchanged.
pub(crate) async fn run(
    cx: &Context,
    block: &Rc<Block>,
    who: &ToolIdentity,
    input: StepValue,
) -> Result<StepValue, FlowError> {
    let (id, alias, given) = (call_id(cx), tool_alias(&block.name), input.data.to_json());
    let of = begin(cx, &block.name, &id, &alias, &given, who);
    let path = join(&cx.frame.path, &format!("tool:{}", encode(&block.name)));
    let edited = cx.run.edited_input(&path).map(Data::to_json);
    let edited = edited.map(|edited| edited_call(cx, &block.name, &id, &alias, (&given, &edited)));
    let result = run_block(cx.run.clone(), block.clone(), Some(cx.frame.clone()), path, input).await;
    if result.as_ref().is_err_and(FlowError::is_suspension) {
        // A suspended call has not ended: its item stays in progress.
        return result;
    }
    let output = result.as_ref().map(|output| Map::from_iter([("output".to_owned(), output.data.to_json())]));
    end(cx, of, output, edited);
    result
}

/// Returns an id for a call that no model gave an id; the same when a resumed request runs the block again.
fn call_id(cx: &Context) -> String {
    // FNV-1a: short, in letters that every model provider takes, and the same in every build.
    let key = format!("{}:{}", cx.caller().request, cx.frame.path);
    let hash = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("call_{hash:016x}")
}
