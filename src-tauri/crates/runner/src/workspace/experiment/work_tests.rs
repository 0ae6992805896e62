//! What an experiment takes for each of its arms: as much for the last as for the first, counted and not timed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::json;

use super::{CulpritQuery, SetAxis, TryQuery};
use crate::run::batch::Cancel;
use crate::views::ExperimentView;
use crate::workspace::{OpenOptions, RunOptions, Workspace};

/// A loop of steps, and one that is tried.
const FLOW: &str = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const count = handler({ name: "count", inputSchema: z.any(), execute: (n) => n + 1 });
const last = handler({ name: "last", inputSchema: z.any(), execute: (n, ctx) => n + ctx.session.state.more });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ more: z.number().default(0) }) },
  actions: {
    sum: { block: sequencer({ name: "chain", inputSchema: z.any() }).doUntil((n) => n >= 20, count).step(last) },
  },
});
"#;

fn place() -> (tempfile::TempDir, Arc<Workspace>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("flows")).unwrap();
    std::fs::write(dir.path().join("flows/main.ts"), FLOW).unwrap();
    let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
    let wanted = RunOptions {
        flow: "main".to_owned(),
        action: "sum".to_owned(),
        user: "ada".to_owned(),
        request: Some("r".to_owned()),
        input: Some(0.into()),
        ..RunOptions::default()
    };
    workspace.run(wanted).unwrap().wait().unwrap();
    (dir, workspace)
}

fn query(arms: u32) -> TryQuery {
    let values = (0..arms).map(|more| json!(more)).collect();
    let set = vec![SetAxis { place: "session.more".to_owned(), values }];
    TryQuery { request: "r".to_owned(), at: "root/step:last".to_owned(), set, ..TryQuery::default() }
}

fn tried(workspace: &Workspace, arms: u32) -> ExperimentView {
    let view = workspace.try_out(&query(arms), &Cancel::default(), |_| {}).unwrap();
    assert_eq!((view.arms.len() as u32, view.missing), (arms, 0));
    assert_eq!(view.arms.last().unwrap().samples[0].output.as_ref().unwrap().0, json!(20 + arms - 1));
    view
}

/// 1,000 arms ended slowly: at the end, and four times a second in a window, the logs of all samples were read again.
#[test]
fn the_log_of_a_sample_is_read_once_however_many_there_are() {
    for arms in [6, 12] {
        let (_dir, workspace) = place();
        let readings = || workspace.known_samples.readings();
        let view = tried(&workspace, arms);
        // Each sample, that of the base arm, and the request.
        let whole = u64::from(arms) + 2;
        assert_eq!(readings(), whole);
        for _ in 0..3 {
            assert_eq!(workspace.experiment(&view.id).unwrap().missing, 0);
        }
        assert_eq!(workspace.experiments(10, 0).unwrap()[0].samples, arms + 1);
        assert_eq!(readings(), whole, "nothing has changed");
        let more = TryQuery { samples: 2, ..TryQuery::default() };
        workspace.go_on_trying(&view.id, &more, &Cancel::default(), |_| {}).unwrap();
        assert_eq!(readings(), whole + u64::from(arms) + 1, "only what is new");
    }
}

/// Each fork read the whole log, the records and the states of the request that it leaves.
#[test]
fn where_the_arms_leave_the_request_is_read_once() {
    for arms in [6, 12] {
        let (_dir, workspace) = place();
        let experiment = workspace.experiment_of("exp".to_owned(), query(arms), super::Spending::default()).unwrap();
        let stored = store::ExperimentRow {
            id: "exp".to_owned(),
            request: "r".to_owned(),
            at: 0,
            body: super::StoredBody { query: query(arms), ..super::StoredBody::default() }.to_json().unwrap(),
        };
        workspace.store.put_experiment(&stored).unwrap();
        workspace.check_query(&experiment).unwrap();
        let view = workspace.carry_out(&experiment, &Cancel::default(), |_| {}).unwrap();
        assert_eq!((view.arms.len() as u32, view.missing), (arms, 0));
        let points = super::lock(&experiment.points);
        assert_eq!(points.len(), 1, "all arms leave it at one event");
        // The experiment, and the point twice: no fork has kept it.
        assert_eq!(Arc::strong_count(&experiment.events), 3);
        assert_eq!(points.values().map(Arc::strong_count).collect::<Vec<_>>(), [1]);
    }
}

/// The plan, the check and the run each read the request, and evaluated the code of the arms.
#[test]
fn an_experiment_that_is_planned_and_run_reads_its_request_once() {
    for arms in [3, 6] {
        let (_dir, workspace) = place();
        let before = workspace.known_samples.preparations();
        let trial = workspace.trial(&query(arms)).unwrap();
        assert_eq!(workspace.plan_trial(&trial).arms, arms);
        assert_eq!(workspace.run_trial(&trial, &Cancel::default(), |_| {}).unwrap().missing, 0);
        let (logs, evaluations) = workspace.known_samples.preparations();
        assert_eq!((logs - before.0, evaluations - before.1), (1, 1), "arms that differ in state run one code");
    }
}

/// The plan and the run each read the request, and evaluated the code of the arms.
#[test]
fn an_experiment_that_goes_on_reads_its_request_once() {
    for arms in [3, 6] {
        let (_dir, workspace) = place();
        let view = tried(&workspace, arms);
        let more = TryQuery { samples: 2, ..TryQuery::default() };
        let before = workspace.known_samples.preparations();
        let continuation = workspace.continuation(&view.id, &more).unwrap();
        let left = workspace.plan_continuation(&continuation).unwrap().left.unwrap();
        assert_eq!((left.to_begin, left.to_continue), (arms + 1, 0));
        assert_eq!(workspace.run_continuation(&continuation, &Cancel::default(), |_| {}).unwrap().missing, 0);
        let (logs, evaluations) = workspace.known_samples.preparations();
        assert_eq!((logs - before.0, evaluations - before.1), (1, 1), "{arms} arms");
    }
}

#[test]
fn a_search_that_is_planned_and_run_reads_its_request_once() {
    let (_dir, workspace) = place();
    let query = CulpritQuery { request: "r".to_owned(), fails: "output >= 20".to_owned(), ..CulpritQuery::default() };
    let before = workspace.known_samples.preparations();
    let search = workspace.culprit_search(&query).unwrap();
    assert_eq!(workspace.plan_search(&search).model_calls, 0);
    let view = workspace.run_search(&search, &Cancel::default(), |_| {}).unwrap();
    assert!(view.forks > 0);
    let (logs, evaluations) = workspace.known_samples.preparations();
    assert_eq!((logs - before.0, evaluations - before.1), (1, 1));
    assert_eq!(workspace.known_samples.readings(), u64::from(view.forks), "each fork, and the request not again");
}

/// What comes before the place is taken from the log.
#[test]
fn no_step_before_the_place_is_run_again() {
    let (_dir, workspace) = place();
    let view = tried(&workspace, 8);
    for arm in view.arms.iter().chain([&view.base]) {
        let shown = workspace.show(&arm.samples[0].request_id).unwrap();
        let ran = shown.blocks.iter().filter(|block| block.row.name == "count" && !block.row.memoized);
        let own = shown.request.forked_from.as_ref().unwrap().seq;
        assert_eq!(ran.filter(|block| block.row.seq_start > own).count(), 0);
    }
}
