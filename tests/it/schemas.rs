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

/// Schemas of one field, and values that fit some of them and not others.
const SHAPES: &str = "[
  z.any(), z.unknown(), z.null(), z.number(), z.string(), z.boolean(), z.number().int(), z.number().min(2), z.string().min(2),
  z.string().email(), z.string().trim(), z.coerce.number(), z.number().optional(), z.number().nullable(), z.number().default(3),
  z.string().catch('c'), z.literal('a'), z.literal(1), z.enum(['a', 'b']), z.array(z.number()), z.array(z.number()).min(1),
  z.array(z.object({ a: z.number() })), z.record(z.string(), z.number()), z.record(z.string(), z.array(z.string())),
  z.union([z.number(), z.string()]), z.union([z.literal('a'), z.object({ a: z.number() })]), z.object({}),
  z.object({ a: z.number() }), z.object({ a: z.number().optional() }), z.object({ a: z.number() }).strict(),
  z.object({ a: z.number() }).passthrough(), z.object({ a: z.any() }), z.object({ a: z.string().default('x') }),
  z.number().refine((n) => n % 2 === 0), z.object({ a: z.number() }).refine((o) => o.a > 1), z.string().transform((s) => s.length),
  z.custom((value) => value === 1), z.instanceof(Array),
  z.number().readonly(), z.number().brand(), z.lazy(() => z.number()), z.tuple([z.number(), z.string()]), z.date(), z.bigint(),
  z.nativeEnum({ One: 1, Two: 2, 1: 'One', 2: 'Two' }), z.nativeEnum({ A: 'a', B: 'b' }), z.number().nullable().optional(),
  z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b'), n: z.number() })]),
]";

/// A field whose schema is nothing but a shape is checked without asking zod: that must never show.
#[track_caller]
fn writes_are_let_through_as_schemas_say(module: &str) {
    let source = format!(
        "import {{ defineFlow, handler }} from '@flow-state-dev/core';\nimport {{ z }} from '{module}';
const shapes: any[] = {SHAPES};
const values: any[] = [null, 0, 1, 2, -1.5, 1e21, '', 'a', 'b', 'One', 'long text', 'x@y.example', true, [], [1], [1, 'x'], ['s'], [null],
  {{}}, {{ a: 1 }}, {{ a: 'x' }}, {{ a: null }}, {{ a: 2, more: 1 }}, {{ a: ['s'] }}, {{ k: 'a' }}, {{ k: 'b', n: 1 }}, {{ k: 'b' }}, [{{ a: 1 }}], [{{ a: 'x' }}, 1], {{ constructor: 1 }}];
const compare = handler({{ name: 'compare', execute: async (_input, ctx: any) => {{
  const wrong: string[] = [];
  for (const [at, shape] of shapes.entries()) for (const value of values) {{
    const expected = shape.safeParse(value).success;
    const given = {{ [`f${{at}}`]: value }};
    const written = await ctx.session.patchState(given).then(() => true, () => false);
    if (written !== expected) wrong.push(`${{at}}: ${{JSON.stringify(value)}} ${{expected ? 'was refused' : 'was let through'}}`);
  }}
  return wrong;
}} }});
const stateSchema = z.object(Object.fromEntries(shapes.map((shape, at) => [`f${{at}}`, shape])) as any);
export default defineFlow({{ kind: 'shapes', session: {{ stateSchema }} as any, actions: {{ go: {{ block: compare }} }} }});
"
    );
    let told = Place::new().file("shapes.ts", &source).get("run shapes go --user ada --session talk");
    assert_eq!(told["output"], serde_json::json!([]), "{module}");
}

#[test]
fn a_write_is_let_through_exactly_where_its_schema_lets_it_through() {
    writes_are_let_through_as_schemas_say("zod");
    writes_are_let_through_as_schemas_say("zod/v4");
}

/// A package that says that it is written for zod 4 loads without an installation; the same file is of zod 3 elsewhere.
#[test]
fn a_package_that_depends_on_zod_4_gets_it() {
    let flow = r#"import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";
const mail = handler({ name: "mail", inputSchema: z.object({ to: z.email({ error: "An address, please" }) }), execute: async () => 1 });
export default defineFlow({ kind: "mail", actions: { go: { block: mail } } });
"#;
    let place = Place::new().file("flows/mail.ts", flow);
    let three = place.ask("check");
    assert!(three.stdout.contains("z.email is not a function"), "{three}");
    place.write("package.json", r#"{ "dependencies": { "zod": "^4.1.0" } }"#);
    place.write("flows/mail.ts", format!("{flow}// Saved again.\n"));
    place.get("check");
    let refused = place.ask(r#"run mail go --user ada --input {"to":"ada"}"#);
    assert!(refused.stderr.contains("An address, please"), "{refused}");
    place.write("package.json", r#"{ "dependencies": { "zod": "^3.25.0" } }"#);
    let again = place.ask("check");
    assert!(again.stdout.contains("z.email is not a function"), "the package's file is one of its files: {again}");
}
