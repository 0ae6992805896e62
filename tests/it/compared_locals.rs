//! The first statement at which the locals of two executions of a block differ: of two runs, of a fork and its parent,
//! and of a recorded run and what the code of today does.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"const rate = (amount: number) => {
  const percent = amount > 100 ? 10 : 5;
  return (amount * percent) / 100;
};
const price = handler({ name: "price", inputSchema: z.any(), outputSchema: z.any(), execute: async (input, ctx) => {
  const amount = ctx.session.state.amount;
  const off = rate(amount);
  if (off > 5) {
    return { off, large: true };
  }
  return { off };
} });
const start = handler({ name: "start", inputSchema: z.any(), outputSchema: z.any(), execute: async (input, ctx) => {
  await ctx.session.patchState({ amount: input.amount });
  return { name: "tea" };
} });
export default defineFlow({
  kind: "f",
  session: { stateSchema: z.object({ amount: z.number().default(0) }) },
  actions: { go: { inputSchema: z.any(), block: sequencer({ name: "s", inputSchema: z.any() }).step(start).step(price) } },
});
"#;

fn place() -> Place {
    let place = Place::with_flow(FLOW);
    for (request, amount) in [("small", 50), ("same", 50), ("large", 200)] {
        let input = json!({ "amount": amount }).to_string();
        place.run(&["run", "f", "go", "--user", "ada", "--request", request, "--input", &input]);
    }
    place
}

/// The line on which a text begins; the usual imports are two lines.
#[track_caller]
fn line(text: &str) -> usize {
    FLOW.lines().position(|line| line.trim_start().starts_with(text)).expect("it is there") + 3
}

/// The names of the locals that differ, with the previews of both values.
fn locals(compared: &Value) -> Value {
    let preview = |value: &Value| value["preview"].clone();
    let all = compared["locals"].as_array().into_iter().flatten();
    all.map(|local| json!([local["name"], preview(&local["old"]), preview(&local["new"])])).collect()
}

#[test]
fn two_runs_differ_where_a_local_first_does() {
    let place = place();
    let found = place.get("diff small --with large --locals root/step:price");
    // What the block reads is before its first statement the same.
    assert_eq!(locals(&found), json!([["amount", "50", "200"]]), "{found}");
    assert_eq!((found["left"]["line"].clone(), found["equal"].clone()), (json!(line("const off")), json!(1)));
    assert_eq!(found["right"]["instant"], json!("root/step:price#0+2"));
    // The instants can be stepped to.
    let there = place.get("step large --at root/step:price#0+2");
    assert_eq!(there["line"], found["right"]["line"]);
    assert_eq!(there["seq"], found["right"]["seq"]);
    let same = place.get("diff small --with same --locals root/step:price");
    assert_eq!(
        (same["locals"].clone(), same.get("left"), same["equal"].clone()),
        (json!([]), None, json!(6)),
        "{same}"
    );
    let text = place.run(&["diff", "small", "--with", "large", "--locals", "root/step:price"]);
    assert!(text.stdout.contains("amount  50 → 200"), "{text}");
}

#[test]
fn a_fork_differs_from_its_parent_where_its_edit_is_first_seen() {
    let place = place();
    let forked = place.ask("fork small --at root/step:start --set session.amount=300");
    assert_eq!(forked.code, Some(0), "{forked}");
    let id = forked.json()["requestId"].as_str().expect("an id").to_owned();
    let found = place.get(&format!("diff small --with {id} --locals root/step:price"));
    assert_eq!(locals(&found), json!([["amount", "50", "300"]]), "{found}");
}

#[test]
fn the_code_of_today_differs_where_its_values_first_do() {
    let place = place();
    let same = place.get("diff small --locals root/step:price");
    assert_eq!((same["locals"].clone(), same.get("left")), (json!([]), None), "{same}");
    place.edit(&format!("// a line more\n{}", FLOW.replace(": 5;", ": 7;")));
    let found = place.get("diff small --locals root/step:price");
    // The statement itself was changed.
    assert_eq!(found["locals"], json!([]), "{found}");
    assert_eq!(found["left"]["line"], json!(line("const percent")));
    assert_eq!(found["right"]["line"], json!(line("const percent") + 1));
    assert_eq!(found["right"].get("instant"), None, "nothing of a replay can be opened");
    // Where only a value is another, lines that moved do not matter.
    place.edit(&format!(
        "// a line more\n{}",
        FLOW.replace("state.amount;", "state.amount; // as read")
            .replace("patchState({ amount: input.amount })", "patchState({ amount: input.amount + 1 })",)
    ));
    let found = place.get("diff small --locals root/step:price");
    assert_eq!(locals(&found), json!([["amount", "50", "51"]]), "{found}");
}

#[test]
fn what_has_no_such_block_is_refused() {
    let place = place();
    assert_eq!(place.ask("diff small --with large --locals root/step:gone").code, Some(6));
    assert_eq!(place.ask("diff small --with large --locals root/step:price --from 1").code, Some(2));
}
