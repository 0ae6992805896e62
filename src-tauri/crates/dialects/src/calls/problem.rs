//! The errors of solutions and Calls, which the next request to the model gets, or which fail the agent.

use serde_json::{Value, json};

use engine::error::FlowError;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Solution,
    Context,
    UnknownTool,
    UnknownActivity,
    UnknownDelegate,
    Arguments,
    Scope,
    Instance,
    Reference,
    Cycle,
    OutputPath,
    Output,
    Limit,
    Rejected,
}

impl Kind {
    /// The class name and the code.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Kind::Solution => ("SolutionError", "solution"),
            Kind::Context => ("ContextError", "context"),
            Kind::UnknownTool => ("UnknownToolError", "unknown_tool"),
            Kind::UnknownActivity => ("UnknownActivityError", "unknown_activity"),
            Kind::UnknownDelegate => ("UnknownDelegateError", "unknown_delegate"),
            Kind::Arguments => ("CallArgumentsError", "call_arguments"),
            Kind::Scope => ("ScopeError", "scope"),
            Kind::Instance => ("InstanceError", "instance"),
            Kind::Reference => ("UnresolvedReferenceError", "unresolved_reference"),
            Kind::Cycle => ("CallCycleError", "call_cycle"),
            Kind::OutputPath => ("OutputPathError", "output_path"),
            Kind::Output => ("CallOutputError", "call_output"),
            Kind::Limit => ("LimitError", "limit_exceeded"),
            Kind::Rejected => ("CallRejectedError", "call_rejected"),
        }
    }
}

/// Creates an error.
pub(super) fn problem(kind: Kind, message: impl Into<String>) -> FlowError {
    let (name, code) = kind.names();
    FlowError {
        code: Some(code.to_owned()),
        classes: [name, "FlowError", "Error"].map(str::to_owned).to_vec(),
        ..FlowError::new(name, message)
    }
}

/// Returns whether an error is of a kind.
pub(super) fn is_of(kind: Kind, error: &FlowError) -> bool {
    let (name, code) = kind.names();
    error.name == name && error.code.as_deref() == Some(code)
}

/// Returns the message that reports a failure in the next request to the model. It has the failed Call's instance, so
/// that the Calls of other instances do not see it. It has only the error's name and message, because a stack or a
/// cause may contain data that was scoped to the failed Call.
pub(super) fn feedback(call: Option<&Value>, instance: Option<&str>, error: &FlowError) -> Value {
    let mut data = json!({ "error": { "name": error.name, "message": error.message } });
    let mut message = json!({ "type": "data", "kind": "error" });
    if let Some(call) = call {
        data["call"] = call.clone();
    }
    if let Some(instance) = instance {
        message["_instance"] = instance.into();
    }
    message["data"] = data;
    message
}
