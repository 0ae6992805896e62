//! Views of a request that was deleted and replaced by an imported one with the same id.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use engine::views::items::Audience;
use tempfile::TempDir;

use crate::run::synthetic::{Shape, Synthetic};
use crate::views::*;
use crate::workspace::{OpenOptions, Workspace};

const ID: &str = "synthetic-mixed-1-0";

/// A folder with a request of this many events. The request has the same id in every folder.
fn folder(events: u64) -> (TempDir, Arc<Workspace>) {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
    let wanted = Synthetic { events, requests: 1, seed: 1, shape: Shape::Mixed, rate: None, at_once: 0 };
    assert_eq!(workspace.synthesize(&wanted).unwrap().requests, [ID]);
    (dir, workspace)
}

/// Replaces the request of one folder by that of another.
fn replace(workspace: &Workspace, other: &Workspace, file: &Path) {
    let session = workspace.request(ID).unwrap().session_id;
    other.export((Some(&session), None), (file, false), Audience::All).unwrap();
    workspace.delete_session(&session).unwrap();
    workspace.import(file).unwrap();
}

#[test]
fn a_view_of_a_replaced_request_is_rebuilt() {
    let (dir, workspace) = folder(900);
    let (_other_dir, other) = folder(300);
    let expected = other.open_view(ID).unwrap();
    let told = |head: &ViewHead| (head.seq, head.rows, head.counts, head.page.len());
    // One view stays open, another was closed before and is still cached.
    let open = workspace.open_view(ID).unwrap();
    let closed = workspace.open_view(ID).unwrap();
    assert_ne!(told(&open), told(&expected));
    workspace.close_view(closed.view).unwrap();
    replace(&workspace, &other, &dir.path().join("session.zip"));
    let again = workspace.open_view(ID).unwrap();
    assert_eq!(told(&again), told(&expected));
    workspace.close_view(again.view).unwrap();
    let (send, batches) = std::sync::mpsc::channel();
    // Starting to listen closes earlier views.
    workspace.watch_views(move |batch| send.send(batch).is_ok()).unwrap();
    assert!(workspace.view_rows(open.view, RowsQuery { offset: 0, limit: 1, at: None }).is_err());
    let view = workspace.open_view(ID).unwrap().view;
    while let Ok(batch) = batches.recv_timeout(std::time::Duration::from_millis(300)) {
        workspace.view_ack(batch.batch);
    }
    let more = tempfile::tempdir().unwrap();
    let (_third_dir, third) = folder(600);
    replace(&workspace, &third, &more.path().join("session.zip"));
    let update = batches.recv_timeout(std::time::Duration::from_secs(10)).unwrap().updates.pop().unwrap();
    assert_eq!((update.view, update.seq), (view, third.open_view(ID).unwrap().seq));
}

#[test]
fn a_call_with_the_id_of_a_closed_view_does_not_change_a_view_that_is_opened_again() {
    let (_dir, workspace) = folder(900);
    let first = workspace.open_view(ID).unwrap();
    workspace.close_view(first.view).unwrap();
    let again = workspace.open_view(ID).unwrap();
    assert_ne!(first.view, again.view);
    let late = workspace.view_filter(first.view, "status:failed").unwrap_err();
    assert!(late.to_string().contains("is not open"), "{late}");
    assert_eq!(workspace.view_rows(again.view, RowsQuery { offset: 0, limit: 1, at: None }).unwrap().rows, first.rows);
    // Folded and filtered views are not cached unchanged.
    workspace.view_filter(again.view, "status:failed").unwrap();
    workspace.close_view(again.view).unwrap();
    assert_eq!(workspace.open_view(ID).unwrap().rows, first.rows);
}
