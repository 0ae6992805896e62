//! The first event of a request, for tests inside this crate that write events without an engine.

use engine::event::{EventKind, Recorded};

/// The first event of a request: flow `f`, action `a`, session `s`, user `u`, owner `o`.
pub(crate) fn request_started() -> EventKind {
    EventKind::RequestStarted {
        flow: "f".to_owned(),
        action: "a".to_owned(),
        session: "s".into(),
        user: "u".into(),
        project: None,
        ephemeral: false,
        mock: None,
        code_hash: "0".to_owned(),
        input: Recorded::Undefined,
        retry_of: None,
        trigger: None,
        dispatched_by: None,
        owner: "o".to_owned(),
        claim: None,
        forked_from: None,
        kept: Vec::new(),
        retention: None,
        cleanup_checkpoints: false,
        isolated: Vec::new(),
        user_by_org: false,
        parses_once: true,
        time_zone: None,
        foreign: None,
    }
}
