//! What recorded runs do with the code of today.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Json;

/// What a recorded run does with the code of today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// What it did.
    Same,
    /// Something else.
    Differs,
    /// It asks for something that was not recorded, so that only a live run can tell.
    AsksNew,
    /// It was not run: the code is the code that ran.
    Unaffected,
    /// Its flow does not load, or is gone.
    DoesNotLoad,
    /// It cannot be run again.
    NotComparable,
}

impl Verdict {
    /// As it is written in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Differs => "differs",
            Verdict::AsksNew => "asks_new",
            Verdict::Unaffected => "unaffected",
            Verdict::DoesNotLoad => "does_not_load",
            Verdict::NotComparable => "not_comparable",
        }
    }

    /// Whether the run is as it was, as far as anybody knows.
    pub const fn is_good(self) -> bool {
        matches!(self, Verdict::Same | Verdict::Unaffected)
    }
}

/// What of a block differs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum DifferingField {
    /// What it got.
    Input,
    /// What it made.
    Output,
    /// What it wrote to a state.
    State,
    /// What it emitted, or wrote into the journal.
    Items,
    /// Which way the run took: a router's choice, or a block that did not run, or ran in addition.
    Route,
    /// How it failed.
    Error,
    /// What it asked of a model, a page, the clock or chance.
    Effect,
}

impl DifferingField {
    /// As it is written in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            DifferingField::Input => "input",
            DifferingField::Output => "output",
            DifferingField::State => "state",
            DifferingField::Items => "items",
            DifferingField::Route => "route",
            DifferingField::Error => "error",
            DifferingField::Effect => "effect",
        }
    }
}

/// The verdict on one recorded run.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedRun {
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The `.run` file that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its flow; absent if its file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The action of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// What the run does with the code of today.
    pub verdict: Verdict,
    /// The block of the first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The recorded event of the first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What of the block differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<DifferingField>,
    /// Where inside of that, as `lines[0].sum`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The expected value of the field: the recorded one, or the accepted one. If it is long, only the value at
    /// `place`; if that is long, too, `{"$cut", "bytes", "from"}`: a part of its JSON around the first difference, how
    /// long all of it is, and at which byte the part begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Json>,
    /// The value of the field in the replay, in the same form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Json>,
    /// Why there is no better verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether what it does now was accepted: it is expected from now on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

/// What is shown in place of a long value: a part of its JSON, or of the text if it is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CutValue {
    /// The part.
    #[serde(rename = "$cut")]
    pub part: String,
    /// How many bytes all of it has.
    pub bytes: usize,
    /// At which byte the part begins.
    pub from: usize,
}

impl CutValue {
    /// Reads it; `None` if a value is shown whole.
    pub fn of(value: &Value) -> Option<CutValue> {
        value.get("$cut").and_then(|_| engine::json::from_value(value.clone()).ok())
    }
}

/// Runs that differ for one reason.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedGroup {
    /// What they do with the code of today.
    pub verdict: Verdict,
    /// Their flow, if all are of one; absent if their files cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// All their flows, in the order of their names.
    pub flows: Vec<String>,
    /// The block, with `*` for the numbers of turns and branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What of it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<DifferingField>,
    /// How many there are.
    pub count: u32,
    /// The request, or the file, of one of them.
    pub example: String,
    /// The number of that one in `results`.
    pub example_index: u32,
    /// What is said of all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What many recorded runs do with the code of today.
#[derive(Clone, Debug, Default, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// How many have [`Verdict::Same`].
    pub same: u32,
    /// How many have [`Verdict::Differs`].
    pub differs: u32,
    /// How many have [`Verdict::AsksNew`].
    pub asks_new: u32,
    /// How many have [`Verdict::Unaffected`].
    pub unaffected: u32,
    /// How many have [`Verdict::DoesNotLoad`].
    pub does_not_load: u32,
    /// How many have [`Verdict::NotComparable`].
    pub not_comparable: u32,
    /// Each run, in the order in which they were selected: requests newest first, files as they were named.
    pub results: Vec<VerifiedRun>,
    /// Those that are not as they were, by their first difference: the most first.
    pub groups: Vec<VerifiedGroup>,
    /// How many were not run because it was cancelled.
    #[serde(skip_serializing_if = "is_none_left")]
    pub not_run: u32,
    /// Those: requests, or files, in the order in which they were selected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// If something differs: the variables that the settings name for secrets and that this environment does not have.
    /// A flow that reads one of them behaves differently than recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset_variables: Vec<String>,
}

fn is_none_left(count: &u32) -> bool {
    *count == 0
}

/// How far a verification has come.
#[derive(Clone, Copy, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct VerifyProgress {
    /// How many have a verdict.
    pub done: u32,
    /// Of how many.
    pub of: u32,
    /// How many are not as they were.
    pub bad: u32,
}

/// A recorded run that was written into a file.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Where.
    pub file: String,
    /// How long it is.
    #[specta(type = f64)]
    pub bytes: u64,
}

/// A `.run` file of a folder.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct RunFileRow {
    /// Relative to the folder.
    pub file: String,
    /// Its flow; absent if the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The action of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Verified {
    /// How many runs have each verdict, without those that no run has; what differs before what was not run.
    pub fn counts(&self) -> impl Iterator<Item = (u32, Verdict)> {
        let counts = [
            (self.same, Verdict::Same),
            (self.differs, Verdict::Differs),
            (self.asks_new, Verdict::AsksNew),
            (self.does_not_load, Verdict::DoesNotLoad),
            (self.not_comparable, Verdict::NotComparable),
            (self.unaffected, Verdict::Unaffected),
        ];
        counts.into_iter().filter(|(count, _)| *count > 0)
    }

    /// Whether nothing is known to differ, apart from what was accepted, and everything was run.
    pub fn is_good(&self) -> bool {
        self.not_run == 0 && self.results.iter().all(|run| run.verdict.is_good() || run.accepted)
    }
}
