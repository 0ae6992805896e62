//! The arguments of a tool call, read one by one, so that an error names the argument to change.
//!
//! Must not know what an argument is for.

use runner::{At, Fault};
use serde_json::{Map, Value};

use crate::answer::clean;
use crate::door::Door;

/// Why a call was not carried out, as a message to its client.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        // The command line calls it `search`.
        let mut message = as_arguments(&fault.to_string()).replace("`search` looks in", "`find` looks in");
        if let Fault::Invalid { details, .. } = &fault {
            // Leave out details that the message contains.
            for detail in details.iter().filter(|detail| !detail.path.is_empty()) {
                let place = format!("{}: {}", detail.path, detail.message);
                if !message.contains(&place) {
                    message.push_str(&format!("; {place}"));
                }
            }
        }
        Refused(message)
    }
}

/// The flags of the command line in an error, and the arguments that mean the same.
const FLAGS: [(&str, &str); 17] = [
    ("--suspension", "`suspension`"),
    ("--approve JSON", "`answer`: approve, and `data`"),
    ("--submit JSON", "`answer`: submit, and `data`"),
    ("--approve", "`answer`: approve"),
    ("--submit", "`answer`: submit"),
    ("--path", "`place`"),
    ("--value", "`value`"),
    ("--text", "`text`"),
    ("--set", "`set`"),
    ("--output", "`output`"),
    ("--input", "`input`"),
    ("--at", "`at`"),
    ("--user", "`user`"),
    ("--session", "`session`"),
    ("--skip", "`answer`: skip"),
    ("--reject", "`answer`: reject"),
    // Only the command line has this option.
    ("--project", "`flowglass run --project`"),
];

/// Replaces flags in the message of a fault by arguments, because a client has no command line.
fn as_arguments(message: &str) -> String {
    let mut named = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, from) = rest.split_at(at);
        named.push_str(before);
        let ends = |behind: &str| !behind.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        let flag = FLAGS
            .iter()
            .find_map(|(flag, argument)| Some((argument, from.strip_prefix(flag).filter(|rest| ends(rest))?)));
        let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
        match flag.filter(|_| !is_word) {
            Some((argument, behind)) => {
                named.push_str(argument);
                rest = behind;
            }
            None => {
                named.push_str("--");
                rest = &from[2..];
            }
        }
    }
    named.push_str(rest);
    named
}

/// Cuts long words in a message, so that an error does not repeat a megabyte.
pub(crate) fn without_long_words(message: &str) -> String {
    const LONGEST: usize = 300;
    let words = message.split_inclusive(' ').map(|word| match word.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}… ({} bytes) ", &word[..at], word.len()),
        None => word.to_owned(),
    });
    words.collect::<String>().trim_end().to_owned()
}

/// Adds the name of the wrong argument to a fault.
pub(crate) fn on(argument: &'static str) -> impl Fn(Fault) -> Refused {
    move |fault| Refused(format!("argument `{argument}`: {}", Refused::from(fault).0))
}

/// Refuses given arguments that have no effect, because an answer that ignores them would be misleading.
pub(crate) fn refuse_unused<'a>(unused: impl IntoIterator<Item = (&'a str, bool)>, what: &str) -> Result<(), Refused> {
    match unused.into_iter().find(|(_, is_unused)| *is_unused) {
        Some((argument, _)) => Err(Refused(format!("argument `{argument}` has no effect on {what}: leave it out"))),
        None => Ok(()),
    }
}

/// The arguments of a call that have not been read yet.
pub(crate) struct Arguments {
    given: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Arguments {
    pub(crate) fn new(given: Map<String, Value>) -> Self {
        Arguments { given, known: Vec::new() }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.given.shift_remove(name).filter(|value| !value.is_null())
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, Refused> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a text", &other)),
        }
    }

    /// A required text.
    pub(crate) fn required(&mut self, name: &'static str, what: &str) -> Result<String, Refused> {
        self.text(name)?.ok_or_else(|| Refused(format!("argument `{name}` is missing: {what}")))
    }

    /// A whole number from 0.
    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<u64>, Refused> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(name, "a whole number from 0", &value)),
            },
        }
    }

    /// Yes or no; no if absent.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<bool, Refused> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    /// Any JSON. `null` counts as absent.
    pub(crate) fn json(&mut self, name: &'static str) -> Option<Value> {
        self.take(name)
    }

    /// An object.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Map<String, Value>, Refused> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields),
            Some(other) => Err(wrong(name, "an object", &other)),
        }
    }

    /// One text, or several.
    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Vec<String>, Refused> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(all)) => {
                let texts = all.iter().map(|one| one.as_str().map(str::to_owned).ok_or(one));
                texts.collect::<Result<_, _>>().map_err(|one| wrong(name, "a list of texts", one))
            }
            Some(other) => Err(wrong(name, "a list of texts", &other)),
        }
    }

    /// A word of a list.
    pub(crate) fn word(&mut self, name: &'static str, words: &[&'static str]) -> Result<Option<&'static str>, Refused> {
        let Some(given) = self.text(name)? else { return Ok(None) };
        let found = words.iter().find(|word| **word == given).copied();
        found
            .map(Some)
            .ok_or_else(|| Refused(format!("argument `{name}`: {} is none of {}", quoted(&given), words.join(", "))))
    }

    /// An instant of a request: the number of an event, or the path of a block.
    pub(crate) fn at(&mut self, name: &'static str) -> Result<Option<Instant>, Refused> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => match number.as_u64() {
                Some(seq) => Ok(Some(Instant::Seq(seq))),
                None => Err(wrong(name, "the number of an event", &Value::Number(number))),
            },
            Some(Value::String(text)) => Instant::parse(name, &text).map(Some),
            Some(other) => Err(wrong(name, "the number of an event or the path of a block", &other)),
        }
    }

    /// Refuses unknown arguments.
    pub(crate) fn finish(self) -> Result<(), Refused> {
        match self.given.keys().next() {
            None => Ok(()),
            Some(name) => Err(Refused(format!(
                "argument {} is not known here; the arguments are {}",
                quoted(name),
                self.known.join(", ")
            ))),
        }
    }
}

/// An instant of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Instant {
    /// Just after an event.
    Seq(u64),
    /// Just after the end of an execution of a block (default: the newest one).
    Block { path: String, attempt: Option<u32> },
}

impl std::fmt::Display for Instant {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Instant::Seq(seq) => write!(out, "{seq}"),
            Instant::Block { path, attempt: None } => write!(out, "{path}"),
            Instant::Block { path, attempt: Some(attempt) } => write!(out, "{path}#{attempt}"),
        }
    }
}

impl Instant {
    fn parse(name: &str, text: &str) -> Result<Self, Refused> {
        if let Ok(seq) = text.parse() {
            return Ok(Instant::Seq(seq));
        }
        if !text.starts_with("root") {
            return Err(Refused(format!(
                "argument `{name}`: {} is neither the number of an event nor a path that begins with root",
                quoted(text)
            )));
        }
        match text.rsplit_once('#') {
            None => Ok(Instant::Block { path: text.to_owned(), attempt: None }),
            Some((path, attempt)) => match attempt.parse() {
                Ok(attempt) => Ok(Instant::Block { path: path.to_owned(), attempt: Some(attempt) }),
                Err(_) => Err(Refused(format!(
                    "argument `{name}`: after # comes the number of an attempt, from 0, as in {path}#0"
                ))),
            },
        }
    }

    /// Converts it for the workspace. An attempt is found by its last event. `argument` is its name in an error.
    pub(crate) fn of(&self, door: &Door, request: &str, argument: &'static str) -> Result<At, Refused> {
        match self {
            Instant::Seq(seq) => Ok(At::Seq(*seq)),
            Instant::Block { path, attempt: None } => Ok(At::Path(path.clone())),
            Instant::Block { path, attempt } => {
                let block = door.workspace.block_at(request, path, *attempt).map_err(on(argument))?.block;
                Ok(At::Seq(block.seq_end.unwrap_or(block.seq_start)))
            }
        }
    }
}

fn wrong(name: &str, what: &str, given: &Value) -> Refused {
    Refused(format!("argument `{name}` is {what}, and this is {}", cut(&given.to_string())))
}

fn quoted(text: &str) -> String {
    clean(&Value::String(cut(text)).to_string())
}

/// Cuts a client's value, so that an error does not repeat a megabyte.
fn cut(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
