//! Lists of runs, and annotations: which rows a query finds in which order, what is derived, and what `check` reports.

use engine::effects::EffectKind;
use engine::event::{EventKind, RequestStatus};
use engine::log::AppendMode;
use rusqlite::Connection;
use serde_json::{Value, json};
use store::{
    Annotating, Annotation, AnnotationKind, Comparison, ExperimentRow, ModelPrice, RequestOrder, RequestQuery,
    RunCondition, RunFilter, RunOrder, RunQuery, RunTerm, SampleRow, Samples, SessionQuery, Store, Subject,
};

use crate::support::{Bed, Request, bed, finished, open_in};

fn add(kind: AnnotationKind, value: &str) -> Annotation {
    Annotation { at: 5, by: None, kind, value: value.to_owned() }
}

fn tag(store: &Store, request: &str, tags: &[&str]) {
    let added = tags.iter().map(|tag| add(AnnotationKind::TagAdded, tag)).collect();
    assert!(matches!(store.annotate(Subject::Request, request, added).unwrap(), Annotating::Done(_)));
}

/// Writes a request with one model call for each pair of prompt and completion tokens.
fn asks(store: &Store, id: &str, calls: &[(u64, u64)]) {
    asks_sharing(store, id, calls, None);
}

/// Like [`asks`]; with `shared_ms`, another sample of an experiment paid for the answers.
fn asks_sharing(store: &Store, id: &str, calls: &[(u64, u64)], shared_ms: Option<u64>) {
    let mut request = Request::begin_in(store, id, &format!("s-{id}"));
    for (at, (prompt, completion)) in calls.iter().enumerate() {
        let ordinal = at as u32;
        let asked = Some(json!({ "model": "mini", "messages": [] }));
        request.commit(EventKind::EffectStarted { effect: EffectKind::Model, ordinal, request: asked }).unwrap();
        let started = Some(request.last);
        let usage = json!({ "promptTokens": prompt, "completionTokens": completion, "cacheReadInputTokens": 1 });
        let mut result = json!({ "model": "mini-2026", "text": "x", "usage": usage });
        if let Some(ms) = shared_ms {
            result["sharedMs"] = ms.into();
        }
        request
            .commit(EventKind::EffectFinished {
                effect: EffectKind::Model,
                ordinal,
                started,
                request: None,
                result,
                error: None,
                memoized: false,
                dispatch: None,
            })
            .unwrap();
    }
    request.commit(finished(RequestStatus::Completed)).unwrap();
}

fn ids(store: &Store, query: &RunQuery) -> Vec<String> {
    let rows = store.runs(query).unwrap();
    let ids: Vec<String> = rows.into_iter().map(|row| row.request.id).collect();
    assert_eq!(store.run_ids(query).unwrap(), ids);
    ids
}

fn filtered(store: &Store, condition: RunCondition, is_negated: bool) -> Vec<String> {
    let filter = RunFilter { terms: vec![RunTerm { is_negated, condition }], ..RunFilter::default() };
    assert_eq!(
        store.count_runs(&filter).unwrap() as usize,
        store.runs_by_day(&filter).unwrap().days.iter().map(|day| day.runs).sum::<u64>() as usize
    );
    ids(store, &RunQuery { filter, ..RunQuery::default() })
}

fn three() -> Bed {
    let bed = bed();
    asks(&bed, "a", &[(100, 5), (10, 5)]);
    asks(&bed, "b", &[(1_000, 1)]);
    asks(&bed, "c", &[]);
    bed
}

#[test]
fn model_usage_is_derived_when_the_event_is_written() {
    let bed = three();
    let rows = bed.runs(&RunQuery::default()).unwrap();
    let used =
        |at: usize| rows[at].used.iter().map(|one| (one.calls, one.input, one.cached, one.output)).collect::<Vec<_>>();
    assert_eq!(rows.iter().map(|row| row.tokens).collect::<Vec<_>>(), [120, 1_001, 0]);
    assert_eq!((used(0), used(1), used(2)), (vec![(2, 110, 2, 10)], vec![(1, 1_000, 1, 1)], vec![]));
    let models = bed.models().unwrap();
    assert_eq!((models.len(), &*models[0].asked, &*models[0].answered), (1, "mini", "mini-2026"));
    assert_eq!(rows[0].words.as_deref(), Some("why?"));
    assert!(bed.check().unwrap().problems.is_empty());
}

#[test]
fn runs_are_sorted_by_each_column_and_filtered_by_each_term() {
    let bed = three();
    tag(&bed, "b", &["seen", "odd"]);
    bed.annotate(
        Subject::Request,
        "c",
        vec![add(AnnotationKind::Title, "Ärger"), add(AnnotationKind::Note, "a long note")],
    )
    .unwrap();
    let order = |order, is_descending| ids(&bed, &RunQuery { order, is_descending, ..RunQuery::default() });
    assert_eq!(order(RunOrder::Started, true), ["c", "b", "a"]);
    assert_eq!(order(RunOrder::Tokens, true), ["b", "a", "c"]);
    assert_eq!(order(RunOrder::Title, false)[2], "c");
    assert_eq!(order(RunOrder::Tags, true)[0], "b");
    assert_eq!(order(RunOrder::Session, false), ["a", "b", "c"]);
    assert_eq!(order(RunOrder::Origin, true), ["c", "b", "a"], "those without one are equal");
    for by in [RunOrder::Duration, RunOrder::Status, RunOrder::Flow, RunOrder::User, RunOrder::Session] {
        let (one, mut other) = (order(by, false), order(by, true));
        other.reverse();
        assert_eq!(one, other, "{by:?}");
    }
    let page = RunQuery { is_descending: true, limit: Some(1), offset: Some(1), ..RunQuery::default() };
    assert_eq!(ids(&bed, &page), ["b"]);

    let find = |condition| filtered(&bed, condition, false);
    assert_eq!(find(RunCondition::Tag("seen".to_owned())), ["b"]);
    assert_eq!(find(RunCondition::Tag("s*".to_owned())), ["b"]);
    assert_eq!(find(RunCondition::Session("s-a".to_owned())), ["a"]);
    assert_eq!(find(RunCondition::Session("s-?".to_owned())), [""; 0], "only a star is a pattern");
    assert_eq!(find(RunCondition::Tokens(Comparison::Above, 120.0)), ["b"]);
    assert_eq!(find(RunCondition::Tokens(Comparison::AtLeast, 120.0)), ["a", "b"]);
    assert_eq!(find(RunCondition::Text("ÄRGER".to_owned())), ["c"]);
    assert_eq!(find(RunCondition::Text("LONG".to_owned())), ["c"]);
    assert_eq!(find(RunCondition::Text("odd".to_owned())), ["b"]);
    assert_eq!(find(RunCondition::Text("%".to_owned())), [""; 0]);
    assert_eq!(find(RunCondition::Status(RequestStatus::Completed)).len(), 3);
    assert_eq!(filtered(&bed, RunCondition::Tag("seen".to_owned()), true), ["a", "c"]);
    assert_eq!(filtered(&bed, RunCondition::Cost(Comparison::Above, 0.0), true).len(), 3, "no price, no cost");
}

#[test]
fn costs_are_tokens_times_prices() {
    let bed = three();
    let price = ModelPrice { model: 1, input: 1e12, cached: 5e11, output: 1e13 };
    let filter = RunFilter { prices: vec![price], ..RunFilter::default() };
    let order = RunQuery { filter: filter.clone(), order: RunOrder::Cost, is_descending: true, ..RunQuery::default() };
    assert_eq!(ids(&bed, &order), ["b", "a", "c"]);
    let days = bed.runs_by_day(&filter).unwrap().days;
    let (a, b) = (108.0 + 1.0 + 100.0, 999.0 + 0.5 + 10.0);
    assert_eq!((days.len(), days[0].runs, days[0].usd), (1, 3, Some(a + b)));
    let terms = vec![RunTerm { is_negated: false, condition: RunCondition::Cost(Comparison::Above, 500.0) }];
    assert_eq!(ids(&bed, &RunQuery { filter: RunFilter { terms, ..filter }, ..RunQuery::default() }), ["b"]);
}

/// Three requests, of which "b" and "c" are samples of an experiment with "a". They share an answer: "b" paid for it.
fn sampled() -> Bed {
    let bed = bed();
    asks(&bed, "a", &[(100, 5)]);
    let experiment = ExperimentRow { id: "exp".to_owned(), request: "a".to_owned(), at: 1, body: json!({}) };
    bed.put_experiment(&experiment).unwrap();
    for (arm, request) in [(1, "b"), (2, "c")] {
        let sample = SampleRow { arm, number: 1, request: request.to_owned(), score: None };
        assert!(bed.claim_sample("exp", &sample, None).unwrap());
    }
    asks(&bed, "b", &[(1_000, 1)]);
    asks_sharing(&bed, "c", &[(1_000, 1)], Some(3));
    // Samples are forks.
    let file = Connection::open(bed.path()).unwrap();
    file.execute("UPDATE request SET forked_from = 'a', forked_at = 1 WHERE id IN ('b', 'c')", ()).unwrap();
    bed
}

#[test]
fn lists_leave_samples_of_experiments_out() {
    let bed = sampled();
    assert_eq!(ids(&bed, &RunQuery::default()), ["a"]);
    assert_eq!(filtered(&bed, RunCondition::IsSample, false), ["b", "c"]);
    assert_eq!(filtered(&bed, RunCondition::IsSample, true), ["a"]);
    assert_eq!(filtered(&bed, RunCondition::Session("s-b".to_owned()), false), ["b"], "a session is shown whole");
    assert_eq!(filtered(&bed, RunCondition::Session("s-b".to_owned()), true), ["a"]);
    assert_eq!(filtered(&bed, RunCondition::Text("nothing".to_owned()), true), ["a"]);

    let requests =
        |query: RequestQuery| -> Vec<String> { bed.requests(&query).unwrap().into_iter().map(|row| row.id).collect() };
    for order in [RequestOrder::Started, RequestOrder::Changed] {
        let query = |samples| RequestQuery { order, samples, limit: Some(2), ..RequestQuery::default() };
        assert_eq!(requests(query(Samples::LeftOut)), ["a"], "{order:?}");
        assert_eq!(requests(query(Samples::Only)).len(), 2, "{order:?}");
        assert_eq!(requests(query(Samples::Listed)).len(), 2, "{order:?}");
    }
    assert_eq!(requests(RequestQuery { session: Some("s-c".to_owned()), ..RequestQuery::default() }), ["c"]);

    let sessions = |samples| -> Vec<String> {
        let query = SessionQuery { samples, ..SessionQuery::default() };
        bed.sessions(&query).unwrap().into_iter().map(|row| row.id).collect()
    };
    assert_eq!(sessions(Samples::LeftOut), ["s-a"]);
    assert_eq!(sessions(Samples::Only).len(), 2);
    assert_eq!(sessions(Samples::Listed).len(), 3);
    let count = |search: Option<&str>, samples| {
        let search = search.map(str::to_owned);
        bed.count_sessions(&SessionQuery { search, samples, limit: Some(1), ..SessionQuery::default() }).unwrap()
    };
    assert_eq!((count(None, Samples::LeftOut), count(None, Samples::Only)), (1, 2));
    assert_eq!((count(Some("s-b"), Samples::LeftOut), count(Some("s-b"), Samples::Only)), (0, 1));
    assert_eq!(bed.stats().unwrap().samples, 2);
}

/// What another sample paid for is known by the answers: an imported request is no sample here.
#[test]
fn shared_answers_are_found_in_any_request() {
    let bed = bed();
    asks(&bed, "own", &[(7, 1), (8, 1)]);
    asks_sharing(&bed, "imported", &[(7, 1), (8, 1)], Some(3));
    let found = |id: &str| bed.maybe_shared(id, &[3, 5]).unwrap().iter().map(|event| event.seq).collect::<Vec<_>>();
    assert_eq!((found("own"), found("imported"), found("unknown")), (vec![], vec![3, 5], vec![]));
    assert!(!bed.is_sample("imported").unwrap());
}

/// A request that a sample sent, or that scored one, is not a sample of an arm, and lists leave it out as well.
#[test]
fn lists_leave_other_parts_of_an_experiment_out() {
    let bed = sampled();
    bed.claim_part("d").unwrap();
    asks(&bed, "d", &[(7, 1)]);
    assert_eq!(ids(&bed, &RunQuery::default()), ["a"]);
    assert_eq!(filtered(&bed, RunCondition::IsSample, false), ["b", "c", "d"]);
    assert_eq!(["a", "b", "d"].map(|id| bed.is_sample(id).unwrap()), [false, true, true]);
    assert_eq!(
        (bed.samples("exp").unwrap().len(), bed.count_samples("exp", &[RequestStatus::Aborted]).unwrap()),
        (2, 2)
    );
    let summary = bed.runs_by_day(&RunFilter::default()).unwrap();
    assert_eq!((summary.samples, summary.days[0].runs), (3, 1));
}

/// What is summed is what is listed; an answer that two samples share counts once.
#[test]
fn sums_are_those_of_the_listed_runs() {
    let bed = sampled();
    let price = ModelPrice { model: 1, input: 1e12, cached: 1e12, output: 1e12 };
    let filter = RunFilter { prices: vec![price], ..RunFilter::default() };
    let summary = bed.runs_by_day(&filter).unwrap();
    let days: Vec<_> = summary.days.iter().map(|day| (day.runs, day.tokens, day.usd)).collect();
    assert_eq!((days.as_slice(), summary.samples), (&[(1, 105, Some(105.0))][..], 2));
    let only = vec![RunTerm { is_negated: false, condition: RunCondition::IsSample }];
    let filter = RunFilter { terms: only, ..filter };
    let summary = bed.runs_by_day(&filter).unwrap();
    assert_eq!((summary.days[0].runs, summary.days[0].usd, summary.samples), (2, Some(1_001.0), 0));
    let query = RunQuery { filter, order: RunOrder::Cost, is_descending: true, ..RunQuery::default() };
    let rows = bed.runs(&query).unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (row.request.id.as_str(), row.tokens, row.used.len())).collect();
    assert_eq!(shown, [("b", 1_001, 1), ("c", 0, 0)], "both have the answer, and one paid");
    assert!(bed.check().unwrap().problems.is_empty(), "{:?}", bed.check().unwrap().problems);
}

/// 0.15 and 0.75 dollars per million tokens are not exact as dollars per token.
#[test]
fn a_cost_is_found_by_its_exact_value() {
    let bed = three();
    let prices = vec![ModelPrice { model: 1, input: 150_000.0, cached: 150_000.0, output: 750_000.0 }];
    let find = |compare, usd| {
        let terms = vec![RunTerm { is_negated: false, condition: RunCondition::Cost(compare, usd) }];
        let filter = RunFilter { terms, prices: prices.clone(), ..RunFilter::default() };
        ids(&bed, &RunQuery { filter, ..RunQuery::default() })
    };
    let (a, b) = (0.000_024, 0.000_150_75);
    assert_eq!(find(Comparison::Equal, a), ["a"]);
    assert_eq!(find(Comparison::Equal, b), ["b"]);
    assert_eq!(find(Comparison::AtLeast, b), ["b"]);
    assert_eq!(find(Comparison::Below, b), ["a"]);
    assert_eq!(find(Comparison::Above, b), [""; 0]);
}

/// The database does not know whether an unfinished request still runs, so the query names those whose process is gone.
#[test]
fn requests_whose_process_is_gone_are_interrupted() {
    let bed = bed();
    Request::begin_in(&bed.store, "gone", "one");
    Request::begin_in(&bed.store, "runs", "two");
    let find = |status| {
        let terms = vec![RunTerm { is_negated: false, condition: RunCondition::Status(status) }];
        let filter = RunFilter { terms, gone: vec!["gone".to_owned()], ..RunFilter::default() };
        ids(&bed, &RunQuery { filter, ..RunQuery::default() })
    };
    assert_eq!(find(RequestStatus::InProgress), ["runs"]);
    assert_eq!(find(RequestStatus::Interrupted), ["gone"]);
    // The storage failed while the process lived, so that the end is recorded.
    let mut left = Request::begin_in(&bed.store, "left", "three");
    let end = EventKind::RequestStatus { status: RequestStatus::Interrupted };
    left.append(vec![end], AppendMode::Committed).unwrap();
    let mut interrupted = find(RequestStatus::Interrupted);
    interrupted.sort();
    assert_eq!(interrupted, ["gone", "left"]);
    let query = RequestQuery { status: Some(RequestStatus::Interrupted), ..RequestQuery::default() };
    let mut listed: Vec<String> = bed.requests(&query).unwrap().into_iter().map(|row| row.id).collect();
    listed.sort();
    assert_eq!(listed, ["gone", "left", "runs"]);
    let mut unfinished: Vec<String> = bed.unfinished_runs().unwrap().into_iter().map(|(id, _)| id).collect();
    unfinished.sort();
    assert_eq!(unfinished, ["gone", "runs"]);
}

#[test]
fn the_newest_annotation_counts_and_the_others_stay() {
    let bed = three();
    tag(&bed, "a", &["x", "y", "x"]);
    let again =
        vec![add(AnnotationKind::TagRemoved, "x"), add(AnnotationKind::Note, "1"), add(AnnotationKind::Note, "2")];
    let Annotating::Done(now) = bed.annotate(Subject::Request, "a", again).unwrap() else { panic!("it is there") };
    assert_eq!((now.tags, now.note.as_deref(), now.title), (vec!["y".to_owned()], Some("2"), None));
    assert_eq!(
        bed.annotate(Subject::Request, "nobody", vec![add(AnnotationKind::Note, "x")]).unwrap(),
        Annotating::Unknown
    );
    assert_eq!(bed.annotated(Subject::Request, "nobody").unwrap(), None);
    let connection = Connection::open(bed.path()).unwrap();
    let count = |table: &str| {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((count("annotation"), count("tag")), (5, 1), "what changes nothing adds no row");
    assert_eq!(bed.tags().unwrap(), [("y".to_owned(), 1)]);

    // `check` compares the columns that are derived from annotations.
    connection
        .execute_batch("DELETE FROM tag; UPDATE request SET title = 'x', tokens = 3, words = 'y' WHERE id = 'a'")
        .unwrap();
    let told: Vec<String> = bed.check().unwrap().problems.into_iter().map(|problem| problem.what).collect();
    for wrong in ["its list of tags is", "its title is", "its number of tokens is 3", "its line of first words is"] {
        assert!(told.iter().any(|what| what.contains(wrong)), "{wrong}: {told:?}");
    }
}

#[test]
fn sessions_have_titles_and_tags_like_requests() {
    let (here, there) = (three(), bed());
    let added = vec![add(AnnotationKind::TagAdded, "x"), add(AnnotationKind::Title, "Talk")];
    assert!(matches!(here.annotate(Subject::Session, "s-a", added).unwrap(), Annotating::Done(_)));
    let row = here.session("s-a").unwrap().unwrap();
    assert_eq!((row.title.as_deref(), row.tags), (Some("Talk"), vec!["x".to_owned()]));
    assert_eq!(here.annotated(Subject::Request, "a").unwrap().unwrap().tags, [""; 0], "its requests have their own");
    there.import(here.bundle(&["a".to_owned(), "b".to_owned()]).unwrap()).unwrap();
    assert_eq!(there.annotated(Subject::Session, "s-a").unwrap(), here.annotated(Subject::Session, "s-a").unwrap());
    assert!(there.check().unwrap().problems.is_empty(), "{:?}", there.check().unwrap().problems);
    let connection = Connection::open(there.path()).unwrap();
    connection.execute_batch("DELETE FROM session_tag; UPDATE session SET given_title = 'other'").unwrap();
    let told: Vec<String> = there.check().unwrap().problems.into_iter().map(|problem| problem.what).collect();
    for wrong in ["session \"s-a\": its list of tags is", "session \"s-a\": its title is"] {
        assert!(told.iter().any(|what| what.contains(wrong)), "{wrong}: {told:?}");
    }
}

#[test]
fn deleting_a_session_deletes_its_annotations_and_usage() {
    let bed = three();
    tag(&bed, "b", &["seen"]);
    bed.annotate(Subject::Session, "s-b", vec![add(AnnotationKind::TagAdded, "y")]).unwrap();
    bed.delete_session("s-b").unwrap();
    assert_eq!(bed.tags().unwrap(), []);
    let connection = Connection::open(bed.path()).unwrap();
    for table in ["annotation", "tag", "model_usage"] {
        let sql = format!("SELECT count(*) FROM {table} WHERE request = 2");
        assert_eq!(connection.query_row(&sql, (), |row| row.get::<_, i64>(0)).unwrap(), 0, "{table}");
    }
    let sql = "SELECT (SELECT count(*) FROM session_annotation) + (SELECT count(*) FROM session_tag)";
    assert_eq!(connection.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap(), 0);
    assert!(bed.check().unwrap().problems.is_empty());
}

#[test]
fn annotations_and_usage_are_imported_with_their_request() {
    let (here, there) = (three(), bed());
    tag(&here, "a", &["x", "y"]);
    here.annotate(Subject::Request, "a", vec![add(AnnotationKind::TagRemoved, "x"), add(AnnotationKind::Title, "T")])
        .unwrap();
    asks(&there, "other", &[(7, 7)]);
    there.import(here.bundle(&["a".to_owned(), "b".to_owned()]).unwrap()).unwrap();
    assert_eq!(there.annotated(Subject::Request, "a").unwrap(), here.annotated(Subject::Request, "a").unwrap());
    let tokens = |store: &Store| -> Vec<(String, u64)> {
        store.runs(&RunQuery::default()).unwrap().into_iter().map(|row| (row.request.id, row.tokens)).collect()
    };
    assert!(tokens(&there).contains(&("a".to_owned(), 120)), "{:?}", tokens(&there));
    assert!(there.check().unwrap().problems.is_empty(), "{:?}", there.check().unwrap().problems);
}

/// A file of format 10 has no data for lists, so it is derived when the file is opened.
#[test]
fn an_older_file_gets_its_lists() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder);
    asks(&store, "a", &[(100, 5)]);
    let path = store.path().to_owned();
    drop(store);
    let old = Connection::open(&path).unwrap();
    let back = format!(
        "{}; ALTER TABLE event RENAME COLUMN body_checksum TO checksum; PRAGMA user_version = 10",
        crate::support::WITHOUT_LISTS
    );
    old.execute_batch(&back).unwrap();
    drop(old);
    let store = open_in(&folder);
    let row: Vec<Value> =
        store.runs(&RunQuery::default()).unwrap().iter().map(|row| json!([row.words, row.tokens])).collect();
    assert_eq!(row, [json!(["why?", 105])]);
    assert!(store.check().unwrap().problems.is_empty());
    assert!(folder.path().join("log.db.format-10").is_file());
}

/// A file of format 13 does not record which sample paid for a shared answer.
#[test]
fn an_older_file_gets_the_payers_of_shared_answers() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_in(&folder);
    asks(&store, "a", &[(100, 5)]);
    asks_sharing(&store, "b", &[(100, 5)], Some(3));
    let path = store.path().to_owned();
    drop(store);
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "DROP INDEX sample_by_request; UPDATE model_usage SET paid_by = 0;
         UPDATE request SET forked_from = 'a', forked_at = 1 WHERE id = 'b';
         ALTER TABLE model_usage RENAME COLUMN paid_by TO is_copied; PRAGMA user_version = 13",
    )
    .unwrap();
    drop(old);
    let store = open_in(&folder);
    let used = |id: &str| {
        let rows = store.runs(&RunQuery::default()).unwrap();
        rows.iter().find(|row| row.request.id == id).map(|row| (row.tokens, row.used.len()))
    };
    assert_eq!((used("a"), used("b")), (Some((105, 1)), Some((0, 0))));
}

/// Otherwise each model call would write the whole experiment, which grows with its arms.
#[test]
fn what_is_spent_is_stored_apart_from_the_experiment() {
    let bed = sampled();
    let body = json!({ "query": { "models": (0..1_000).map(|n| format!("m{n}")).collect::<Vec<_>>() } });
    let experiment = ExperimentRow { id: "many".to_owned(), request: "a".to_owned(), at: 1, body };
    bed.put_experiment(&experiment).unwrap();
    assert_eq!(bed.spending("many").unwrap(), None);
    for calls in 1..=10 {
        let spent = bed.change_spending("many", move |known| {
            assert_eq!(known, (calls > 1).then(|| json!({ "calls": calls - 1 })));
            json!({ "calls": calls })
        });
        assert_eq!(spent.unwrap(), Some(json!({ "calls": calls })));
    }
    assert_eq!(bed.spending("many").unwrap(), Some(json!({ "calls": 10 })));
    assert_eq!(bed.experiment("many").unwrap(), Some(experiment));
    // The row is not a sample of any experiment, and does not change the numbers of a search's requests.
    assert_eq!((bed.samples("many").unwrap(), bed.samples("exp").unwrap().len()), (Vec::new(), 2));
    assert_eq!((bed.spending("exp").unwrap(), bed.stats().unwrap().samples), (None, 2));
    bed.claim_part("b").unwrap();
    assert_eq!(bed.spending("many").unwrap(), Some(json!({ "calls": 10 })));
    assert_eq!(bed.change_spending("nothing", |_| json!(1)).unwrap(), None);
}

/// What is written beside the log is lost with the file as the log is, so it is refused as well.
#[cfg(unix)]
#[test]
fn an_annotation_is_refused_if_the_file_was_removed() {
    let bed = bed();
    Request::begin(&bed.store, "a");
    let Some(file) = bed.place().file() else { return };
    std::fs::remove_file(file).unwrap();
    let added = vec![add(AnnotationKind::TagAdded, "x")];
    let refused = bed.annotate(Subject::Request, "a", added).unwrap_err();
    assert!(matches!(&refused, store::Error::Gone(gone) if gone.ends_with(file.file_name().unwrap())), "{refused}");
    assert!(refused.is_of_disk());
}
