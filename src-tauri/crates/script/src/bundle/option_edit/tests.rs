//! Tests: options that are replaced, added and nested, texts with code in them, and names that are not clear.

use serde_json::json;

use super::*;

fn check(text: &str, path: &[&str], value: OptionValue, expected: &str) {
    let found = with_option(text, "a.ts", "ask", path, &value);
    assert_eq!(found, Some(Ok(expected.to_owned())), "{text}");
}

fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    let model = OptionValue::Json(json!("b"));
    check(
        "g({ name: 'ask', model: 'a' /* m */ })",
        &["model"],
        model.clone(),
        "g({ name: 'ask', model: \"b\" /* m */ })",
    );
    check("g({ name: 'ask', model: () => pick() })", &["model"], model.clone(), "g({ name: 'ask', model: \"b\" })");
    check("g({ name: 'ask', model })", &["model"], model.clone(), "g({ name: 'ask', model: \"b\" })");
    check("g({ name: 'ask' })", &["model"], model.clone(), "g({ name: 'ask', model: \"b\" })");
    check("g({\n  name: 'ask',\n})", &["model"], model, "g({\n  name: 'ask',\n  model: \"b\",\n})");
}

/// `generator({ … } as any)` was no definition.
#[test]
fn options_that_are_cast_are_edited_inside_the_cast() {
    for (before, after) in [("", " as any"), ("", " satisfies O"), ("<any>", ""), ("(", ")"), ("(", ")!")] {
        let given = |model: &str| format!("g({before}{{ name: 'ask', model: {model} }}{after})");
        check(&given("'a' as const"), &["model"], OptionValue::Json(json!("b")), &given("\"b\""));
    }
    let nested = OptionValue::Json(json!(0.2));
    check(
        "g({ name: ('ask'), providerOptions: { topP: 1 } as any } as any)",
        &["providerOptions", "temperature"],
        nested,
        "g({ name: ('ask'), providerOptions: { topP: 1, temperature: 0.2 } as any } as any)",
    );
    check(
        "g({ name: 'ask', prompt: ((i) => `A ${i}`) as any } as any)",
        &["prompt"],
        text("B ${i}"),
        "g({ name: 'ask', prompt: ((i) => `B ${i}`) as any } as any)",
    );
}

#[test]
fn an_option_in_another_is_put_into_it() {
    let warm = OptionValue::Json(json!(0.2));
    let path = &["providerOptions", "temperature"];
    check("g({ name: 'ask' })", path, warm.clone(), "g({ name: 'ask', providerOptions: { temperature: 0.2 } })");
    check(
        "g({ name: 'ask', providerOptions: { temperature: 1 } })",
        path,
        warm.clone(),
        "g({ name: 'ask', providerOptions: { temperature: 0.2 } })",
    );
    check(
        "g({ name: 'ask', providerOptions: o })",
        path,
        warm,
        "g({ name: 'ask', providerOptions: { temperature: 0.2 } })",
    );
}

#[test]
fn the_code_in_a_prompt_keeps_the_scope_of_what_it_replaces() {
    let new = "Hi ${input.name}, `now`";
    check(
        "g({ name: 'ask', prompt: (input) => `Hey ${input.a}` })",
        &["prompt"],
        text(new),
        "g({ name: 'ask', prompt: (input) => `Hi ${input.name}, \\`now\\`` })",
    );
    check(
        "g({ name: 'ask', prompt(input) { const a = 1; return a; } })",
        &["prompt"],
        text("A ${a}"),
        "g({ name: 'ask', prompt(input) { const a = 1; return `A ${a}`; } })",
    );
    check("g({ name: 'ask', prompt: 'x' })", &["prompt"], text("A ${a}"), "g({ name: 'ask', prompt: \"A ${a}\" })");
    check(
        "g({ name: 'ask', prompt: 'x' })",
        &["prompt"],
        text("A\n${a}`"),
        "g({ name: 'ask', prompt: `A\n\\${a}\\`` })",
    );
    check(
        "g({ name: 'ask', prompt: (i) => f(i) })",
        &["prompt"],
        text("Plain"),
        "g({ name: 'ask', prompt: \"Plain\" })",
    );
}

#[test]
fn what_counts_in_the_end_is_replaced() {
    let model = OptionValue::Json(json!("b"));
    check(
        "g({ name: 'ask', model: 'a', ...o })",
        &["model"],
        model,
        "g({ name: 'ask', model: 'a', ...o, model: \"b\" })",
    );
    let nested = "A ${list.map((l) => `- ${l}`).join(\"\\n\")} `b`";
    let expected = "g({ name: 'ask', prompt: `A ${list.map((l) => `- ${l}`).join(\"\\n\")} \\`b\\`` })";
    check("g({ name: 'ask', prompt: `x` })", &["prompt"], text(nested), expected);
    let several = "g({ name: 'ask', prompt: (i) => { if (i.vip) return `A ${i}`; return `B ${i}`; } })";
    let found = with_option(several, "a.ts", "ask", &["prompt"], &text("C ${i}"));
    assert_eq!(found, Some(Err(NoDefinition::SeveralReturns)));
}

#[test]
fn a_name_that_several_definitions_have_is_ambiguous() {
    let value = text("x");
    let several = with_option("g({ name: 'ask' }); h({ name: 'ask' })", "a.ts", "ask", &["prompt"], &value);
    assert_eq!(several, Some(Err(NoDefinition::Several)));
    assert_eq!(with_option("g({ name: n })", "a.ts", "ask", &["prompt"], &value), None);
    assert_eq!(with_option("g({ name: 'ask'", "a.ts", "ask", &["prompt"], &value), None);
}
