//! What verifying takes for each file: as much for the last as for the first, counted and not timed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::temporary_databases::TemporaryDatabases;
use super::{VerifyQuery, distinct};
use crate::run::batch::Cancel;
use crate::views::{Verdict, VerifiedRun};
use crate::workspace::{OpenOptions, RunOptions, Workspace};

/// What it gives depends on the state that it finds.
const FLOW: &str = r#"import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const add = handler({
  name: "add",
  inputSchema: z.number(),
  execute: async (n, ctx) => {
    await ctx.session.incState({ sum: n });
    return ctx.session.state.sum;
  },
});
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ sum: z.number().default(0) }) },
  actions: { add: { inputSchema: z.number(), block: add } },
});
"#;

fn place() -> (tempfile::TempDir, Arc<Workspace>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("flows")).unwrap();
    std::fs::write(dir.path().join("flows/main.ts"), FLOW).unwrap();
    let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
    for request in ["first", "second"] {
        let wanted = RunOptions {
            flow: "main".to_owned(),
            action: "add".to_owned(),
            user: "ada".to_owned(),
            session: Some("sums".to_owned()),
            request: Some(request.to_owned()),
            input: Some(json!(20)),
            ..RunOptions::default()
        };
        workspace.run(wanted).unwrap().wait().unwrap();
    }
    (dir, workspace)
}

fn judged(workspace: &Workspace, databases: &TemporaryDatabases<Workspace>, file: &Path) -> VerifiedRun {
    let find = |kind: &str| workspace.with_catalogue(|catalogue| catalogue.find(kind));
    workspace.judge_file(file, databases, find, &Cancel::default()).unwrap().run
}

/// Each file had a database, and another one to import it from.
#[test]
fn files_that_are_judged_one_after_another_share_a_database() {
    for files in [4, 8] {
        let (dir, workspace) = place();
        let file = dir.path().join("kept.run");
        workspace.keep("second", &file, false).unwrap();
        let databases = TemporaryDatabases::default();
        for _ in 0..files {
            let run = judged(&workspace, &databases, &file);
            assert_eq!(run.verdict, Verdict::Same, "{:?}", run.why);
        }
        assert_eq!(databases.opened(), 1, "{files} files");
    }
}

/// Two recordings of one request: nothing of one is found by the other.
#[test]
fn a_verdict_does_not_depend_on_the_files_before() {
    let (dir, workspace) = place();
    let kept = |name: &str, request: &str| {
        let file = dir.path().join(name);
        workspace.keep(request, &file, false).unwrap();
        file
    };
    let (first, second) = (kept("first.run", "first"), kept("second.run", "second"));
    // The same request, with the numbers that it would have had at the beginning of its session.
    let text = std::fs::read_to_string(&first).unwrap().replace("\"first\"", "\"second\"");
    let other = dir.path().join("other.run");
    std::fs::write(&other, text).unwrap();
    let broken = dir.path().join("broken.run");
    std::fs::write(&broken, std::fs::read_to_string(&second).unwrap().replace("\"seq\":2}", "\"seq\":3}")).unwrap();
    let databases = TemporaryDatabases::default();
    for (file, verdict) in [
        (&second, Verdict::Same),
        (&other, Verdict::Same),
        (&second, Verdict::Same),
        (&broken, Verdict::NotComparable),
        (&first, Verdict::Same),
        (&other, Verdict::Same),
    ] {
        let run = judged(&workspace, &databases, file);
        assert_eq!(run.verdict, verdict, "{}: {:?}", file.display(), run.why);
    }
}

/// Accepting it a second time was refused, because the file had changed.
#[test]
fn a_file_that_is_named_twice_is_judged_and_accepted_once() {
    let (dir, workspace) = place();
    let file = dir.path().join("kept.run");
    workspace.keep("second", &file, false).unwrap();
    std::fs::write(dir.path().join("flows/main.ts"), FLOW.replace("return ", "return 1 + ")).unwrap();
    let same = dir.path().join("flows/../kept.run");
    let files: Vec<PathBuf> = vec![file.clone(), same, file.clone()];
    assert_eq!(distinct(&files).collect::<Vec<_>>(), [&file]);
    let query = VerifyQuery { files, accept: true, ..VerifyQuery::default() };
    let verified = workspace.verify(&query, &Cancel::default(), |_| {}).unwrap();
    assert_eq!((verified.results.len(), verified.results[0].accepted), (1, true), "{:?}", verified.results);
}
