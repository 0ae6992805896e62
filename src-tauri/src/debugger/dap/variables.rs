//! Values for the editor, one level at a time.

use std::rc::Rc;

use runner::{At, Captured, Instant, OpenedValue, PrintedValue};
use serde_json::Value;

use super::adapter::{Adapter, Answer, Debugged, body, index};
use super::frames::not_newest;
use super::motion::text;
use super::types::{EvaluateArguments, Evaluated, Variable, Variables, VariablesArguments};

/// The longest text that is shown of a value of JSON.
const MAX_LETTERS: usize = 200;

/// Something with variables inside.
pub(super) enum Container {
    Locals(Rc<Instant>),
    /// Every scope's state after an event.
    State(u64),
    /// A value of JSON. `address` is where in a state it is; `expression` gives it in the scope of the statement.
    Json {
        value: Value,
        address: Option<String>,
        expression: Option<String>,
    },
    /// A value that is opened by its handle.
    Handle {
        handle: String,
        expression: Option<String>,
    },
}

impl Container {
    /// Where in a state a variable of this name is. `None` if it is in none.
    pub(super) fn address_of(&self, name: &str) -> Option<String> {
        match self {
            Container::State(_) => Some(name.to_owned()),
            Container::Json { address: Some(address), value, .. } => Some(member(address, name, value.is_array())),
            _ => None,
        }
    }
}

impl Debugged {
    /// Keeps a container until the next movement, and returns its number.
    pub(super) fn add(&mut self, container: Container) -> i64 {
        self.containers.push(container);
        self.containers.len() as i64
    }

    pub(super) fn container(&self, reference: i64) -> Result<&Container, String> {
        let found = index(reference).and_then(|at| self.containers.get(at));
        found.ok_or_else(|| format!("there are no variables {reference} since the last movement"))
    }

    fn captured(&mut self, name: &str, captured: &Captured, expression: Option<String>) -> Variable {
        let json = captured.json.as_ref().map(|json| &json.0).filter(|json| holds_something(json));
        let variables_reference = match (json, &captured.handle) {
            (Some(value), _) => {
                let (value, expression) = (value.clone(), expression.clone());
                self.add(Container::Json { value, address: None, expression })
            }
            (None, Some(handle)) => {
                self.add(Container::Handle { handle: handle.clone(), expression: expression.clone() })
            }
            (None, None) => 0,
        };
        Variable {
            name: name.to_owned(),
            value: captured.preview.clone(),
            kind: Some(captured.kind.clone()),
            variables_reference,
            evaluate_name: expression,
        }
    }

    fn printed(&mut self, name: &str, printed: &PrintedValue, expression: Option<String>) -> Variable {
        match printed {
            PrintedValue::Captured(captured) => self.captured(name, captured, expression),
            PrintedValue::Failed { error } => Variable {
                name: name.to_owned(),
                value: format!("<{}: {}>", error.name, error.message),
                ..Variable::default()
            },
        }
    }

    fn json(&mut self, name: &str, value: Value, address: Option<String>, expression: Option<String>) -> Variable {
        let shown = value.to_string();
        let is_long = shown.chars().nth(MAX_LETTERS).is_some();
        let shown = if is_long { shown.chars().take(MAX_LETTERS).chain(['…']).collect() } else { shown };
        let kind = match &value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let evaluate_name = expression.clone();
        let holds = holds_something(&value);
        let variables_reference = if holds { self.add(Container::Json { value, address, expression }) } else { 0 };
        Variable {
            name: name.to_owned(),
            value: shown,
            kind: Some(kind.to_owned()),
            variables_reference,
            evaluate_name,
        }
    }

    /// Every scope's state after an event, and the writes that come into force when their block ends.
    fn state(&mut self, seq: u64) -> Result<Vec<Variable>, String> {
        let (workspace, request) = (&self.session.workspace, &self.session.request);
        let view = workspace.state_at(request, Some(&At::Seq(seq))).map_err(text)?;
        let pending = workspace.pending_writes(request, Some(&At::Seq(seq))).map_err(text)?;
        let scopes =
            [("request", view.request), ("session", view.session), ("user", view.user), ("project", view.project)];
        let scopes = scopes.into_iter().filter_map(|(name, state)| Some((name.to_owned(), state?.0)));
        let sequencers = view.sequencers.into_iter().map(|(instance, state)| (sequencer(&instance), state.0));
        let all: Vec<(String, Value)> = scopes.chain(sequencers).collect();
        let mut variables = Vec::new();
        for (name, value) in all {
            variables.push(self.json(&name, value, Some(name.clone()), None));
        }
        if let Some(state) = view.flow_state {
            variables.push(self.json("FlowState", state.0, None, None));
        }
        if !pending.is_empty() {
            let pending = pending.into_iter().map(Value::String).collect();
            variables.push(self.json("(not committed yet)", Value::Array(pending), None, None));
        }
        Ok(variables)
    }

    fn opened(&mut self, opened: &OpenedValue, expression: Option<&str>) -> Vec<Variable> {
        if opened.kind == "string" {
            let (name, value) = ("(text)".to_owned(), opened.preview.clone());
            return vec![Variable { name, value, ..Variable::default() }];
        }
        let has_members = matches!(opened.kind.as_str(), "object" | "array" | "instance" | "typedArray");
        let mut variables = Vec::new();
        for entry in &opened.entries {
            let is_index = opened.kind == "array" || opened.kind == "typedArray";
            let inside = expression.filter(|_| has_members).map(|outer| member(outer, &entry.name, is_index));
            variables.push(self.captured(&entry.name, &entry.value, inside));
        }
        let more = opened.total.saturating_sub(opened.entries.len() as u64);
        if more > 0 {
            variables.push(Variable { name: "…".to_owned(), value: format!("{more} more"), ..Variable::default() });
        }
        variables
    }
}

impl Adapter<'_> {
    pub(super) fn variables(&mut self, asked: &VariablesArguments) -> Answer {
        let debugged = self.debugged()?;
        let variables = match debugged.container(asked.variables_reference)? {
            Container::Locals(at) => {
                let at = at.clone();
                let local =
                    |local: &runner::Local| debugged.printed(&local.name, &local.value, Some(local.name.clone()));
                at.locals.iter().map(local).collect()
            }
            Container::State(seq) => {
                let seq = *seq;
                debugged.state(seq)?
            }
            Container::Json { value, address, expression } => {
                let (value, address, expression) = (value.clone(), address.clone(), expression.clone());
                let inside = |outer: &Option<String>, name: &str, is_index: bool| {
                    outer.as_ref().map(|outer| member(outer, name, is_index))
                };
                let is_index = value.is_array();
                let entries: Vec<(String, Value)> = match value {
                    Value::Object(fields) => fields.into_iter().collect(),
                    Value::Array(items) => (0..).map(|at: usize| at.to_string()).zip(items).collect(),
                    only => vec![("(value)".to_owned(), only)],
                };
                let mut variables = Vec::new();
                for (name, value) in entries {
                    let (address, expression) =
                        (inside(&address, &name, is_index), inside(&expression, &name, is_index));
                    variables.push(debugged.json(&name, value, address, expression));
                }
                variables
            }
            Container::Handle { handle, expression } => {
                let opened = debugged.session.workspace.open_value(handle).map_err(text)?;
                let expression = expression.clone();
                debugged.opened(&opened, expression.as_deref())
            }
        };
        let count = asked.count.filter(|count| *count > 0).unwrap_or(usize::MAX);
        body(&Variables { variables: variables.into_iter().skip(asked.start).take(count).collect() })
    }

    pub(super) fn evaluate(&mut self, asked: &EvaluateArguments) -> Answer {
        let debugged = self.debugged()?;
        let at = match asked.frame_id {
            None => Rc::new(debugged.session.here().clone()),
            Some(id) => {
                let frame = debugged.frame(id)?;
                frame.at.clone().filter(|_| frame.is_newest).ok_or_else(|| not_newest(frame))?
            }
        };
        let values = debugged.session.values(&at, std::slice::from_ref(&asked.expression)).map_err(text)?;
        let value = values.into_iter().next().ok_or_else(|| "the expression has no value".to_owned())?;
        if let PrintedValue::Failed { error } = &value {
            return Err(format!("{}: {}", error.name, error.message));
        }
        let Variable { value, kind, variables_reference, .. } =
            debugged.printed("", &value, Some(asked.expression.clone()));
        body(&Evaluated { result: value, kind, variables_reference })
    }
}

fn holds_something(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// The address of a sequencer's or a block's state, by its instance id: `REQUEST:PATH:ATTEMPT`.
fn sequencer(instance: &str) -> String {
    let path = instance.rsplit_once(':').and_then(|(rest, _)| rest.split_once(':')).map(|(_, path)| path);
    format!("sequencer[{}]", path.unwrap_or(instance))
}

/// A member of an expression or of a place in a state.
fn member(outer: &str, name: &str, is_index: bool) -> String {
    let is_plain = !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    match (is_index && name.bytes().all(|byte| byte.is_ascii_digit()), is_plain) {
        (true, _) => format!("{outer}[{name}]"),
        (false, true) => format!("{outer}.{name}"),
        (false, false) => format!("{outer}[{}]", Value::from(name)),
    }
}
