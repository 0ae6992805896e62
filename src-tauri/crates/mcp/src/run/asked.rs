//! The arguments of a call of `run`. An argument without effect on the action is refused.

use engine::suspension::Reply;
use runner::{At, Edits, Fault, Mock, Resolution, RunOptions, SuspensionRow, Workspace};
use serde_json::{Map, Value};

use crate::arguments::{Arguments, Instant, Refused, on, refuse_unused};
use crate::door::Door;
use crate::find::check_session;
use crate::shown::{name, quoted};

/// The actions of `run`, with the arguments that have an effect besides `do` and `confirm`.
const DOES: [(&str, &[&str]); 7] = [
    ("verify", &["request", "flow", "session"]),
    ("replay", &["request"]),
    ("run", &["flow", "action", "input", "user", "session", "models"]),
    ("resume", &["request", "answer", "data", "suspension", "models"]),
    ("retry", &["request", "models"]),
    ("fork", &["request", "at", "set", "input", "output", "models"]),
    ("abort", &["request"]),
];

/// How many open questions an error names.
const MOST_OPEN: usize = 10;
/// How much of each question's text it shows.
const MESSAGE: usize = 80;

/// The arguments of a call.
pub(super) struct Asked {
    pub(super) what: &'static str,
    pub(super) request: Option<String>,
    pub(super) flow: Option<String>,
    action: Option<String>,
    input: Option<Value>,
    user: Option<String>,
    pub(super) session: Option<String>,
    at: Option<Instant>,
    set: Map<String, Value>,
    output: Option<Value>,
    pub(super) answer: Option<String>,
    data: Option<Value>,
    pub(super) suspension: Option<String>,
    models: Option<String>,
    pub(super) confirm: bool,
}

impl Asked {
    pub(super) fn read(mut arguments: Arguments) -> Result<Asked, Refused> {
        let words = DOES.map(|(word, _)| word);
        let asked = Asked {
            what: arguments
                .word("do", &words)?
                .ok_or_else(|| Refused(format!("argument `do` is missing: one of {}", words.join(", "))))?,
            request: arguments.text("request")?,
            flow: arguments.text("flow")?,
            action: arguments.text("action")?,
            input: arguments.json("input"),
            user: arguments.text("user")?,
            session: arguments.text("session")?,
            at: arguments.at("at")?,
            set: arguments.object("set")?,
            output: arguments.json("output"),
            answer: arguments.text("answer")?,
            data: arguments.json("data"),
            suspension: arguments.text("suspension")?,
            models: arguments.text("models")?,
            confirm: arguments.flag("confirm")?,
        };
        arguments.finish()?;
        asked.check_used()?;
        Ok(asked)
    }

    /// Refuses arguments that have no effect.
    fn check_used(&self) -> Result<(), Refused> {
        let given = [
            ("request", self.request.is_some()),
            ("flow", self.flow.is_some()),
            ("action", self.action.is_some()),
            ("input", self.input.is_some()),
            ("user", self.user.is_some()),
            ("session", self.session.is_some()),
            ("at", self.at.is_some()),
            ("set", !self.set.is_empty()),
            ("output", self.output.is_some()),
            ("answer", self.answer.is_some()),
            ("data", self.data.is_some()),
            ("suspension", self.suspension.is_some()),
            ("models", self.models.is_some()),
        ];
        let used = DOES.iter().find(|(word, _)| *word == self.what).map_or(&[][..], |(_, used)| *used);
        refuse_unused(given.map(|(argument, is_given)| (argument, is_given && !used.contains(&argument))), self.what)?;
        let takes_data = matches!(self.answer.as_deref(), Some("approve" | "submit"));
        refuse_unused([("data", self.data.is_some() && !takes_data)], "a resume without `answer`: approve or submit")?;
        refuse_unused(
            [("suspension", self.suspension.is_some() && self.answer.is_none())],
            "a resume without `answer`",
        )?;
        let is_one = self.what == "verify" && self.request.is_some();
        let unused = [("flow", is_one && self.flow.is_some()), ("session", is_one && self.session.is_some())];
        refuse_unused(unused, "verify of one request")
    }

    pub(super) fn named(&self) -> Result<String, Refused> {
        let id = self.request.clone();
        id.ok_or_else(|| Refused(format!("argument `request` is missing: the request to {}", self.what)))
    }

    /// How model calls are answered.
    pub(super) fn models(&self) -> Result<Mock, Refused> {
        match (self.models.as_deref(), self.what) {
            // A new run uses mock models unless the client asks for real ones.
            (Some("mock"), _) | (None, "run") => Ok(Mock::Beside),
            (Some("real"), _) => Ok(Mock::Off),
            (Some("recorded"), "run") => {
                Err(Refused("argument `models`: a new run has no recorded models; give mock or real".to_owned()))
            }
            (Some("recorded") | None, _) => Ok(Mock::Inherit),
            (Some(other), _) => {
                Err(Refused(format!("argument `models` must be recorded, mock or real, not {}", quoted(other, 40))))
            }
        }
    }

    pub(super) fn resolution(&self) -> Result<Option<Resolution>, Refused> {
        let Some(answer) = self.answer.as_deref() else { return Ok(None) };
        let reply = match answer {
            "approve" => Reply::Approve,
            "reject" => Reply::Reject,
            "skip" => Reply::Skip,
            "submit" => Reply::Submit,
            other => {
                return Err(Refused(format!(
                    "argument `answer` must be approve, reject, skip or submit, not {}",
                    quoted(other, 40)
                )));
            }
        };
        let (data, suspension) = (self.data.clone(), self.suspension.clone());
        Ok(Some(Resolution { reply: Some(reply), data, suspension, ..Resolution::default() }))
    }

    /// Refuses an answer to an unknown question, and an answer that does not say which of several open questions it is
    /// for. The error names the open questions.
    pub(super) fn check_question(&self, door: &Door, request: &str) -> Result<(), Refused> {
        if self.answer.is_none() {
            return Ok(());
        }
        let open = door.workspace.pending(request)?;
        let wrong = match &self.suspension {
            None if open.len() > 1 => format!(" is missing: {} asks several things", name(request)),
            Some(id) if !door.workspace.suspensions_of(request, None)?.iter().any(|one| one.id == *id) => {
                format!(": {} is no question of {}", quoted(id, 80), name(request))
            }
            _ => return Ok(()),
        };
        let one = |one: &SuspensionRow| {
            let takes: Vec<&str> = one.allow.iter().map(|reply| reply.as_str()).collect();
            let message = quoted(one.message.as_deref().unwrap_or(&one.reason), MESSAGE);
            format!("{} ({message} at {}, takes {})", name(&one.id), name(&one.path), takes.join(", "))
        };
        let named: Vec<String> = open.iter().take(MOST_OPEN).map(one).collect();
        let more = match open.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more, which `look` lists"),
        };
        let open = if named.is_empty() { "none".to_owned() } else { named.join("; ") };
        Err(Refused(format!("argument `suspension`{wrong}; open questions: {open}{more}")))
    }

    pub(super) fn edits(&self) -> Edits {
        Edits {
            input: self.input.clone(),
            output: self.output.clone(),
            set: self.set.clone().into_iter().collect(),
            ..Edits::default()
        }
    }

    pub(super) fn fork_at(&self, door: &Door, request: &str) -> Result<At, Refused> {
        let Some(at) = &self.at else {
            return Err(Refused(
                "argument `at` is missing: a finished block's path, or the number of an event".to_owned(),
            ));
        };
        at.of(door, request, "at")
    }

    /// Reads a new run, and makes all checks that need no code of the flow.
    pub(super) fn new_run(&self, door: &Door) -> Result<RunOptions, Refused> {
        let missing = |argument: &str, what: &str| Refused(format!("argument `{argument}` is missing: {what}"));
        let flow = self.flow.clone().ok_or_else(|| missing("flow", "the kind of a flow"))?;
        let flows = door.workspace.flows()?;
        let Some(known) = flows.iter().find(|known| known.kind == flow) else {
            let kinds: Vec<String> = flows.iter().map(|flow| name(&flow.kind)).collect();
            return Err(Refused(format!(
                "argument `flow`: there is no {}; there are {}",
                quoted(&flow, 80),
                kinds.join(", ")
            )));
        };
        let actions: Vec<String> = known.actions.iter().map(|action| name(&action.name)).collect();
        let action = self.action.clone().ok_or_else(|| missing("action", &format!("one of {}", actions.join(", "))))?;
        if !known.actions.iter().any(|known| known.name == action) {
            let all = actions.join(", ");
            return Err(Refused(format!("argument `action`: there is no {}; there are {all}", quoted(&action, 80))));
        }
        let user = self.user.clone().unwrap_or_else(|| "agent".to_owned());
        Workspace::check_user(&user).map_err(on("user"))?;
        if let Some(session) = &self.session {
            door.workspace.check_session_of(session, &user).map_err(on("user` or `session"))?;
        }
        let options = RunOptions {
            flow,
            action,
            user,
            session: self.session.clone(),
            input: self.input.clone(),
            mock: self.models()?,
            ..RunOptions::default()
        };
        let checked = door.workspace.check_run(options.clone());
        checked.map_err(|fault| match fault {
            Fault::Invalid { .. } | Fault::NotFound { .. } => on("flow`, `action` or `models")(fault),
            _ => Refused::from(fault),
        })?;
        Ok(options)
    }

    /// Refuses a verification of an unknown session.
    pub(super) fn check_selection(&self, door: &Door) -> Result<(), Refused> {
        check_session(door, self.session.as_deref())?;
        self.flow.as_deref().map_or(Ok(()), |flow| crate::find::check_flow(door, flow))
    }
}
