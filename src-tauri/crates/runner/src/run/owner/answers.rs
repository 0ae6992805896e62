//! Answers to questions of a running request. Other threads and processes write each answer into a file in the folder
//! that has the lock of the job; on a server, into the table `answer`.
//!
//! The log records an answer when the job takes it. Must not decide which answers are allowed.

use std::io::{self, Write};
use std::path::PathBuf;

use engine::suspension::{Resolved, is_id};

use uuid::Uuid;

use super::folder::{Folder, readable_by_all};
use super::{JobPlace, Lock, Locks, text};

impl Locks {
    /// Leaves an answer for the job with this owner. Returns false if there is one to this question already. Fails if
    /// the owner, or the id of the question, was not made by this program for this database.
    pub(crate) fn leave_answer(&self, owner: &str, answer: &Resolved) -> io::Result<bool> {
        let Some(name) = self.name_of(owner).filter(|_| is_id(&answer.id)) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the question is not one of this database"));
        };
        let folder = match &self.0.place {
            JobPlace::Folder(folder) => folder,
            JobPlace::Server(leases) => {
                let body = serde_json::to_string(answer)?;
                return leases.leave_answer(&text(name), &answer.id, &body).map_err(io::Error::other);
            }
        };
        let path = file_of(folder, name, &answer.id);
        let mut file = tempfile::Builder::new().prefix(".answer").tempfile_in(folder.path())?;
        file.write_all(&serde_json::to_vec(answer)?)?;
        readable_by_all(file.as_file())?;
        match file.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }

    /// Takes back an answer that the job did not take. Returns whether it was still there.
    pub(crate) fn withdraw_answer(&self, owner: &str, suspension: &str) -> bool {
        let Some(name) = self.name_of(owner).filter(|_| is_id(suspension)) else { return false };
        match &self.0.place {
            JobPlace::Folder(folder) => std::fs::remove_file(file_of(folder, name, suspension)).is_ok(),
            JobPlace::Server(leases) => leases.withdraw_answer(&text(name), suspension).is_some(),
        }
    }
}

/// Where the answer to a question of a job is.
fn file_of(folder: &Folder, name: Uuid, suspension: &str) -> PathBuf {
    folder.of(name, &format!("{suspension}.answer"))
}

/// Where the answers for one job are.
pub(crate) struct Answers {
    locks: Locks,
    name: Uuid,
}

impl Lock {
    /// Returns where the answers for this job are.
    pub(crate) fn answers(&self) -> Answers {
        Answers { locks: self.locks.clone(), name: self.name }
    }
}

impl Answers {
    /// Takes the answer to a question, if there is one.
    pub(crate) fn take(&self, suspension: &str) -> Option<Resolved> {
        if !is_id(suspension) {
            return None;
        }
        let body = match &self.locks.0.place {
            JobPlace::Folder(folder) => {
                let path = file_of(folder, self.name, suspension);
                let body = std::fs::read(&path).ok()?;
                // Whoever gave it may take it back at the same time.
                std::fs::remove_file(&path).ok()?;
                body
            }
            JobPlace::Server(leases) => leases.take_answer(&text(self.name), suspension)?.into_bytes(),
        };
        serde_json::from_slice(&body).ok().filter(|answer: &Resolved| answer.id == suspension)
    }
}
