//! Values of every shape and number, there and back.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::model::event::{Event, EventKind, Recorded};

/// Doubles that have gone wrong somewhere.
const HARD: [f64; 14] = [
    -0.0,
    1e20,
    1e21,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    9_223_372_036_854_775_808.0,
    18_446_744_073_709_551_616.0,
    -9_223_372_036_854_775_808.0,
    -9_223_372_036_854_777_856.0,
    0.1,
    1e-7,
];

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Of {
        #[serde(deserialize_with = "exact")]
        value: Value,
    },
}

fn any_value() -> impl Strategy<Value = Value> {
    let double = prop_oneof![
        any::<f64>().prop_filter("finite", |double| double.is_finite()),
        prop::sample::select(HARD.to_vec()),
    ];
    let name = prop_oneof![
        ".{0,6}",
        Just("$serde_json::private::Number".to_owned()),
        Just("$serde_json::private::RawValue".to_owned()),
        Just("$payload".to_owned()),
        Just("$value".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        double.prop_map(number),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((name.clone(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(value in any_value()) {
        let text = value.to_string();
        prop_assert_eq!(parse(&text).expect(&text), value.clone());
        let tagged = Tagged::Of { value: value.clone() };
        let text = serde_json::to_string(&tagged).expect("text");
        prop_assert_eq!(&from_json::<Tagged>(&text).expect(&text), &tagged);
        let whole = serde_json::to_value(&tagged).expect("a value");
        prop_assert_eq!(from_value::<Tagged>(whole).expect("a type"), tagged);
        let event = Event {
            seq: 1,
            at: 2,
            path: None,
            attempt: 0,
            kind: EventKind::InputEdited { input: Recorded::Value(value) },
        };
        let text = serde_json::to_string(&event).expect("text");
        prop_assert_eq!(from_json::<Event>(&text).expect(&text), event);
    }

    #[test]
    fn a_double_is_read_as_itself(double in any::<f64>().prop_filter("finite", |double| double.is_finite())) {
        for text in [number(double).to_string(), format!("{double}"), format!("{double:e}")] {
            let read = parse(&text).expect(&text).as_f64().expect(&text);
            prop_assert_eq!(read.to_bits(), double.to_bits(), "{}", text);
        }
        let input = parse_input(&number(double).to_string()).expect("a double is an input");
        prop_assert_eq!(input, number(double));
    }

    #[test]
    fn it_takes_what_serde_json_takes(text in "[-0-9.eE\\[\\]{},:\" \\\\u0Dtrfalsn]{0,24}") {
        let theirs = serde_json::from_str::<Value>(&text);
        match parse(&text) {
            Ok(value) => prop_assert!(crate::model::operation::equal(&value, &theirs.expect(&text))),
            // They keep what is out of range as digits.
            Err(error) => prop_assert!(theirs.is_err() || error.to_string().contains("out of range"), "{}", text),
        }
    }
}

#[test]
fn hard_numbers_have_one_form() {
    for double in HARD {
        let value = number(double);
        assert_eq!(parse(&value.to_string()).expect("a number"), value);
        assert_eq!(value.as_f64().map(f64::to_bits), Some(double.to_bits()));
    }
    assert_eq!(number(1e18).to_string(), "1000000000000000000");
    assert_eq!(number(2.0), Value::from(2));
    assert_eq!(parse("1.0").expect("a number"), Value::from(1));
    assert_eq!(parse("1e3").expect("a number"), Value::from(1000));
}

#[test]
fn integers_that_are_no_doubles_are_refused_with_their_place() {
    for text in ["9007199254740993", "12345678901234567890", "-9223372036854775809", "18446744073709551617"] {
        let error = parse_input(&format!("{{\n  \"a/b\": [1, {text}] }}")).expect_err(text).to_string();
        assert!(error.contains(text) && error.contains("at /a~1b/1 at line 2 column 14"), "{error}");
    }
    for text in ["9007199254740992", "9223372036854775808", "9223372036854776000", "100000000000000000000", "-0"] {
        parse_input(text).expect(text);
    }
    assert!(parse("1e400").expect_err("infinite").to_string().contains("out of range"));
}

#[test]
fn mistakes_have_their_place() {
    for (text, message) in [
        ("{\"a\": }", "expected value, at /a at line 1 column 7"),
        ("[1,\n2,]", "trailing comma at line 2 column 3"),
        ("\"\\ud800\"", "lone leading surrogate in hex escape at line 1 column 2"),
        ("1 2", "trailing characters at line 1 column 3"),
        ("", "EOF while parsing a value at line 1 column 1"),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), message);
    }
}

#[test]
fn what_comes_from_outside_is_only_so_deep() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_within(&nested(50), 50).is_ok());
    for text in [nested(51), "[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)] {
        let message = parse_within(&text, 50).expect_err("it is too deep").to_string();
        assert!(message.starts_with("nested deeper than 50 levels, at /") && message.len() < 200, "{message}");
        assert!(message.contains("/… at line 1 column "), "{message}");
        let message = from_json_within::<Tagged>(&format!("{{\"kind\":\"Of\",\"value\":{text}}}"), 50);
        assert!(message.expect_err("it is too deep").to_string().contains("deeper than 50 levels at line 1 column"));
    }
    // The log's reader goes deeper than a test's stack.
    let deep = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
        assert!(parse(&nested(MAX_LOG_DEPTH)).is_ok() && from_json::<Tagged>(&nested(MAX_LOG_DEPTH)).is_err());
        parse(&nested(1_000_000)).expect_err("it is too deep").to_string()
    });
    let message = deep.expect("a thread").join().expect("it ends");
    assert!(message.starts_with("nested deeper than 10000 levels"), "{message}");
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_input(&nested(DEFAULT_MAX_DEPTH + 1)).is_err());
    // Siblings are beside each other, not in each other.
    assert!(parse_within(&format!("[{}1]", "[1],{},".repeat(1_000)), 2).is_ok());
}
