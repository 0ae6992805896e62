//! Why a request was not started or resumed. If another job took it up, an answer to its question is given to that job.

use crate::core::fault::Fault;

/// The reason why a request was not started or resumed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAccepted {
    /// Another job took up the request.
    #[error(transparent)]
    TakenUp(Fault),
    /// Any other reason. Trying again would fail in the same way.
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
