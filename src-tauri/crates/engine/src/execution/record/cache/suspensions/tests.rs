//! Which recorded question a try finds: its own, else an answer to the same question in an earlier try.

use std::sync::Arc;

use super::RecordedSuspensions;
use crate::model::suspension::{Reply, Resolved, SuspensionRequest, SuspensionStatus};

fn question(id: &str, message: &str) -> SuspensionRequest {
    SuspensionRequest {
        id: id.to_owned(),
        ordinal: 0,
        callback: None,
        reason: "approval".to_owned(),
        message: Some(message.to_owned()),
        data: None,
        resume_schema: None,
        render: None,
        allow: vec![Reply::Approve],
        expires_at: None,
        runs: None,
    }
}

fn answer(id: &str, resolution: SuspensionStatus) -> Resolved {
    Resolved { id: id.to_owned(), resolution, data: None, by: None }
}

/// A block that asks "first", is approved, fails, and asks "second" in its next try.
fn two_tries(mut suspensions: RecordedSuspensions) -> RecordedSuspensions {
    let path: Arc<str> = "root/step:ask".into();
    let is_replay = suspensions.are_of_replay;
    let (first, second) = (is_replay.then_some(0), is_replay.then_some(1));
    suspensions.ask(&path, 3, &question("a", "first"), first);
    suspensions.answer("a", Some(&answer("a", SuspensionStatus::Approved)), None);
    suspensions.begin_try("root");
    suspensions.ask(&path, 9, &question("b", "second"), second);
    suspensions
}

const PATH: &str = "root/step:ask";

#[test]
fn a_try_finds_its_own_question_and_answers_of_earlier_tries_to_the_same_one() {
    let asked = two_tries(RecordedSuspensions::default());
    let find = |message: &str, is_later: bool| {
        asked.find(PATH, &question("x", message), is_later).map(|found| found.request.id.clone())
    };
    assert_eq!(find("second", false).as_deref(), Some("b"));
    // "second" has no answer, so it is expired because the try asks something else now.
    assert_eq!(find("third", false).as_deref(), Some("b"));
    assert_eq!(find("first", true).as_deref(), Some("a"));
    // Of an earlier try only answers count.
    assert_eq!(find("second", true), None);
    assert_eq!(find("third", true), None);
    assert!(asked.is_waiting("root"));
}

#[test]
fn an_answer_of_an_earlier_try_does_not_expire() {
    let mut asked = two_tries(RecordedSuspensions::default());
    asked.answer("a", Some(&answer("a", SuspensionStatus::Expired)), None);
    let first = asked.find(PATH, &question("x", "first"), true).and_then(|found| found.resolved.clone());
    assert_eq!(first.map(|answer| answer.resolution), Some(SuspensionStatus::Approved));
}

#[test]
fn each_try_of_a_replay_finds_its_own_question() {
    let mut asked = two_tries(RecordedSuspensions { are_of_replay: true, ..RecordedSuspensions::default() });
    asked.answer("b", Some(&answer("b", SuspensionStatus::Approved)), None);
    let find = |message: &str, place: u32| {
        asked.find_in_replay(PATH, &question("x", message), place).map(|found| found.request.id.clone())
    };
    assert_eq!(find("first", 0).as_deref(), Some("a"));
    assert_eq!(find("second", 1).as_deref(), Some("b"));
    // Whatever is shown, a recorded answer is returned.
    assert_eq!(find("other", 0).as_deref(), Some("a"));
    assert_eq!(find("other", 1).as_deref(), Some("b"));
    assert_eq!(find("first", 2).as_deref(), Some("a"));
}

#[test]
fn a_question_that_the_same_try_asks_anew_replaces_the_old_one() {
    let mut asked = RecordedSuspensions::default();
    let path: Arc<str> = PATH.into();
    asked.ask(&path, 3, &question("a", "first"), None);
    asked.ask(&path, 7, &question("b", "second"), None);
    assert!(asked.find(PATH, &question("x", "first"), false).is_some_and(|found| found.request.id == "b"));
}

#[test]
fn a_failed_block_asks_anew_what_an_earlier_try_was_refused() {
    let mut asked = RecordedSuspensions::default();
    let path: Arc<str> = PATH.into();
    asked.ask(&path, 3, &question("a", "first"), None);
    asked.answer("a", Some(&answer("a", SuspensionStatus::Rejected)), None);
    asked.begin_try("root");
    asked.ask(&path, 7, &question("b", "second"), None);
    asked.answer("b", Some(&answer("b", SuspensionStatus::Approved)), None);
    asked.begin_try("root");
    let find = |asked: &RecordedSuspensions, message: &str| {
        asked.find(PATH, &question("x", message), true).map(|found| found.request.id.clone())
    };
    assert_eq!(find(&asked, "first").as_deref(), Some("a"));
    asked.forget_refusals(PATH);
    assert_eq!(find(&asked, "first"), None);
    assert_eq!(find(&asked, "second").as_deref(), Some("b"), "an approval still counts");
}
