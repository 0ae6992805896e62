//! Why a difference cannot be accepted, in words for a person.

/// Why nobody can accept what a replay does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unacceptable {
    /// It asks for something that was not recorded.
    Asks,
    /// A limit ended it.
    Limit,
    /// It asks another question, of which no block that waits is known.
    Question,
    /// The action refuses the recorded input, or makes another one of it.
    Input,
    /// The request ends otherwise, and the root block of its action does not end.
    End,
}

impl Unacceptable {
    /// The reason for a person, and what to do instead.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Unacceptable::Asks => {
                "it cannot be accepted: further on it asks for something that was not recorded; only a live run can \
                 tell what it does then"
            }
            Unacceptable::Limit => {
                "it cannot be accepted: a limit ended it, and where a limit ends a run depends on the machine"
            }
            Unacceptable::Question => {
                "it cannot be accepted: it asks somebody another question; run it again live and keep that run"
            }
            Unacceptable::Input => {
                "it cannot be accepted: the action does not take the recorded input as it is any more; run it again \
                 live with an input of today and keep that run"
            }
            Unacceptable::End => {
                "it cannot be accepted: the request ends otherwise, and the root block of its action does not end; run \
                 it again live and keep that run"
            }
        }
    }
}
