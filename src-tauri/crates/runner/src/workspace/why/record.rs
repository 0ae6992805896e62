//! The recorded values of events: where each is, and whether it came from outside.
//!
//! Must not decide which of them count, nor which one is a cause.

use std::borrow::Cow;

use engine::effects::EffectKind;
use engine::error::FlowError;
use engine::event::{Event, EventKind, Recorded, RecordedReturn, Seq};
use engine::operation::Operation;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::Events;
use engine::views::fork_edits::{edited_value, is_edited_value};
use engine::views::model_requests::Requests;
use serde_json::{Value, json};

use super::pointer;
use crate::views::WhyPlace;
use crate::workspace::records::instance_of;

/// An execution that a record does not belong to any.
pub(super) const NO_EXECUTION: u32 = u32::MAX;

/// A value that an event has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) seq: Seq,
    /// The number of the event in the log.
    pub(super) event: u32,
    pub(super) part: Part,
    pub(super) place: WhyPlace,
    pub(super) execution: u32,
    /// Whether it can be a cause: not what was asked, not of an attempt that was given up.
    pub(super) counts: bool,
}

/// Which value of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its only one.
    Whole,
    /// What a hook was given.
    Before,
    /// A state as the request found it, by its number.
    Stored(u32),
}

/// A state as a request found it: when it began, or what others had written when a block saw it.
#[derive(Debug)]
pub(super) struct Stored {
    /// The number of the event in the log by which it was there.
    pub(super) event: u32,
    /// `session`, or `session/notes` of a resource.
    pub(super) scope: String,
    /// The record of a resource, which has no history by its name.
    pub(super) resource: Option<ScopeKey>,
    pub(super) value: Value,
}

/// Where the values of an event are, the last one as what it came to.
pub(super) fn places(kind: &EventKind) -> &'static [(Part, WhyPlace)] {
    const REQUEST_INPUT: &[(Part, WhyPlace)] = &[(Part::Whole, WhyPlace::RequestInput)];
    const INPUT: &[(Part, WhyPlace)] = &[(Part::Whole, WhyPlace::Input)];
    const OUTPUT: &[(Part, WhyPlace)] = &[(Part::Whole, WhyPlace::Output)];
    const ERROR: &[(Part, WhyPlace)] = &[(Part::Whole, WhyPlace::Error)];
    const HOOK: &[(Part, WhyPlace)] = &[(Part::Before, WhyPlace::Input), (Part::Whole, WhyPlace::Output)];
    match kind {
        EventKind::RequestStarted { .. } => REQUEST_INPUT,
        EventKind::BlockStarted { .. } | EventKind::BlockInput { .. } => INPUT,
        EventKind::BlockFinished { output: Some(_), .. } | EventKind::RequestFinished { output: Some(_), .. } => OUTPUT,
        EventKind::BlockFinished { error: Some(_), .. } | EventKind::RequestFinished { error: Some(_), .. } => ERROR,
        EventKind::HookReturned { .. } => HOOK,
        kind if is_edited_value(kind) => &[(Part::Whole, WhyPlace::Edit)],
        EventKind::EffectStarted { effect: EffectKind::Model, request: Some(_), .. } => {
            &[(Part::Whole, WhyPlace::Prompt)]
        }
        EventKind::EffectStarted { request: Some(_), .. } => &[(Part::Whole, WhyPlace::Asked)],
        EventKind::EffectFinished { effect: EffectKind::Model, error: None, .. } => {
            &[(Part::Whole, WhyPlace::ModelAnswer)]
        }
        // What a server or a model said instead of an answer came from outside, too.
        EventKind::EffectFinished { .. } => &[(Part::Whole, WhyPlace::Reply)],
        EventKind::CallbackReturned { returned: Some(RecordedReturn::Value(_)), .. } => {
            &[(Part::Whole, WhyPlace::Returned)]
        }
        EventKind::SuspensionResolved(_) => &[(Part::Whole, WhyPlace::Person)],
        EventKind::StateInitialized { .. } | EventKind::StateChanged { .. } => &[(Part::Whole, WhyPlace::State)],
        EventKind::ItemAdded { .. } | EventKind::ItemUpdated { .. } | EventKind::ItemDone { .. } => {
            &[(Part::Whole, WhyPlace::Item)]
        }
        EventKind::JournalAppended { .. } => &[(Part::Whole, WhyPlace::Journal)],
        _ => &[],
    }
}

/// The reference of an event's value to an earlier event, or the value.
fn recorded(kind: &EventKind, part: Part) -> Option<&Recorded> {
    match (kind, part) {
        (EventKind::HookReturned { before, .. }, Part::Before) => before.as_ref(),
        (EventKind::HookReturned { after, .. }, _) => after.as_ref(),
        (EventKind::RequestStarted { input, .. }, Part::Whole)
        | (EventKind::BlockStarted { input, .. } | EventKind::BlockInput { input }, _) => Some(input),
        (EventKind::BlockFinished { output, .. } | EventKind::RequestFinished { output, .. }, _) => output.as_ref(),
        (kind, _) => edited_value(kind),
    }
}

/// The earlier event whose value this is, as the log says.
pub(super) fn refers_to(kind: &EventKind, part: Part) -> Option<Seq> {
    match recorded(kind, part)? {
        Recorded::Of(seq) => Some(*seq),
        _ => None,
    }
}

/// The value of an event that is written out there.
pub(super) fn own_value<'e>(event: &'e Event, part: Part, requests: &Requests) -> Option<Cow<'e, Value>> {
    if let Some(error) = error_of(&event.kind) {
        return Some(Cow::Owned(said_by(error)));
    }
    if let Some(recorded) = recorded(&event.kind, part) {
        return match recorded {
            Recorded::Value(value) => Some(Cow::Borrowed(value)),
            _ => None,
        };
    }
    match &event.kind {
        EventKind::EffectStarted { .. } => requests.asked(event).map(|(_, asked)| Cow::Owned(asked.whole())),
        EventKind::EffectFinished { result, .. } => Some(Cow::Borrowed(result)),
        EventKind::CallbackReturned { returned: Some(RecordedReturn::Value(value)), .. } => Some(Cow::Borrowed(value)),
        EventKind::SuspensionResolved(resolved) => resolved.data.as_ref().map(Cow::Borrowed),
        EventKind::StateInitialized { state, .. } => Some(Cow::Borrowed(state)),
        EventKind::StateChanged { operation, value, .. } => value.as_ref().map_or_else(|| written(operation), borrowed),
        EventKind::StateEdited { operation, .. } => written(operation),
        EventKind::ItemAdded { item } => Some(Cow::Owned(Value::Object(item.payload.clone()))),
        EventKind::ItemUpdated { patch, .. } | EventKind::ItemDone { patch, .. } => {
            Some(Cow::Owned(Value::Object(patch.clone())))
        }
        EventKind::JournalAppended { entry } => Some(Cow::Borrowed(entry)),
        _ => None,
    }
}

/// The error that is the value of an event.
fn error_of(kind: &EventKind) -> Option<&FlowError> {
    match kind {
        EventKind::BlockFinished { output: None, error, .. }
        | EventKind::RequestFinished { output: None, error, .. }
        | EventKind::EffectFinished { error, .. } => error.as_ref(),
        _ => None,
    }
}

/// An error as code sees it: without the place and the stack, which the program adds.
fn said_by(error: &FlowError) -> Value {
    let mut said = json!({ "name": error.name, "message": error.message });
    if let Some(code) = &error.code {
        said["code"] = json!(code);
    }
    if let Some(details) = &error.details {
        said["details"] = details.clone();
    }
    said
}

fn borrowed(value: &Value) -> Option<Cow<'_, Value>> {
    Some(Cow::Borrowed(value))
}

/// As [`own_value`], also of an event that refers to another.
pub(super) fn whole_value<'e>(
    events: Events<'e>,
    event: &'e Event,
    part: Part,
    requests: &Requests,
) -> Option<Cow<'e, Value>> {
    match recorded(&event.kind, part) {
        Some(recorded) => events.value(recorded).map(Cow::Borrowed),
        None => own_value(event, part, requests),
    }
}

/// What an operation writes, at [`base_of`] it.
fn written(operation: &Operation) -> Option<Cow<'_, Value>> {
    match operation {
        Operation::Patch { fields } | Operation::Atomic { fields } => Some(Cow::Owned(Value::Object(fields.clone()))),
        Operation::Set { state } => Some(Cow::Owned(Value::Object(state.clone()))),
        Operation::Increment { by } => Some(Cow::Owned(Value::Object(by.clone()))),
        Operation::Update { value, .. } | Operation::Push { value, .. } | Operation::SetRecord { value, .. } => {
            Some(Cow::Borrowed(value))
        }
        Operation::DeleteRecord { .. } => None,
    }
}

/// The pointer in the state to what an event wrote. The end of a list is `-`, as in JSON Patch.
pub(super) fn base_of(kind: &EventKind) -> String {
    let mut base = String::new();
    let (EventKind::StateChanged { operation, .. } | EventKind::StateEdited { operation, .. }) = kind else {
        return base;
    };
    match operation {
        Operation::Update { field, .. } => pointer::push(&mut base, field),
        Operation::Push { field, .. } => {
            pointer::push(&mut base, field);
            pointer::push(&mut base, "-");
        }
        Operation::SetRecord { field, key, .. } => {
            pointer::push(&mut base, field);
            pointer::push(&mut base, key);
        }
        _ => {}
    }
    base
}

/// A scope as `history` and people name it.
pub(super) fn scope_name(scope: &ScopeKey) -> String {
    match scope.kind {
        ScopeKind::Sequencer | ScopeKind::Block => {
            let owner = engine::identity::StateOwner::parse(&scope.id);
            let path = owner.map_or(&*scope.id, |owner| owner.instance.path);
            format!("{}[{path}]", scope.kind.as_str())
        }
        ScopeKind::Resource => instance_of(scope).unwrap_or_else(|| scope.id.to_string()),
        kind => kind.as_str().to_owned(),
    }
}

/// Whether a value came from outside of the flow.
pub(super) fn is_from_outside(place: WhyPlace) -> bool {
    matches!(
        place,
        WhyPlace::RequestInput | WhyPlace::ModelAnswer | WhyPlace::Reply | WhyPlace::Person | WhyPlace::Edit
    )
}
