//! Answers to questions of a running request. Other threads and processes write each answer into a file in the folder
//! that has the lock of the job.
//!
//! The log records an answer when the job takes it. Must not decide which answers are allowed.

use std::io::{self, Write};
use std::path::PathBuf;

use engine::suspension::{Resolved, is_id};

use super::{Lock, Locks};

impl Locks {
    /// Leaves an answer for the job with this owner. Returns false if there is one to this question already. Fails if
    /// the owner, or the id of the question, was not made by this program for this database.
    pub(crate) fn leave_answer(&self, owner: &str, answer: &Resolved) -> io::Result<bool> {
        let Some(path) = self.answer_path(owner, &answer.id) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the question is not one of this database"));
        };
        let mut file = tempfile::Builder::new().prefix(".answer").tempfile_in(self.folder())?;
        file.write_all(&serde_json::to_vec(answer)?)?;
        super::readable_by_all(file.as_file())?;
        match file.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }

    /// Takes back an answer that the job did not take. Returns whether it was still there.
    pub(crate) fn withdraw_answer(&self, owner: &str, suspension: &str) -> bool {
        self.answer_path(owner, suspension).is_some_and(|path| std::fs::remove_file(path).is_ok())
    }

    fn answer_path(&self, owner: &str, suspension: &str) -> Option<PathBuf> {
        let name = self.name_of(owner).filter(|_| is_id(suspension))?;
        Some(self.path(name, &format!("{suspension}.answer")))
    }
}

/// Where the answers for one job are.
pub(crate) struct Answers {
    locks: Locks,
    owner: String,
}

impl Lock {
    /// Returns where the answers for this job are.
    pub(crate) fn answers(&self) -> Answers {
        Answers { locks: self.locks.clone(), owner: self.owner() }
    }
}

impl Answers {
    /// Takes the answer to a question, if there is one.
    pub(crate) fn take(&self, suspension: &str) -> Option<Resolved> {
        let path = self.locks.answer_path(&self.owner, suspension)?;
        let body = std::fs::read(&path).ok()?;
        // Whoever gave it may take it back at the same time.
        std::fs::remove_file(&path).ok()?;
        serde_json::from_slice(&body).ok().filter(|answer: &Resolved| answer.id == suspension)
    }
}
