//! Why a request was not accepted: whoever has an answer to a question of it gives it to the job that runs it.

use crate::core::fault::Fault;

/// A request that does not begin or go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAccepted {
    /// Another job goes on with the request, since before its log was read or after.
    #[error(transparent)]
    TakenUp(Fault),
    /// Anything else, which another try would meet again.
    #[error(transparent)]
    Other(Fault),
}

impl NotAccepted {
    pub(crate) fn taken_up(request: &str) -> NotAccepted {
        let message = format!("request \"{request}\" was just taken up by another process");
        NotAccepted::TakenUp(Fault::refused(message))
    }
}

impl From<Fault> for NotAccepted {
    fn from(fault: Fault) -> Self {
        NotAccepted::Other(fault)
    }
}

impl From<NotAccepted> for Fault {
    fn from(refused: NotAccepted) -> Self {
        match refused {
            NotAccepted::TakenUp(fault) | NotAccepted::Other(fault) => fault,
        }
    }
}
