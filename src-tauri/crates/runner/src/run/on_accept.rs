//! What is done at the moment a request is accepted, before its first event.

use store::CodeOffer;

/// Calls back when a request was accepted, before its first event. What it answers is kept until the event is written.
pub(crate) struct OnAccept(Box<dyn FnOnce() -> CodeOffer + Send>);

impl OnAccept {
    pub(crate) fn new(tell: impl FnOnce() -> CodeOffer + Send + 'static) -> OnAccept {
        OnAccept(Box::new(tell))
    }

    pub(crate) fn now(self) -> CodeOffer {
        (self.0)()
    }
}
