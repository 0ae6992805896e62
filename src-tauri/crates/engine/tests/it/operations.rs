//! The seven state operations against plain JSON (SEMANTICS §4.2).

use engine::operation::Operation;
use engine::state::State;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn state(value: Value) -> State {
    serde_json::from_value(value).expect("an object")
}

fn operation(value: Value) -> Operation {
    serde_json::from_value(value).expect("an operation")
}

#[track_caller]
fn check(before: Value, op: Value, after: Value) {
    let mut found = state(before.clone());
    let changed = operation(op).apply(&mut found);
    assert_eq!(found.to_json(), after);
    assert_eq!(changed, before != after, "the answer says whether anything changed");
}

#[test]
fn merges_are_shallow() {
    check(
        json!({"a": {"b": 1}, "c": 2}),
        json!({"op": "patch", "fields": {"a": {"d": 3}}}),
        json!({"a": {"d": 3}, "c": 2}),
    );
    check(json!({"a": 1}), json!({"op": "patch", "fields": {"a": 1}}), json!({"a": 1}));
    check(json!({"a": 1}), json!({"op": "patch", "fields": {"a": 1.0}}), json!({"a": 1}));
    check(json!({"a": 1}), json!({"op": "set", "state": {"b": 2}}), json!({"b": 2}));
    check(json!({"a": 1, "b": 2}), json!({"op": "set", "state": {"b": 2, "a": 1}}), json!({"a": 1, "b": 2}));
}

#[test]
fn increments_count_absent_and_foreign_values_as_zero() {
    check(json!({}), json!({"op": "increment", "by": {"n": 2}}), json!({"n": 2}));
    check(json!({"n": "x"}), json!({"op": "increment", "by": {"n": 2}}), json!({"n": 2}));
    check(json!({"n": 0.5}), json!({"op": "increment", "by": {"n": 0.25, "m": -1}}), json!({"n": 0.75, "m": -1}));
    check(json!({"n": 1}), json!({"op": "increment", "by": {"n": 0}}), json!({"n": 1}));
}

#[test]
fn lists_and_records_grow_from_nothing() {
    check(json!({}), json!({"op": "push", "field": "l", "value": 1}), json!({"l": [1]}));
    check(json!({"l": [1]}), json!({"op": "push", "field": "l", "value": [2]}), json!({"l": [1, [2]]}));
    check(json!({"l": 7}), json!({"op": "push", "field": "l", "value": 1}), json!({"l": [1]}));
    check(json!({}), json!({"op": "set_record", "field": "r", "key": "k", "value": 1}), json!({"r": {"k": 1}}));
    check(
        json!({"r": {"k": 1}}),
        json!({"op": "set_record", "field": "r", "key": "k", "value": 1}),
        json!({"r": {"k": 1}}),
    );
    check(json!({"r": {"k": 1}}), json!({"op": "delete_record", "field": "r", "key": "k"}), json!({"r": {}}));
    check(json!({"r": {"k": 1}}), json!({"op": "delete_record", "field": "r", "key": "x"}), json!({"r": {"k": 1}}));
    check(json!({}), json!({"op": "delete_record", "field": "r", "key": "x"}), json!({"r": {}}));
}

#[test]
fn transient_fields_leave_no_trace() {
    let transient = ["t".to_owned()];
    let mixed = operation(json!({"op": "patch", "fields": {"a": 1, "t": 2}}));
    assert_eq!(mixed.recorded_without(&transient), Some(operation(json!({"op": "patch", "fields": {"a": 1}}))));
    let only = operation(json!({"op": "push", "field": "t", "value": 2}));
    assert_eq!(only.recorded_without(&transient), None);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_i64..9).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn operations() -> impl Strategy<Value = Operation> {
    let field = "[a-c]";
    let fields =
        || prop::collection::btree_map("[a-c]", values(), 0..3).prop_map(|map| map.into_iter().collect::<Map<_, _>>());
    prop_oneof![
        fields().prop_map(|fields| Operation::Patch { fields }),
        fields().prop_map(|state| Operation::Set { state }),
        fields().prop_map(|fields| Operation::Atomic { fields }),
        prop::collection::btree_map("[a-c]", (-5_i64..5).prop_map(Value::from), 0..3)
            .prop_map(|by| Operation::Increment { by: by.into_iter().collect() }),
        (field, values()).prop_map(|(field, value)| Operation::Push { field, value }),
        (field, values()).prop_map(|(field, value)| Operation::Update { field, value }),
        (field, "[x-z]", values()).prop_map(|(field, key, value)| Operation::SetRecord { field, key, value }),
        (field, "[x-z]").prop_map(|(field, key)| Operation::DeleteRecord { field, key }),
    ]
}

proptest! {
    /// A no-op answers false and leaves the state alone; a change answers true; what an operation
    /// does not name it does not touch; a stored operation does the same again.
    #[test]
    fn an_operation_does_what_it_answers(all in prop::collection::vec(operations(), 0..20)) {
        let mut live = State::default();
        let mut stored = State::default();
        for op in all {
            let before = live.clone();
            let changed = op.apply(&mut live);
            let same = live.names().count() == before.names().count()
                && live.iter().all(|(name, value)| before.get(name).is_some_and(|old| engine::operation::equal(old, value)));
            prop_assert_eq!(changed, !same);
            let touched: Vec<String> = op.touched(&before).into_iter().map(str::to_owned).collect();
            for (name, value) in before.iter().filter(|(name, _)| !touched.iter().any(|t| t == name)) {
                prop_assert_eq!(live.get(name), Some(value));
            }
            let again: Operation = serde_json::from_str(&serde_json::to_string(&op).expect("JSON")).expect("it reads back");
            again.apply(&mut stored);
            prop_assert_eq!(stored.to_json(), live.to_json());
        }
    }
}
