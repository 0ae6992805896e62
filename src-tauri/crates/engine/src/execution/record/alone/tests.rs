//! Which blocks may run by themselves, and what a resume is to find then.

use serde_json::json;

use super::*;
use crate::model::operation::Operation;

#[derive(Default)]
struct Log(Vec<Event>);

impl Log {
    fn add(&mut self, path: Option<&str>, kind: EventKind) {
        let seq = self.0.len() as u64 + 1;
        self.0.push(Event { seq, at: 0, path: path.map(Arc::from), attempt: 0, kind });
    }

    fn begin(&mut self, path: &str, block: BlockKind) {
        let parent = path.rsplit_once('/').map(|(parent, _)| format!("{parent}:0").into());
        let (name, input, versions, fingerprint) = ("b".into(), Recorded::Undefined, Vec::new(), None);
        self.add(
            Some(path),
            EventKind::BlockStarted { name, block, parent, input, versions, fingerprint, replaces_failed: false },
        );
    }

    fn end(&mut self, path: &str) {
        let kind = EventKind::BlockFinished {
            outcome: Outcome::Completed,
            output: Some(Recorded::Value(json!(1))),
            error: None,
            caught: None,
            transient: false,
            memoized: false,
            returned_error: false,
            timed_out_ms: None,
            commits: Vec::new(),
        };
        self.add(Some(path), kind);
    }

    fn write(&mut self, path: &str) {
        let by = [("n".to_owned(), 1.into())].into_iter().collect();
        let (scope, operation) = (ScopeKey::new(ScopeKind::Request, "r"), Operation::Increment { by });
        self.add(Some(path), EventKind::StateChanged { scope, operation, value: None, version: 0 });
    }

    fn finish(mut self) -> Vec<Event> {
        self.end("root");
        self.add(None, EventKind::RequestFinished { status: RequestStatus::Completed, output: None, error: None });
        self.0
    }
}

/// The events that are left, by their numbers.
fn kept(alone: &Alone) -> Vec<Seq> {
    alone.before.iter().map(|event| event.seq).collect()
}

fn chain() -> Log {
    let mut log = Log::default();
    log.begin("root", BlockKind::Sequencer);
    log
}

#[test]
fn of_a_chain_what_came_before_is_left() {
    let mut log = chain();
    for step in ["root/step:a", "root/step:b", "root/step:c"] {
        log.begin(step, BlockKind::Handler);
        log.end(step);
    }
    let events = log.finish();
    let alone = Alone::of(&events, "root/step:b").expect("it may");
    assert_eq!((kept(&alone), alone.began, alone.overlaps), (vec![1, 2, 3], 4, false));
    assert_eq!(kept(&Alone::of(&events, "root").expect("it may")), [2, 3, 4, 5, 6, 7]);
    assert!(Alone::of(&events, "root/step:gone").is_none());
    assert!(Alone::of(&events[..events.len() - 1], "root/step:b").is_none(), "it has not ended");
}

#[test]
fn of_arms_that_ran_beside_it_the_ends_are_left() {
    let mut log = chain();
    for arm in ["a", "b", "c"] {
        log.begin(&format!("root/parallel/{arm}"), BlockKind::Handler);
    }
    for arm in ["a", "b", "c"] {
        log.add(Some(&format!("root/parallel/{arm}")), EventKind::Noted { text: String::new() });
        log.end(&format!("root/parallel/{arm}"));
    }
    // Its parent is the chain, not the operation.
    for event in &mut log.0 {
        if let EventKind::BlockStarted { parent: Some(parent), .. } = &mut event.kind {
            *parent = "root:0".into();
        }
    }
    let events = log.finish();
    let alone = Alone::of(&events, "root/parallel/b").expect("it may");
    assert_eq!((kept(&alone), alone.overlaps), (vec![1, 2, 4, 6, 10], true));
}

#[test]
fn a_state_that_another_block_wrote_meanwhile_makes_it_uncertain() {
    let written_by = |writer: &str| {
        let mut log = chain();
        log.begin("root/parallel/a", BlockKind::Handler);
        log.begin("root/parallel/b", BlockKind::Handler);
        log.write(writer);
        log.end("root/parallel/a");
        log.end("root/parallel/b");
        Alone::of(&log.finish(), "root/parallel/a").is_some()
    };
    assert!(written_by("root/parallel/a"));
    assert!(!written_by("root/parallel/b"));
}

#[test]
fn what_ran_twice_or_inside_of_other_kinds_is_refused() {
    let mut log = chain();
    log.begin("root/step:a", BlockKind::Handler);
    log.end("root/step:a");
    log.begin("root/step:a", BlockKind::Handler);
    log.end("root/step:a");
    assert!(Alone::of(&log.finish(), "root/step:a").is_none());
    let inside_of = |kind: BlockKind| {
        let mut log = chain();
        log.begin("root/step:a", kind);
        log.begin("root/step:a/step:b", BlockKind::Handler);
        log.end("root/step:a/step:b");
        log.end("root/step:a");
        Alone::of(&log.finish(), "root/step:a/step:b").is_some()
    };
    assert!(inside_of(BlockKind::Sequencer));
    assert!(!inside_of(BlockKind::Handler));
    assert!(!inside_of(BlockKind::Generator));
}
