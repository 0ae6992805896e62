//! Resources: the ids of their records, the keys that match a pattern, and rendered templates.

use engine::resource::pattern::Pattern;
use engine::resource::record::{Address, Place, prefix};
use engine::scope::{ScopeKey, ScopeKind};
use proptest::prelude::*;
use serde_json::json;

/// Text with all characters that have a meaning in ids.
fn text() -> impl Strategy<Value = String> {
    "[a0%/:#*\\[\\]~ä. ]{1,8}"
}

fn place() -> impl Strategy<Value = Place> {
    let pattern = "[a#%]{1,3}/\\*";
    prop_oneof![
        text().prop_map(Place::Single),
        pattern.prop_map(Place::Index),
        (pattern, text()).prop_map(|(pattern, key)| Place::Instance(pattern, key)),
    ]
}

proptest! {
    #[test]
    fn an_address_is_read_back_from_its_id(
        owner in text(), flow in proptest::option::of(text()), place in place(), scope in 0..3_usize,
    ) {
        let scope = [ScopeKind::Session, ScopeKind::User, ScopeKind::Project][scope];
        let address = Address { scope, owner: owner.clone(), flow: flow.clone(), place };
        let id = address.key().id;
        prop_assert_eq!(Address::parse(&id), Some(address));
        // The prefix that finds all resources of an owner.
        let after = if flow.is_some() { ':' } else { '/' };
        let begins = format!("{}{after}", prefix(&ScopeKey::new(scope, owner)));
        prop_assert!(id.starts_with(&begins), "{id} does not begin with {begins}");
    }
}

#[test]
fn keys_are_the_open_parts_of_a_path() {
    let cases = [
        ("files/*", json!("a.md"), Some(("a.md", "files/a.md"))),
        ("files/*", json!("a/b"), None),
        ("files/*", json!(""), None),
        ("files/*", json!("/lead"), Some(("lead", "files/lead"))),
        ("files/**", json!("a//b/"), Some(("a/b", "files/a/b"))),
        ("files/**", json!("c\\d"), Some(("c/d", "files/c/d"))),
        ("files/**", json!("///"), None),
        ("files/**", json!("n\u{0}x"), None),
        ("files/**", json!("a/./b"), None),
        ("files/**", json!("a/b"), Some(("a/b", "files/a/b"))),
        ("files/**", json!("a/../b"), None),
        ("[topic]/x", json!("ml"), Some(("ml", "ml/x"))),
        ("[topic]/x", json!({ "topic": "ml" }), Some(("ml", "ml/x"))),
        ("[a]/x/[b]", json!({ "b": "2", "a": "1" }), Some(("1/2", "1/x/2"))),
        ("[a]/x/[b]", json!({ "a": "1" }), None),
        ("[a]/x/[b]", json!({ "a": "1", "b": "c\\d" }), None),
        ("[a]/x/[b]", json!({ "a": "1", "b": ".." }), None),
        ("[a]/x/[b]", json!({ "a": "1", "b": "" }), None),
        ("[a]/x/[b]", json!({ "a": "1", "b": "2", "c": "3" }), None),
        ("[a]/*", json!({ "a": "1" }), None),
        ("[a]/**", json!("1/2/3"), Some(("1/2/3", "1/2/3"))),
        ("[a]/**", json!("1"), None),
        ("*", json!(7), None),
    ];
    for (pattern, given, expected) in cases {
        let read = Pattern::parse(pattern).expect(pattern);
        let found = read.key(&given).ok().map(|key| (key.clone(), read.path_of(&key)));
        let found = found.as_ref().map(|(key, path)| (key.as_str(), path.as_str()));
        assert_eq!(found, expected, "{pattern} with {given}");
    }
}

#[test]
fn an_invalid_key_is_an_error_and_a_key_that_does_not_match_is_not() {
    let cases = [
        ("files/*", json!("a/b"), Ok(false)),
        ("files/*", json!("a"), Ok(true)),
        ("files/*", json!("/"), Err("must have more than slashes, got \"/\"")),
        ("files/*", json!(""), Err("must not be empty, got \"\"")),
        ("files/*", json!(".."), Err("must not have \"..\" as a part, got \"..\"")),
        ("files/*", json!("a\nb"), Err("must not have control characters, got \"a\\nb\"")),
    ];
    for (pattern, given, expected) in cases {
        let read = Pattern::parse(pattern).expect(pattern);
        let found = read.key_if_matching(&given).map(|key| key.is_some()).map_err(|error| error.message);
        let expected = expected.map_err(|why| format!("a key of \"{pattern}\" {why}"));
        assert_eq!(found, expected, "{pattern} with {given}");
    }
    let error = Pattern::parse("files/*").expect("a pattern").key(&json!("a/b")).expect_err("two parts");
    assert!(error.message.contains("does not match collection pattern \"files/*\""), "{}", error.message);
}
