//! Values come out of every door as they went in, at every size: doubles, and objects that look like marks of
//! the store or of the library that reads JSON.
//!
//! Texts are compared, not values: the tests read JSON with that very library.

use tests::bench::{Answer, Place};

/// Doubles that have gone wrong somewhere, and objects that could be taken for something else.
const FLOW: &str = r#"
const doubles = [-0, 1e20, 1e21, 1.7976931348623157e308, 5e-324, 9007199254740992, 2 ** 63, 2 ** 64, -(2 ** 63) - 2048, 0.1];
const marks = [
  { "$serde_json::private::Number": "12" }, { "$serde_json::private::RawValue": "[1]" }, { $payload: "x" }, { $parts: ["a"] },
  { $value: { $payload: "y" } }, { $value: 1, other: 2 },
];
const isSame = (a, b) => a.length === b.length && a.every((x, at) => Object.is(x, b[at]));
const all = (value) => isSame(value.doubles, doubles) && JSON.stringify(value.marks) === JSON.stringify(marks);
const door = (name, body) => ({ block: handler({ name, execute: body }) });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({}).passthrough() },
  actions: {
    everywhere: {
      block: sequencer({ name: "chain" })
        .step(handler({ name: "give", execute: (size) => ({ doubles, marks, wei: 1e20, pad: "x".repeat(size) }) }))
        .map((value) => ({ ...value, mapped: all(value) }))
        .step(handler({ name: "take", execute: async (value, ctx) => {
          await ctx.session.patchState({ kept: value, one: -0, two: 1e20 });
          await ctx.session.pushState("list", value);
          await ctx.session.setStateRecord("record", "key", value);
          await ctx.session.incState({ sum: 1e20 });
          await ctx.session.incState({ sum: 1e20 });
          ctx.emit.component("card", value);
          const once = await ctx.runOnce("once", () => value);
          const { kept, list, record, one, two, sum } = ctx.session.state;
          return { value, found: [value.mapped, all(value), all(once), all(kept), all(list[0]), all(record.key), Object.is(one, -0), two === 1e20, sum === 2e20] };
        } })),
    },
    later: door("later", (_, ctx) => all(ctx.session.state.kept)),
    echo: door("echo", (value) => value),
    zero: door("zero", (value) => Object.is(value, -0)),
    ask: door("ask", async (_, ctx) => ctx.suspend({ reason: "ask", data: { doubles, marks }, allow: ["submit"] })),
    model: { block: generator({ name: "model", model: "m", prompt: "?", outputSchema: z.any() }) },
  },
});
"#;

#[track_caller]
fn done(answer: &Answer) -> &str {
    assert_eq!(answer.code, Some(0), "{answer}");
    &answer.stdout
}

#[test]
fn every_value_comes_out_of_every_door_as_it_went_in() {
    for size in [0, 2_500, 20_000, 200_000] {
        let place = Place::with_flow(FLOW);
        let run = place.ask(&format!("run main everywhere --user u --session s --request r --input {size}"));
        let shown = done(&run);
        assert!(shown.contains(&format!("\"found\":[{}]", ["true"; 9].join(","))), "{size}: {shown}");
        let doubles = "[-0.0,1e20,1e21,1.7976931348623157e308,5e-324,9007199254740992,9223372036854776000,\
                       18446744073709552000,-9223372036854778000,0.1]";
        let marks = "[{\"$serde_json::private::Number\":\"12\"},{\"$serde_json::private::RawValue\":\"[1]\"},\
                     {\"$payload\":\"x\"},{\"$parts\":[\"a\"]},{\"$value\":{\"$payload\":\"y\"}},{\"$value\":1,\"other\":2}]";
        let whole = |text: &str| {
            // How a double is spelled is the printer's; what it is was compared by the flow.
            let plain = text.replace("e+", "e");
            assert!(plain.contains(marks), "{size}: {}", &plain[..plain.len().min(3_000)]);
            assert!(plain.contains("1.7976931348623157e308") && plain.contains("5e-324"), "{size}");
            assert!(plain.contains(doubles) || plain.contains("-9.223372036854778e18"), "{size}: no {doubles}");
        };
        for look in [
            "show r",
            "items --request r --view all",
            "events r",
            "state --session s",
            "diff r",
            "history r --path session.kept",
        ] {
            whole(done(&place.ask(look)));
        }
        for look in ["replay r", "check --data .flowglass/flowglass.db"] {
            done(&place.ask(look));
        }
        done(&place.ask("export --session s --out s.flowglass"));
        done(&place.ask("--data there.db import s.flowglass"));
        whole(done(&place.ask("--data there.db show r")));
        done(&place.ask("--data there.db check"));
        done(&place.ask("--data there.db replay r"));
        let later = place.ask("--data there.db run main later --user u --session s");
        assert!(done(&later).contains("\"output\":true"), "{size}: {later}");
        let retried = place.ask("retry r");
        assert!(done(&retried).contains("\"found\":[true"), "{retried}");
        let fork = place.ask("fork r --at root/step:take --set session.more={\"$payload\":\"z\"}");
        assert!(done(&fork).contains("\"found\":[true"), "{fork}");
    }
}

#[test]
fn inputs_answers_and_replies_of_models_do_so_too() {
    let place = Place::with_flow(FLOW);
    let pad = "y".repeat(20_000);
    for value in [
        "1e20",
        "1e21",
        "1.7976931348623157e308",
        "5e-324",
        "9007199254740992",
        "9223372036854775808",
        "18446744073709551616",
        "{\"$serde_json::private::Number\":\"12\"}",
        "{\"$serde_json::private::RawValue\":\"1\"}",
        "{\"$value\":{\"$payload\":\"x\"}}",
        "{\"$payload\":\"x\"}",
        "{\"$parts\":[]}",
    ] {
        for input in [value.to_owned(), format!("{{\"value\":{value},\"pad\":\"{pad}\"}}")] {
            place.write("input.json", &input);
            let ran = place.ask("run main echo --user u --request r --input @input.json");
            let shown = place.ask("show r");
            if value.starts_with('{') {
                assert!(done(&ran).contains(value) && done(&shown).contains(value), "{value}: {ran}");
            } else {
                let known: f64 = value.parse().expect("a number");
                let told = done(&ran).split("\"output\":").nth(1).expect("an output").trim_start_matches("{\"value\":");
                let end = told.find([',', '}']).expect("an end");
                assert_eq!(told[..end].parse::<f64>().expect("a number").to_bits(), known.to_bits(), "{ran}");
                done(&shown);
            }
            std::fs::remove_dir_all(place.dir().join(".flowglass")).expect("it is there");
        }
    }
    assert!(done(&place.ask("run main zero --user u --input -0")).contains("\"output\":true"));
    let asked = place.ask("run main ask --user u --request q");
    assert_eq!(asked.code, Some(4), "{asked}");
    assert!(asked.stdout.contains("{\"$serde_json::private::Number\":\"12\"}"), "{asked}");
    let answered = place.ask("resume q --submit {\"$serde_json::private::Number\":\"7\"}");
    assert!(done(&answered).contains("\"output\":{\"$serde_json::private::Number\":\"7\"}"), "{answered}");
    let reply = "{\"big\":1e20,\"mark\":{\"$serde_json::private::Number\":\"12\"}}";
    place.write("m.json", format!("{{\"models\":{{\"m\":[{{\"structuredOutput\":{reply}}}]}}}}"));
    let model = place.ask("run main model --user u --request g --mock=m.json");
    assert!(done(&model).contains("\"mark\":{\"$serde_json::private::Number\":\"12\"}"), "{model}");
    done(&place.ask("replay g"));
}

#[test]
fn an_integer_that_is_no_double_is_refused_with_its_place() {
    let place = Place::with_flow(FLOW);
    done(&place.ask("run main echo --user u --request r --input 1"));
    place.ask("run main ask --user u --request q");
    place.write("bad.json", "{\"models\":{\"m\":[\n{\"structuredOutput\":9007199254740993}]}}");
    for (line, told) in [
        ("run main echo --user u --input 9007199254740993", "at line 1 column 1"),
        ("run main echo --user u --input {\"wei\":[1,12345678901234567890]}", "at /wei/1 at line 1 column 11"),
        ("run main echo --user u --input -9223372036854775809", "at line 1 column 1"),
        ("run main echo --user u --input 1e400", "out of range"),
        ("fork r --at 2 --input {\"a\":18446744073709551617}", "at /a at line 1"),
        ("fork r --at root --output 9007199254740993", "--output: the integer 9007199254740993"),
        ("fork r --at root --set session.a=9007199254740993", "--set session.a: the integer"),
        ("resume q --submit 9007199254740993", "--submit: the integer"),
        ("run main model --user u --mock=bad.json", "at line 2 column 21"),
    ] {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(2), "{line}\n{answer}");
        assert!(answer.stderr.contains(told), "{line} does not say {told}\n{answer}");
        if !line.contains("1e400") {
            assert!(answer.stderr.contains("write it as a text (\""), "{line}\n{answer}");
        }
    }
}

/// What an object's `toJSON` gives is checked like the value itself: a token budget says that there is no limit by null.
#[test]
fn what_to_json_gives_is_checked() {
    let flow = r#"
const door = (name: string, body: any) => ({ block: handler({ name, inputSchema: z.any(), execute: body }) });
export default defineFlow({ kind: "main", actions: {
  plain: door("plain", () => ({ a: Infinity })),
  made: door("made", () => ({ it: { toJSON: () => ({ a: [1, Infinity] }) } })),
  own: door("own", () => ({ a: 1, toJSON() { return this; } })),
  usage: door("usage", (_: any, ctx: any) => [ctx.request.tokenUsage, ctx.request.tokenUsage.remaining === Infinity]),
} });
"#;
    let place = Place::with_flow(flow);
    for (action, at) in [("plain", "\"a\": Infinity"), ("made", "\"it.a[1]\": Infinity")] {
        let answer = place.run(&["run", "main", action, "--user", "u"]);
        assert_eq!(answer.code, Some(3), "{action}: {answer}");
        assert!(answer.to_string().contains(&format!("{at} is not a JSON number")), "{action}: {answer}");
    }
    assert_eq!(place.get("run main own --user u")["output"]["a"], 1);
    let usage = place.get("run main usage --user u")["output"].clone();
    assert!(usage[0]["remaining"].is_null() && usage[1] == true, "{usage}");
}
