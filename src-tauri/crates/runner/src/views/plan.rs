//! What going on with a request, or trying it again, will do.

use engine::effects::EffectKind;
use engine::views::uncertain_effects::OpenEffect;
use serde::Serialize;

use super::ErrorInfo;

/// A plan: nothing of it has happened.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct PlanRow {
    /// How many blocks end as recorded. One that is taken with all that is inside it counts once.
    pub from_log: u32,
    /// How many blocks ended inside of those; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_from_log: Option<u32>,
    /// How many blocks that had begun go on as the same attempt, because they run others; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<u32>,
    /// How many blocks that ran before run again, as a new attempt.
    pub runs_again: u32,
    /// How many model calls these make that the log does not answer, if all goes as it went.
    pub models_asked: u32,
    /// Whether it may be more calls: a model that calls tools, an agent or a loop decides how many it takes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_ask_more: bool,
    /// What began and has no end in the log: it may have happened, and is made again.
    pub may_have_happened: Vec<MayHaveHappened>,
    /// The blocks that run again or go on, in the order in which they began.
    pub again: Vec<AgainRow>,
    /// Why it cannot go on: the code, or the answer, does not fit the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Whether that error is of an answer that the author's schema refuses.
    #[serde(skip)]
    pub is_refused_answer: bool,
    /// The paths of the blocks that end as recorded; only if the code of today differs from what was recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<String>,
    /// The paths of blocks that ended and that the code of today has no more: what they did is not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphaned: Vec<String>,
    /// The paths of blocks that begin and never ran before, up to the first block that stops the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// Differences between the code of today and the log that a resume accepts, as its `drift` events say them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// The places that a fork sets and that no schema of the flow declares: nothing may read them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undeclared: Vec<String>,
}

/// A block that runs again, or goes on.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct AgainRow {
    /// Its path.
    pub path: String,
    /// Whether it goes on as the same attempt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// How many of its model calls the log does not answer.
    pub models_asked: u32,
}

/// Something that may have happened outside.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct MayHaveHappened {
    /// The block.
    pub path: String,
    /// `fetch`, `model` or `once`.
    #[specta(type = String)]
    pub kind: EffectKind,
    /// Which of its kind in its block, from 0.
    pub ordinal: u32,
}

impl From<&OpenEffect> for MayHaveHappened {
    fn from(open: &OpenEffect) -> Self {
        MayHaveHappened { path: open.path.to_string(), kind: open.effect, ordinal: open.ordinal }
    }
}
