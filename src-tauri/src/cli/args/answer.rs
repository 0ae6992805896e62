//! How a request goes on: `resume`, with or without an answer.

use clap::Args;
use engine::suspension::Reply;

use super::Models;

#[derive(Args)]
#[command(group = clap::ArgGroup::new("answer"))]
pub(crate) struct Resume {
    /// The request that goes on
    pub(crate) request: Option<String>,
    /// Which question is answered (default: the only one)
    #[arg(long, value_name = "ID")]
    pub(crate) suspension: Option<String>,
    /// Say yes, with data where the question has a schema
    #[arg(long, group = "answer", value_name = "JSON|@FILE|-", num_args = 0..=1, default_missing_value = "")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) approve: Option<String>,
    /// Say no: SuspensionRejectedError in the flow
    #[arg(long, group = "answer")]
    pub(crate) reject: bool,
    /// Why not: an agent's next request is told
    #[arg(long, value_name = "TEXT", requires = "reject", allow_hyphen_values = true)]
    pub(crate) reason: Option<String>,
    /// Go on without an answer: SUSPENSION_SKIPPED in the flow
    #[arg(long, group = "answer")]
    pub(crate) skip: bool,
    /// Answer with data; with --approve or --reject, the data of that
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true, conflicts_with = "skip")]
    pub(crate) submit: Option<String>,
    /// Who answers
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) models: Models,
}

impl Resume {
    /// Reads `--approve REQUEST` as it is meant: the flag took the request for its data. Fails, in words, where what
    /// was given contradicts itself.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        if self.request.is_none() {
            self.request = self.approve.as_mut().map(std::mem::take).filter(|taken| !taken.is_empty());
        }
        if self.request.is_none() {
            return Err("missing REQUEST: flowglass resume REQUEST".to_owned());
        }
        let has_data = self.approve.as_ref().is_some_and(|data| !data.is_empty());
        if has_data && self.submit.is_some() {
            return Err("--approve has data already; give it there or with --submit, not both".to_owned());
        }
        if self.reason.is_some() && self.submit.is_some() {
            return Err("--reason is what a no comes with; give it or --submit, not both".to_owned());
        }
        if self.reply().is_none() && (self.suspension.is_some() || self.by.is_some()) {
            return Err("an answer is missing: --approve, --reject, --skip or --submit JSON".to_owned());
        }
        Ok(())
    }

    /// What is answered.
    pub(crate) fn reply(&self) -> Option<Reply> {
        match (&self.approve, self.reject, self.skip, &self.submit) {
            (Some(_), ..) => Some(Reply::Approve),
            (_, true, ..) => Some(Reply::Reject),
            (_, _, true, _) => Some(Reply::Skip),
            (.., Some(_)) => Some(Reply::Submit),
            _ => None,
        }
    }

    /// The data that comes with it, and the flag that it stands at.
    pub(crate) fn data(&self) -> Option<(&'static str, &str)> {
        let approved = self.approve.as_deref().filter(|data| !data.is_empty()).map(|data| ("--approve", data));
        approved.or_else(|| self.submit.as_deref().map(|data| ("--submit", data)))
    }
}
