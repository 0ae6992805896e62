//! What lists of requests may be asked for, and what `tag` may change.

use clap::Args;
use engine::event::RequestStatus;
use runner::{Audience, RunCondition, RunOrder, RunTerm, RunsQuery, Subject, TagChanges, past_instant};

use super::page::Page;
use super::value::{audience, status};

/// What stands before a tag that is removed: a minus sign, because clap reads a hyphen as the begin of a flag.
pub(super) const REMOVES: char = '\u{2212}';

/// `requests`.
#[derive(Args)]
#[command(after_help = "Examples:
  flowglass requests --status failed --since 24h
  flowglass requests --order cost --limit 10
  flowglass requests --filter 'flow:cart -tag:seen dur>1s \"out of stock\"'
Fields of a filter: status flow action user project session tag dur tokens cost since until is:fork is:retry is:mock
is:trace is:sample. Samples of experiments are left out, unless is:sample asks for them or --session names a session. In
names * stands for anything, and - before a term means not. Times without an offset are local, as in lists. --search
and a text of a filter look in what a list shows: title, first words of the input, note, tags, ids, user, project, flow,
action and error. `flowglass search` looks in everything that was recorded.")]
pub(crate) struct Requests {
    #[arg(long)]
    pub(crate) session: Option<String>,
    #[arg(long, value_parser = status, help = "Only with this status, such as failed, suspended or interrupted")]
    status: Option<RequestStatus>,
    #[arg(long, help = "Only of this flow")]
    flow: Option<String>,
    #[arg(long, help = "Only of this action")]
    action: Option<String>,
    #[arg(long, help = "Only of this user")]
    user: Option<String>,
    /// Only those with this tag; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only those that began since then: 2h, 7d, or a local time, like 2026-11-20 or 2026-11-20T14:00
    #[arg(long, value_name = "TIME", value_parser = past_instant)]
    since: Option<i64>,
    /// Only those that began before then
    #[arg(long, value_name = "TIME", value_parser = past_instant)]
    until: Option<i64>,
    /// A text in the title, the first words of the input, the note, a tag, an id, the user, the flow or the error
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only what fits, in the language of the window's filter line
    #[arg(long, value_name = "FILTER", allow_hyphen_values = true)]
    filter: Option<String>,
    /// What comes first: the newest, the longest, or what used or cost the most
    #[arg(long, value_name = "started|duration|tokens|cost", default_value = "started", value_parser = order)]
    #[arg(hide_default_value = true)]
    order: RunOrder,
    #[command(flatten)]
    pub(crate) page: Page,
}

impl Requests {
    pub(crate) fn query(self) -> RunsQuery {
        let Requests { session, status, flow, action, user, tag, since, until, search, filter, order, page } = self;
        let conditions = [
            session.map(RunCondition::Session),
            status.map(RunCondition::Status),
            flow.map(RunCondition::Flow),
            action.map(RunCondition::Action),
            user.map(RunCondition::User),
            since.map(RunCondition::Since),
            until.map(RunCondition::Until),
            search.map(RunCondition::Text),
        ];
        let conditions = conditions.into_iter().flatten().chain(tag.into_iter().map(RunCondition::Tag));
        RunsQuery {
            filter: filter.unwrap_or_default(),
            terms: conditions.map(|condition| RunTerm { is_negated: false, condition }).collect(),
            order,
            is_descending: true,
            limit: page.limit,
            offset: page.offset,
        }
    }
}

fn order(text: &str) -> Result<RunOrder, String> {
    match text {
        "started" => Ok(RunOrder::Begun),
        "duration" => Ok(RunOrder::Duration),
        "tokens" => Ok(RunOrder::Tokens),
        "cost" => Ok(RunOrder::Cost),
        _ => Err("one of started, duration, tokens, cost".to_owned()),
    }
}

/// `tag`.
#[derive(Args)]
#[command(after_help = "Examples:
  flowglass tag req_3f2a +checked -todo
  flowglass tag req_3f2a --title 'Refund over the limit' --note 'Limit was read before the patch.'
  flowglass tag req_3f2a                     shows them
  flowglass tag --session chat-7 +demo --title 'The long one'
They are kept beside the request's log, which stays as it is: no replay, verdict or event changes.")]
pub(crate) struct Tag {
    #[arg(required_unless_present = "session", help = "The request")]
    request: Option<String>,
    /// Of a session instead of a request
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Tags to add and to remove, in this order
    #[arg(value_name = "+TAG|-TAG", value_parser = change)]
    changes: Vec<(bool, String)>,
    /// Another note, at most 10,000 characters; "" removes it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    /// Another title, at most 200 characters; "" removes it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// Who changes it
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl Tag {
    /// Of what, and what to change of it.
    pub(crate) fn asked(self) -> Result<(Subject, String, TagChanges), String> {
        let Tag { request, session, mut changes, note, title, by } = self;
        let (subject, id) = match (session, request) {
            (Some(session), first) => {
                // What stands where a request would is the first change.
                changes.splice(0..0, first.map(|first| change(&first)).transpose()?);
                (Subject::Session, session)
            }
            (None, request) => (Subject::Request, request.unwrap_or_default()),
        };
        Ok((subject, id, TagChanges { tags: changes, note, title, by }))
    }
}

/// `session`.
#[derive(Args)]
pub(crate) struct Session {
    pub(crate) session: String,
    /// Who looks
    #[arg(long, default_value = "all", value_parser = audience)]
    pub(crate) view: Audience,
    /// At most this many requests, and at most 50; the newest ones without --offset
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub(crate) limit: u32,
    /// Leave out this many of the oldest first
    #[arg(long)]
    pub(crate) offset: Option<u64>,
}

fn change(text: &str) -> Result<(bool, String), String> {
    let tag = |is_added, tag: &str| Ok((is_added, tag.to_owned()));
    match text.chars().next() {
        Some('+') => tag(true, &text[1..]),
        Some('-') => tag(false, &text[1..]),
        Some(REMOVES) => tag(false, &text[REMOVES.len_utf8()..]),
        _ => Err("write +TAG to add a tag, or -TAG to remove one".to_owned()),
    }
}
