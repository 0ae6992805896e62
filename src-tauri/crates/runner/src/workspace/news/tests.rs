//! What others did is told though the database could not be read when it was looked at first.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use engine::scope::{ScopeKey, ScopeKind};

use super::*;
use crate::OpenOptions;
use crate::RunOptions;

const FLOW: &str = r#"import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const add = handler({ name: "add", execute: async (_input, ctx) => { await ctx.session.incState({ n: 1 }); } });
export default defineFlow({ kind: "main", session: { stateSchema: z.object({ n: z.number().default(0) }) }, actions: { add: { block: add } } });
"#;

fn open(dir: &tempfile::TempDir) -> Arc<Workspace> {
    Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap()
}

fn run(workspace: &Workspace, request: &str) {
    let wanted = RunOptions {
        flow: "main".to_owned(),
        action: "add".to_owned(),
        user: "ada".to_owned(),
        session: Some("s".to_owned()),
        request: Some(request.to_owned()),
        ..RunOptions::default()
    };
    assert_eq!(workspace.run(wanted).unwrap().wait().unwrap().status, RequestStatus::Completed);
}

/// A database whose file is elsewhere, so that nobody can begin to read it.
struct Away(PathBuf);

impl Away {
    fn new(workspace: &Workspace) -> Away {
        let away = Away(workspace.store.path().to_owned());
        std::fs::rename(&away.0, away.elsewhere()).unwrap();
        // Connections that are open already read on; one whose look fails is closed.
        let session = ScopeKey::new(ScopeKind::Session, "s");
        while workspace.store.request("r").is_ok() {
            workspace.store.state_seen(&session, "r", 1, u64::MAX).unwrap_err();
        }
        away
    }

    fn elsewhere(&self) -> PathBuf {
        self.0.with_extension("elsewhere")
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        std::fs::rename(self.elsewhere(), &self.0).unwrap();
    }
}

fn request_notices(notices: &Receiver<Notice>) -> Vec<(String, RequestStatus)> {
    let of_request = |notice| match notice {
        Notice::Request { request_id, status, .. } => Some((request_id, status)),
        _ => None,
    };
    notices.try_iter().filter_map(of_request).collect()
}

#[test]
fn what_could_not_be_read_is_told_at_the_next_look() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("flows")).unwrap();
    std::fs::write(dir.path().join("flows/main.ts"), FLOW).unwrap();
    let (workspace, other) = (open(&dir), open(&dir));
    run(&other, "r");
    let mut others = Others::of(&workspace).unwrap();
    let (sender, notices) = channel();
    workspace.listen(move |notice| drop(sender.send(notice.clone())));

    run(&other, "next");
    let away = Away::new(&workspace);
    others.look(&workspace).unwrap_err();
    assert_eq!(request_notices(&notices), []);
    drop(away);
    others.look(&workspace).unwrap();
    assert_eq!(request_notices(&notices), [("next".to_owned(), RequestStatus::Completed)]);
    others.look(&workspace).unwrap();
    assert_eq!(request_notices(&notices), [], "once");

    // A job that died, of which nothing tells but its lock.
    others.running.insert("r".to_owned(), workspace.locks.nobody());
    let away = Away::new(&workspace);
    others.look(&workspace).unwrap_err();
    drop(away);
    others.look(&workspace).unwrap();
    assert_eq!(request_notices(&notices), [("r".to_owned(), RequestStatus::Completed)]);
}
