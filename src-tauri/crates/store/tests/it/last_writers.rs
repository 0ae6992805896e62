//! The last writer of a place in a difference is the last writer in its history.

use std::collections::HashSet;

use engine::event::Seq;
use engine::log::Log;
use engine::operation::Operation;
use engine::views::diff::diff;
use engine::views::place::Place;
use serde_json::{Value, json};

use crate::support::*;

/// A random operation on a few fields, whose values may be numbers, texts, lists or records.
fn operation(chance: &mut Chance) -> Operation {
    let field = ["a", "b", "c"][chance.below(3) as usize].to_owned();
    let key = ["k", "l", "0"][chance.below(3) as usize].to_owned();
    let value = match chance.below(4) {
        0 => json!(chance.below(3)),
        1 => json!({ "k": chance.below(3), "l": [chance.below(2)] }),
        2 => json!([chance.below(2), { "k": chance.below(2) }]),
        _ => json!({ "k": { "deep": chance.below(3) } }),
    };
    match chance.below(8) {
        0 => Operation::Patch { fields: object(json!({ field: value, "d": chance.below(2) })) },
        1 => Operation::Update { field, value },
        2 => Operation::Set { state: object(json!({ field: value })) },
        3 => Operation::Increment { by: object(json!({ "n": chance.below(2) })) },
        4 => Operation::Push { field, value },
        5 => Operation::Atomic { fields: object(json!({ field: value })) },
        6 => Operation::DeleteRecord { field, key },
        _ => Operation::SetRecord { field, key, value },
    }
}

#[test]
fn the_last_writer_is_that_of_the_history() {
    for seed in 0..40 {
        let (bed, scope, mut chance) = (bed(), session_scope(), Chance(seed));
        let mut request = Request::begin(&bed, "r");
        for _ in 0..60 {
            let version = bed.record(&scope).unwrap().version;
            let operations: Vec<Operation> = (0..=chance.below(2)).map(|_| operation(&mut chance)).collect();
            request.write(&scope, version, &operations).unwrap();
        }
        let to: Seq = request.last;
        let at = |seq: Seq| -> Value { bed.state_at(&scope, "r", seq).unwrap().state.to_json() };
        for from in [1, 1 + chance.below(to), to - 4] {
            let found = diff(Some(&at(from)), Some(&at(to)));
            let places: Vec<Place> = found.iter().map(|one| Place::parse(&one.path).unwrap()).collect();
            let told = bed.last_writers(&scope, "r", &places, (from, to, true), &HashSet::new()).unwrap();
            for ((place, told), one) in places.iter().zip(told).zip(&found) {
                let history = bed.writes(&scope, "r", place, true).unwrap();
                let last = history.last().map(|write| write.event.seq);
                assert_eq!(told.map(|writer| writer.seq), last, "{} since {from}, seed {seed}", one.path);
            }
        }
    }
}
