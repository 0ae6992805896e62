//! What a fork may edit of the blocks that an agent or its Calls are made of.
//!
//! Their inputs and outputs hold more than a person writes: a sub-prompt's has the call it belongs to, that of a Call
//! its whole plan. So a person gives what a model would have given, the arguments, and this module puts them into what
//! was recorded. An edit that nothing would read is refused with the edit that would be. Must not: begin anything.

use std::sync::{Arc, Mutex};

use dialects::calls::{plan_with_arguments, state_message};
use engine::event::{Event, EventKind};
use engine::flow::{Body, CallPart, Flow};
use engine::path::{ROOT, parent};
use engine::views::Events;
use engine::views::blocks::blocks;
use engine::views::flow_state::{EDITABLE, is_execution};
use serde_json::{Map, Value, json};

use crate::core::fault::Fault;
use crate::core::sync::lock;

/// What a block gets in place of its recorded input.
pub(super) enum BlockInput {
    /// This.
    Ready(Value),
    /// The plan of its Call with other arguments.
    Arguments { plan: Value, tick: Value, arguments: Map<String, Value> },
}

impl BlockInput {
    /// Returns the whole input. A Call's is planned with the tools of today.
    pub(super) fn whole(self, path: &str, flow: &Flow) -> Result<Value, Fault> {
        let (plan, tick, arguments) = match self {
            BlockInput::Ready(input) => return Ok(input),
            BlockInput::Arguments { plan, tick, arguments } => (plan, tick, arguments),
        };
        let agent = flow.blocks().into_iter().find_map(|block| match &block.body {
            Body::Calls(CallPart::Agent(of), ..) if plan["name"] == *of.name => Some(of.clone()),
            _ => None,
        });
        let agent = agent.ok_or_else(|| {
            Fault::invalid(format!("--input: the flow of today has no agent {}, to which {path} belongs", plan["name"]))
        })?;
        plan_with_arguments(&agent, &plan, &tick, arguments)
            .map_err(|error| Fault::invalid(format!("--input: {path} cannot be called so: {}", error.message)))
    }
}

/// The kinds of blocks whose recorded values are not what a person writes.
enum Kind {
    Message,
    Turn,
    SubPrompt,
    Call,
    /// A tick, its request, an Activity or a delegate.
    PartOfCalls,
}

/// The blocks of a request, if agents made some of them.
pub(super) struct AgentBlocks {
    events: Arc<Vec<Event>>,
    /// Whether the request is one of an agent with a `FlowState`.
    is_agent: bool,
    /// The block that was looked for last, by its path, with its input and output: many forks edit the same one.
    newest: Mutex<Option<(String, Value, Value)>>,
}

impl AgentBlocks {
    pub(super) fn of(events: &Arc<Vec<Event>>) -> Self {
        let begins = events.iter().find_map(|event| match &event.kind {
            EventKind::StateInitialized { state, .. } if event.path.as_deref() == Some(ROOT) => Some(state),
            _ => None,
        });
        let is_agent = begins.and_then(Value::as_object).is_some_and(is_execution);
        AgentBlocks { events: events.clone(), is_agent, newest: Mutex::default() }
    }

    /// Says which names `--set` knows beside the scopes.
    pub(super) fn names(&self) -> String {
        if self.is_agent { format!("; in an agent's request also {}", EDITABLE.join(", ")) } else { String::new() }
    }

    /// The newest recorded input and output of a block.
    fn recorded(&self, path: &str) -> (Value, Value) {
        let mut known = lock(&self.newest);
        if let Some((_, input, output)) = known.as_ref().filter(|(of, ..)| of == path) {
            return (input.clone(), output.clone());
        }
        let all = blocks(Events::new(&self.events), true);
        let newest = all.iter().rev().find(|block| *block.path == *path && !block.memoized);
        let value = |value: Option<&Value>| value.cloned().unwrap_or_default();
        let (input, output) = newest.map_or_else(Default::default, |block| (value(block.input), value(block.output)));
        *known = Some((path.to_owned(), input.clone(), output.clone()));
        (input, output)
    }

    fn kind(&self, path: &str, input: &Value) -> Option<Kind> {
        let segment = path.rsplit('/').next().unwrap_or_default();
        let begins = |words: &[&str]| words.iter().any(|word| segment.starts_with(word));
        let has = |names: &[&str]| names.iter().all(|name| input.get(*name).is_some());
        if self.is_agent {
            return match segment {
                "message" if parent(path) == Some(ROOT) => Some(Kind::Message),
                _ if begins(&["turn["]) => Some(Kind::Turn),
                _ if begins(&["prompt:"]) && has(&["arguments", "callId"]) => Some(Kind::SubPrompt),
                _ => None,
            };
        }
        let is_call = begins(&["call:", "work:"]) && has(&["call"]) && (has(&["depth"]) || has(&["refused"]));
        let is_part = match segment {
            "request" => has(&["tick", "context"]),
            _ if begins(&["tick["]) => has(&["name", "tick", "context"]),
            _ if begins(&["activity:"]) => has(&["call", "scoped"]),
            _ => begins(&["delegate:"]) && has(&["depth", "context"]),
        };
        if is_call { Some(Kind::Call) } else { is_part.then_some(Kind::PartOfCalls) }
    }

    /// Returns what a block gets for the input that a person gave, or refuses what it would not read.
    pub(super) fn input(&self, path: &str, given: Value) -> Result<BlockInput, Fault> {
        let (recorded, _) = self.recorded(path);
        let Some(kind) = self.kind(path, &recorded) else { return Ok(BlockInput::Ready(given)) };
        let refused = |what: String| Err(Fault::invalid(format!("--input: {what}")));
        // The whole recorded form is accepted as well, as `block` shows it.
        let is_whole = recorded.as_object().is_some_and(|fields| fields.keys().all(|key| given.get(key).is_some()));
        match (kind, given) {
            (Kind::Turn, _) => refused(format!(
                "nothing reads an input of {path}: a turn goes on from the FlowState; edit that with --set ({}), or \
                 the message with --at {ROOT}/message --input '{{\"content\":\"…\"}}'",
                EDITABLE.join(", ")
            )),
            (Kind::Message, given) if !given["content"].is_string() => {
                refused(format!("{path} reads a message, {{\"content\":\"…\"}}, and not {given}"))
            }
            (Kind::Message, given) => Ok(BlockInput::Ready(given)),
            (_, given) if is_whole => Ok(BlockInput::Ready(given)),
            (Kind::SubPrompt, Value::Object(arguments)) => {
                let mut whole = recorded;
                whole["arguments"] = arguments.into();
                Ok(BlockInput::Ready(whole))
            }
            (Kind::SubPrompt, other) => refused(format!(
                "{path} reads the arguments of its call, an object like {}, and not {other}",
                recorded["arguments"]
            )),
            (Kind::Call, _) if recorded.get("refused").is_some() => refused(format!(
                "the call at {path} was refused before it ran ({}); edit the answer that made it: --at {}/request \
                 --output '{{\"calls\":[…],\"output\":null}}'",
                recorded["refused"]["message"].as_str().unwrap_or_default(),
                parent(path).unwrap_or(ROOT)
            )),
            (Kind::Call, Value::Object(arguments)) => {
                let (tick, _) = self.recorded(parent(path).unwrap_or(ROOT));
                Ok(BlockInput::Arguments { plan: recorded, tick, arguments })
            }
            (Kind::Call, other) => refused(format!(
                "{path} reads the arguments of its call, an object like {}, and not {other}",
                arguments_of(&recorded)
            )),
            (Kind::PartOfCalls, given) => {
                let call = path.find("/activity:").map(|end| &path[..end]);
                let call = call.map(|call| format!("; the arguments of its call are edited by --at {call} --input"));
                refused(format!(
                    "{path} reads an object with {}, as recorded, and not {given}{}",
                    recorded
                        .as_object()
                        .into_iter()
                        .flatten()
                        .map(|(key, _)| key.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                    call.unwrap_or_default()
                ))
            }
        }
    }

    /// Refuses an output of which nothing would be read: a turn leaves everything but its text in the `FlowState`.
    pub(super) fn check_output(&self, path: &str, given: &Value) -> Result<(), Fault> {
        let (input, recorded) = self.recorded(path);
        if !matches!(self.kind(path, &input), Some(Kind::Message | Kind::Turn)) {
            return Ok(());
        }
        let lost = match given {
            Value::String(_) => return Ok(()),
            Value::Object(fields) => fields.iter().find(|(key, value)| match key.as_str() {
                "content" => !value.is_string(),
                key => recorded.get(key) != Some(*value),
            }),
            _ => return Err(output_refused(path, &given.to_string())),
        };
        match lost {
            Some((key, value)) => Err(output_refused(path, &format!("{key}: {value}"))),
            None if given["content"].is_string() => Ok(()),
            None => Err(output_refused(path, &given.to_string())),
        }
    }

    /// Whether a place of `--set` is one of the state that Calls write, which is part of their context.
    pub(super) fn is_of_calls(&self, text: &str) -> bool {
        !self.is_agent && (text.starts_with("state.") || text.starts_with("†state."))
    }

    /// Returns what a tick gave with edits of the state: the messages that write them are added to its own.
    pub(super) fn with_state(
        &self,
        path: Option<&str>,
        output: Option<Value>,
        sets: &[(String, Value)],
    ) -> Result<Value, Fault> {
        let names = "begin with session, user, project, request, sequencer[PATH] or block[PATH], then a field";
        let text = sets.first().map_or("", |(text, _)| text);
        let path = path.unwrap_or_default();
        let (input, recorded) = self.recorded(path);
        let is_tick = matches!(self.kind(path, &input), Some(Kind::PartOfCalls)) && input.get("name").is_some();
        if !is_tick || input.get("tick").is_none() {
            let has_ticks = self.events.iter().any(|event| {
                event.path.as_deref().and_then(|path| path.rsplit('/').next()).is_some_and(|it| it.starts_with("tick["))
            });
            let what = if has_ticks {
                "the state of Calls is part of what a tick gave: fork at one, --at root/tick[0]"
            } else {
                names
            };
            return Err(Fault::invalid(format!("--set {text}: {what}")));
        }
        let mut output = output.unwrap_or(recorded);
        let Some(messages) = output.get_mut("messages").and_then(Value::as_array_mut) else {
            return Err(Fault::invalid(format!("--set {text}: {path} gave no list of messages")));
        };
        for (text, value) in sets {
            let message = state_message(text, value.clone());
            messages.push(message.map_err(|error| Fault::invalid(format!("--set {text}: {}", error.message)))?);
        }
        Ok(output)
    }
}

fn output_refused(path: &str, given: &str) -> Fault {
    Fault::invalid(format!(
        "--output: of {path} only the text is read, as \"…\" or {{\"content\":\"…\"}}, and not {given}; what a turn \
         did to the FlowState is edited by --set ({})",
        EDITABLE.join(", ")
    ))
}

/// The parameters of a planned Call.
fn arguments_of(plan: &Value) -> Value {
    let own = plan["call"].as_object().into_iter().flatten().filter(|(key, _)| !key.starts_with('_'));
    let own: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    json!(own)
}
