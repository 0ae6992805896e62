//! What is wrong with a solution or a Call, by name: fed back to the next request, or the error of the agent.

use serde_json::{Value, json};

use engine::error::FlowError;

/// What is wrong.
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

/// Returns the error.
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

/// Returns the message that tells the next request of a failure. It has the failed Call's instance, so that the Calls
/// of other instances do not see it. Of the error only its name and message pass: a stack or a cause may hold what was
/// scoped to the failed Call alone.
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
