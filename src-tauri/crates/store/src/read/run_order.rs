//! By what lists of runs are ordered.
//!
//! Every order but those by tokens, by cost, by tags and by origin is that of an index, so a page of a list costs what
//! it shows.

use crate::read::run_filter::{Costs, RunFilter, own_tokens};
use crate::read::session_order::SessionOrder;

/// By what runs are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// When they began; those of one session as they were inserted, whatever the clock said.
    #[default]
    Begun,
    /// When they began, by their times.
    Started,
    /// How long they took.
    Duration,
    /// Tokens that models were told and said in calls that they paid for themselves.
    Tokens,
    /// What the model calls cost that they paid for themselves.
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

    /// The terms of ORDER BY, for a request with the alias `r` and costs by the prices of a filter. What is equal comes
    /// newest first if the order is that of a text and not turned round.
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
            // What was imported into a session may have begun long before it came.
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
