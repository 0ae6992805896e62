//! Schemas as a form and a model are told of them: zod 3 and zod 4 say the same in JSON Schema.

use serde_json::{Value, json};
use tests::bench::Place;

/// Each field as zod writes it, and what it comes to.
fn fields() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("positive", "z.number().positive()", json!({ "type": "number", "exclusiveMinimum": 0 })),
        ("negative", "z.number().negative()", json!({ "type": "number", "exclusiveMaximum": 0 })),
        ("natural", "z.number().int().nonnegative()", json!({ "type": "integer", "minimum": 0 })),
        ("whole", "z.number().int()", json!({ "type": "integer" })),
        ("open", "z.number().gt(1).lt(5)", json!({ "type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 5 })),
        ("closed", "z.number().gte(1).lte(5.5)", json!({ "type": "number", "minimum": 1, "maximum": 5.5 })),
        ("steps", "z.number().multipleOf(0.5)", json!({ "type": "number", "multipleOf": 0.5 })),
        ("exact", "z.string().length(4)", json!({ "type": "string", "minLength": 4, "maxLength": 4 })),
        ("ranged", "z.string().min(1).max(9)", json!({ "type": "string", "minLength": 1, "maxLength": 9 })),
        ("pattern", "z.string().regex(/^[a-z]+$/)", json!({ "type": "string", "pattern": "^[a-z]+$" })),
        ("email", "z.string().email()", json!({ "type": "string", "format": "email" })),
        (
            "pair",
            "z.array(z.string()).length(2)",
            json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 }),
        ),
        (
            "some",
            "z.array(z.boolean()).min(1)",
            json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 1 }),
        ),
    ]
}

#[test]
fn both_generations_of_zod_are_described_alike() {
    for zod in ["zod", "zod/v4"] {
        let shape: Vec<String> = fields().iter().map(|(name, schema, _)| format!("{name}: {schema}")).collect();
        let source = format!(
            "import {{ defineFlow, handler }} from \"@flow-state-dev/core\";\nimport {{ z }} from \"{zod}\";\n\
             export default defineFlow({{ kind: \"k\", actions: {{ a: {{ block: handler({{ name: \"h\", execute: () => 1, \
             inputSchema: z.object({{ {} }}) }}) }} }} }});\n",
            shape.join(", ")
        );
        let flows = Place::new().file("flows/k.ts", &source).run(&["flows", "--json"]).json();
        let described = &flows[0]["actions"][0]["inputSchema"]["properties"];
        for (name, schema, expected) in fields() {
            assert_eq!(described[name], expected, "{zod}: {schema}\n{flows:#}");
        }
    }
}
