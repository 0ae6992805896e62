//! What can go wrong for a user of the workspace, by what they can do about it.
//!
//! A flow that fails is no fault: that is recorded and shown. The window never matches on text.

use engine::log::AppendError;
use serde::Serialize;

/// A request to the workspace that could not be carried out.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type, thiserror::Error)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Fault {
    /// No such flow, action, session, request.
    #[error("{message}")]
    NotFound {
        /// What was looked for, and what there is.
        message: String,
    },
    /// It exists, but not for this: somebody else's session, an id in use, a newer file.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
    },
    /// The input does not fit; nothing was written.
    #[error("{message}")]
    Invalid {
        /// What is wrong in a sentence.
        message: String,
        /// Each place that is wrong.
        details: Vec<Detail>,
    },
    /// The flow file does not load.
    #[error("{message}")]
    NotLoaded {
        /// With file, line and column.
        message: String,
    },
    /// The database cannot be used: its disk is full or failed, another process keeps it locked, it may not be written,
    /// it is damaged, or another program wrote it.
    #[error("{message}")]
    Storage {
        /// What happened, and what was kept.
        message: String,
    },
    /// What the command needs of its surroundings is not there: a display, a collector of traces.
    #[error("{message}")]
    Unavailable {
        /// What is missing, and what would help.
        message: String,
    },
    /// The operating system, or us.
    #[error("{message}")]
    Internal {
        /// What happened.
        message: String,
    },
}

/// One place in an input that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct Detail {
    /// Dotted path inside the input, empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl Fault {
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Fault::NotFound { message: message.into() }
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Fault::Refused { message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Fault::Invalid { message: message.into(), details: Vec::new() }
    }

    /// The same with more words at the end of its message.
    pub fn followed_by(mut self, words: &str) -> Self {
        let (Fault::NotFound { message }
        | Fault::Refused { message }
        | Fault::Invalid { message, .. }
        | Fault::NotLoaded { message }
        | Fault::Storage { message }
        | Fault::Unavailable { message }
        | Fault::Internal { message }) = &mut self;
        message.push_str(words);
        self
    }

    /// Of an append, whose refusals the caller has told already.
    pub(crate) fn of_append(error: AppendError) -> Self {
        match error {
            AppendError::Storage(message) => Fault::Storage { message },
            other => Fault::internal(other),
        }
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Fault::Unavailable { message: message.into() }
    }

    /// A fault of anything that should not happen: `Storage` if the error says that a database cannot be used, else
    /// `Internal`.
    pub(crate) fn internal(error: impl std::fmt::Display + 'static) -> Self {
        let stored = (&error as &dyn std::any::Any).downcast_ref::<store::Error>();
        let is_storage = stored.is_some_and(store::Error::is_of_disk);
        let message = error.to_string();
        if is_storage { Fault::Storage { message } } else { Fault::Internal { message } }
    }

    /// The error's class name, as the command line prints it.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::NotFound { .. } => "NotFoundError",
            Fault::Refused { .. } => "RefusedError",
            Fault::Invalid { .. } => "ValidationError",
            Fault::NotLoaded { .. } => "LoadError",
            Fault::Storage { .. } => "StorageError",
            Fault::Unavailable { .. } => "UnavailableError",
            Fault::Internal { .. } => "InternalError",
        }
    }

    /// A stable code, as the command line prints it.
    pub fn code(&self) -> &'static str {
        match self {
            Fault::NotFound { .. } => "not_found",
            Fault::Refused { .. } => "refused",
            Fault::Invalid { .. } => "validation_error",
            Fault::NotLoaded { .. } => "load_error",
            Fault::Storage { .. } => "storage_error",
            Fault::Unavailable { .. } => "unavailable",
            Fault::Internal { .. } => "internal_error",
        }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Fault::internal(error)
    }
}
