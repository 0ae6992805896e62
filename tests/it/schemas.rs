//! Schemas as forms and models see them: zod 3 and zod 4 say the same in JSON Schema.

use serde_json::{Value, json};
use tests::bench::Place;

/// What an author writes, and what it is described as, by both generations of zod.
fn table() -> Vec<(&'static str, Value)> {
    let text = |more: Value| joined(json!({ "type": "string" }), more);
    let number = |more: Value| joined(json!({ "type": "number" }), more);
    let list = |more: Value| joined(json!({ "type": "array", "items": { "type": "boolean" } }), more);
    vec![
        ("z.string()", text(json!({}))),
        ("z.string().min(2).max(5)", text(json!({ "minLength": 2, "maxLength": 5 }))),
        ("z.string().min(2).min(4)", text(json!({ "minLength": 4 }))),
        ("z.string().length(3)", text(json!({ "minLength": 3, "maxLength": 3 }))),
        ("z.string().regex(/^a+$/)", text(json!({ "pattern": "^a+$" }))),
        // JSON Schema has no flags; a pattern without its flag would refuse what the schema takes.
        ("z.string().regex(/^a+$/i)", text(json!({}))),
        ("z.string().startsWith('a.b')", text(json!({ "pattern": "^a\\.b" }))),
        ("z.string().email()", text(json!({ "format": "email" }))),
        ("z.string().url()", text(json!({ "format": "uri" }))),
        ("z.string().uuid()", text(json!({ "format": "uuid" }))),
        ("z.string().datetime()", text(json!({ "format": "date-time" }))),
        ("z.number().min(1).max(9)", number(json!({ "minimum": 1, "maximum": 9 }))),
        ("z.number().gte(1).lte(9)", number(json!({ "minimum": 1, "maximum": 9 }))),
        ("z.number().gt(1).lt(9)", number(json!({ "exclusiveMinimum": 1, "exclusiveMaximum": 9 }))),
        ("z.number().positive()", number(json!({ "exclusiveMinimum": 0 }))),
        ("z.number().negative()", number(json!({ "exclusiveMaximum": 0 }))),
        ("z.number().nonnegative()", number(json!({ "minimum": 0 }))),
        ("z.number().multipleOf(0.5)", number(json!({ "multipleOf": 0.5 }))),
        ("z.number().int()", json!({ "type": "integer" })),
        ("z.number().int().positive()", json!({ "type": "integer", "exclusiveMinimum": 0 })),
        ("z.array(z.boolean()).min(1).max(2)", list(json!({ "minItems": 1, "maxItems": 2 }))),
        ("z.array(z.boolean()).length(2)", list(json!({ "minItems": 2, "maxItems": 2 }))),
        ("z.array(z.boolean()).nonempty()", list(json!({ "minItems": 1 }))),
        (
            "z.object({ n: z.number().positive().optional(), t: z.string().regex(/x/).describe('an x') })",
            json!({
                "type": "object",
                "properties": {
                    "n": { "type": "number", "exclusiveMinimum": 0 },
                    "t": { "type": "string", "pattern": "x", "description": "an x" },
                },
                "required": ["t"],
            }),
        ),
    ]
}

fn joined(mut one: Value, more: Value) -> Value {
    if let (Value::Object(one), Value::Object(more)) = (&mut one, more) {
        one.extend(more);
    }
    one
}

/// What each schema of the table is described as, by one generation of zod.
fn described(module: &str) -> Vec<Value> {
    let actions: String = table()
        .iter()
        .enumerate()
        .map(|(n, (schema, _))| {
            format!("a{n}: {{ block: handler({{ name: 'a', inputSchema: {schema}, execute: () => 1 }}) }},\n")
        })
        .collect();
    let source = format!(
        "import {{ defineFlow, handler }} from '@flow-state-dev/core';\nimport {{ z }} from '{module}';\n\
         export default defineFlow({{ kind: 'schemas', actions: {{\n{actions}}} }});\n"
    );
    let flows = Place::new().file("schemas.ts", &source).get("flows");
    flows[0]["actions"].as_array().expect("actions").iter().map(|action| action["inputSchema"].clone()).collect()
}

#[track_caller]
fn check(module: &str) {
    let found = described(module);
    let wrong: Vec<String> = table()
        .iter()
        .zip(&found)
        .filter(|((_, expected), found)| expected != *found)
        .map(|((schema, expected), found)| format!("{schema} is {found} instead of {expected}"))
        .collect();
    assert_eq!(found.len(), table().len());
    assert!(wrong.is_empty(), "{module}:\n{}", wrong.join("\n"));
}

#[test]
fn schemas_of_zod_3() {
    check("zod");
}

#[test]
fn schemas_of_zod_4() {
    check("zod/v4");
}
