//! Differences as paths a person can read.

use engine::views::diff::diff;
use proptest::prelude::*;
use serde_json::{Value, json};

#[track_caller]
fn check(old: Value, new: Value, expected: &[(&str, &str)]) {
    let found = diff(Some(&old), Some(&new));
    let found: Vec<(String, String)> =
        found.iter().map(|d| (format!("{:?}", d.kind).to_lowercase(), d.path.clone())).collect();
    let expected: Vec<(String, String)> = expected.iter().map(|(k, p)| ((*k).to_owned(), (*p).to_owned())).collect();
    assert_eq!(found, expected, "{old} → {new}");
}

#[test]
fn only_what_differs_is_named() {
    check(json!({"a": 1, "b": {"c": 2}}), json!({"a": 1, "b": {"c": 3}}), &[("changed", "b.c")]);
    check(json!({"a": 1}), json!({"b": 1}), &[("added", "b"), ("removed", "a")]);
    check(json!({"a": 1}), json!({"a": 1.0}), &[]);
    check(json!({"odd key": 1}), json!({"odd key": 2}), &[("changed", "[\"odd key\"]")]);
}

/// Fields are looked at side by side where both values have them in one order, and looked up elsewhere.
#[test]
fn the_order_of_fields_makes_no_difference() {
    let old = json!({"a": 1, "gone": 2, "b": {"x": 1, "y": [1]}, "c": 3});
    check(old.clone(), json!({"c": 3, "b": {"y": [1], "x": 1}, "gone": 2, "a": 1}), &[]);
    check(
        old.clone(),
        json!({"c": 4, "a": 1, "b": {"y": [2], "x": 1}}),
        &[("changed", "c"), ("changed", "b.y[0]"), ("removed", "gone")],
    );
    check(
        old,
        json!({"new": 0, "a": 1, "b": {"x": 1, "y": [1]}, "c": 5}),
        &[("added", "new"), ("changed", "c"), ("removed", "gone")],
    );
}

#[test]
fn an_insertion_does_not_change_what_follows() {
    check(json!({"l": [1, 2, 3]}), json!({"l": [0, 1, 2, 3]}), &[("added", "l[0]")]);
    check(json!({"l": [1, 2, 3]}), json!({"l": [1, 3]}), &[("removed", "l[1]")]);
    check(json!({"l": [1, 2]}), json!({"l": [1, 9]}), &[("changed", "l[1]")]);
    check(json!({"l": [{"t": 1}, 2]}), json!({"l": [{"t": 2}, 2]}), &[("changed", "l[0].t")]);
}

#[test]
fn a_moved_element_is_a_move() {
    check(json!(["a", "b", "c"]), json!(["c", "a", "b"]), &[("moved", "[0]")]);
}

proptest! {
    #[test]
    fn a_list_differs_from_itself_in_nothing(list in prop::collection::vec(0_u8..5, 0..12)) {
        let value = json!(list);
        prop_assert!(diff(Some(&value), Some(&value)).is_empty());
    }

    #[test]
    fn different_lists_always_differ(one in prop::collection::vec(0_u8..5, 0..8), two in prop::collection::vec(0_u8..5, 0..8)) {
        let (a, b) = (json!(one), json!(two));
        prop_assert_eq!(diff(Some(&a), Some(&b)).is_empty(), one == two);
    }
}
