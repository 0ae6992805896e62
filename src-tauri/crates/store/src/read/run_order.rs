//! The orders of lists of runs.
//!
//! All orders except those by tokens, cost, tags and origin use an index, so the cost of a page depends only on its
//! size.

use crate::read::run_filter::{Costs, RunFilter, own_tokens};
use crate::read::session_order::SessionOrder;

/// The order of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// By their start; within one session, by their insertion, whatever the clock said.
    #[default]
    Begun,
    /// By the time of their start.
    Started,
    /// By their duration.
    Duration,
    /// By the input and output tokens of calls that they paid for themselves.
    Tokens,
    /// By the cost of model calls that they paid for themselves.
    Cost,
    /// Their status, by its stored name.
    Status,
    /// Flow and action.
    Flow,
    /// The title, or the first words of the input.
    Title,
    /// The user.
    User,
    /// The id of the session.
    Session,
    /// The request that they are a fork or a retry of.
    Origin,
    /// Their first tag.
    Tags,
}

impl RunOrder {
    /// Where the requests `r` are read from, with the condition that joins them. Sessions come first if they give the
    /// order: SQLite keeps the order of a CROSS JOIN, and so walks the index of their ids.
    pub(super) fn tables(self) -> (&'static str, &'static str) {
        match self {
            RunOrder::Session => ("session s CROSS JOIN request r", "r.session = s.n"),
            _ => ("request r", "TRUE"),
        }
    }

    /// The terms of ORDER BY, for a request with the alias `r` and costs by the prices of a filter. Equal rows of an
    /// ascending order by text are newest first.
    pub(super) fn sql(
        self,
        is_descending: bool,
        of_session: Option<SessionOrder>,
        (filter, costs): (&RunFilter, Costs),
    ) -> String {
        let (way, back) = if is_descending { ("DESC", "ASC") } else { ("ASC", "DESC") };
        // Requests without such a value count as the lowest, in either database.
        let nulls = if is_descending { "NULLS LAST" } else { "NULLS FIRST" };
        match self {
            // An imported request may have begun long before its insertion.
            RunOrder::Begun => of_session.unwrap_or(SessionOrder::Started).sql(way),
            RunOrder::Started => SessionOrder::Started.sql(way),
            RunOrder::Duration => format!("max(r.finished_at - r.started_at, 0) {way} {nulls}, r.n {way}"),
            RunOrder::Tokens => format!("{} {way}, r.n {way}", own_tokens()),
            RunOrder::Cost => format!("{} {way} {nulls}, r.n {way}", filter.cost(costs)),
            RunOrder::Status => format!("r.status {way}, r.started_at {back}, r.n {back}"),
            RunOrder::Flow => format!("r.flow {way}, r.action {way}, r.started_at {back}, r.n {back}"),
            RunOrder::Title => {
                format!("lower(coalesce(r.title, r.words)) {way} {nulls}, r.started_at {back}, r.n {back}")
            }
            RunOrder::User => format!("r.user {way}, r.started_at {back}, r.n {back}"),
            RunOrder::Session => format!("s.id {way}, r.n {way}"),
            RunOrder::Origin => format!("coalesce(r.forked_from, r.retry_of) {way} {nulls}, r.n {way}"),
            RunOrder::Tags => {
                format!("(SELECT min(t.name) FROM tag t WHERE t.request = r.n) {way} {nulls}, r.n {way}")
            }
        }
    }
}
