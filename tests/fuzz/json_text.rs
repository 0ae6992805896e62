//! JSON that means something to its reader and is wrong somewhere: known names, unknown values.

use proptest::prelude::*;

use crate::edits::hostile_text;

/// Any JSON as a text, its objects with some of these names.
pub(crate) fn any_json(names: &'static [&'static str]) -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        4 => proptest::sample::select(&NUMBERS[..]).prop_map(str::to_owned),
        2 => proptest::sample::select(&PLAIN[..]).prop_map(str::to_owned),
        2 => proptest::sample::select(names).prop_map(quoted),
        2 => hostile_text().prop_map(|text| quoted(&text)),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => any::<f64>().prop_map(|number| format!("{number:e}")),
        1 => (1..1_200_usize).prop_map(|depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth))),
    ];
    let name = prop_oneof![6 => proptest::sample::select(names).prop_map(str::to_owned), 1 => hostile_text()];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let field = (name.clone(), inner.clone()).prop_map(|(name, value)| format!("{}:{value}", quoted(&name)));
        prop_oneof![
            3 => proptest::collection::vec(field, 0..5).prop_map(|fields| format!("{{{}}}", fields.join(","))),
            1 => proptest::collection::vec(inner, 0..4).prop_map(|values| format!("[{}]", values.join(","))),
        ]
    })
    .boxed()
}

/// What is neither a number nor a list.
const PLAIN: [&str; 8] = ["null", "true", "false", "\"\"", "[]", "{}", "\"\\ud800\"", "\"\\u0000\""];

/// Numbers at the borders of what types hold.
const NUMBERS: [&str; 22] = [
    "0",
    "1",
    "-1",
    "2",
    "10",
    "1000",
    "65536",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "-0.0",
    "1e308",
    "1e309",
    "5e-324",
    "1e-400",
];

/// A text as JSON has it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
