//! Which statement of a failed block threw: `step` opens the block there, with the locals of that statement.

use serde_json::Value;
use tests::bench::Place;

const FLOW: &str = r#"function clean() {
  try {
    throw new Error("cleaned");
  } catch {
    return 1;
  }
}
function problem(n: number) {
  return new RangeError("problem " + n);
}
class Money {
  constructor(readonly eur: number) {
    const sign = Math.sign(eur);
    if (sign < 0) throw new RangeError("negative");
  }
  get cents(): number {
    const times = 100;
    return (null as any).x * times;
  }
}
const wait = (turns: number): Promise<void> => (turns ? Promise.resolve().then(() => wait(turns - 1)) : Promise.resolve());
const kinds: Record<string, (n: number) => unknown> = {
  early: (n) => {
    const made = new Error("made early");
    const later = n * 2;
    try {
      throw made;
    } finally {
      clean();
    }
  },
  helper: (n) => {
    const bad = n + 1;
    try {
      if (bad) throw problem(bad);
    } finally {
      clean();
    }
  },
  parse: (n) => {
    const text = "{" + n;
    try {
      return JSON.parse(text);
    } finally {
      clean();
    }
  },
  again: (n) => {
    try {
      throw problem(n);
    } catch (error) {
      const seen = String(error);
      throw error;
    }
  },
  side: async (n) => {
    const turns = [1, 2, 3];
    return Promise.all(turns.map(async (turn) => {
      await wait(turn);
      if (turn === n) throw new Error("turn " + turn);
      await wait(turn);
      return turn;
    }));
  },
  reads: async () => {
    const rows: any[] = [{ a: 1 }, null, { a: 3 }];
    return Promise.all(rows.map(async (row, at) => {
      await wait(at);
      const read = row.a;
      await wait(1);
      return read;
    }));
  },
  made: (n) => new Money(-n),
  getter: (n) => {
    const money = new Money(n);
    return money.cents;
  },
  head: (n) => {
    let turn = 0;
    while (turn < n || (null as any).x) turn++;
    return turn;
  },
  stream: (n) => {
    function* numbers() { yield n; const last = n; throw new Error("after " + last); }
    return [...numbers()];
  },
};
const run = handler({ name: "run", inputSchema: z.any(), outputSchema: z.any(), execute: ({ kind, n }) => kinds[kind](n) });
const wrong = handler({ name: "wrong", inputSchema: z.any(), outputSchema: z.string(), execute: () => {
  const made = 1;
  return made as unknown as string;
} });
export default defineFlow({ kind: "f", actions: {
  go: { inputSchema: z.any(), block: run },
  wrong: { inputSchema: z.any(), block: wrong },
} });
"#;

/// What fails, how its line begins, and a local there with its preview.
const THROWN: [(&str, &str, &str, &str); 10] = [
    ("early", "throw made;", "later", "4"),
    ("helper", "if (bad) throw problem", "bad", "3"),
    ("parse", "return JSON.parse", "text", "\"{2\""),
    ("again", "throw error;", "seen", "\"RangeError: problem 2\""),
    ("side", "if (turn === n) throw", "turn", "2"),
    ("reads", "const read = row.a", "at", "1"),
    ("made", "if (sign < 0) throw", "sign", "-1"),
    ("getter", "return (null as any).x", "times", "100"),
    ("head", "while (turn < n", "turn", "2"),
    ("stream", "function* numbers", "last", "2"),
];

#[test]
fn a_failed_block_opens_at_its_throw() {
    let place = Place::with_flow(FLOW);
    for (kind, begins, local, preview) in THROWN {
        let ran = place.ask(&format!("run f go --user ada --request {kind} --input {{\"kind\":\"{kind}\",\"n\":2}}"));
        assert_eq!(ran.code, Some(3), "{kind}: {ran}");
        let thrown = place.get(&format!("step {kind} --at root"));
        let line = FLOW.lines().position(|line| line.trim_start().starts_with(begins)).map(|at| at as u64 + 3);
        assert_eq!(thrown["line"].as_u64(), line, "{kind}: {thrown}");
        let found = thrown["locals"].as_array().into_iter().flatten().find(|found| found["name"] == local);
        assert_eq!(found.map(|found| &found["value"]["preview"]), Some(&preview.into()), "{kind}: {thrown}");
        assert!(thrown["error"]["message"].is_string(), "{kind}: {thrown}");
    }
}

/// The output is checked when the function has returned: no statement of it threw.
#[test]
fn a_block_that_failed_after_its_statements_says_how() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run f wrong --user ada --request r").code, Some(3));
    let opened = place.get("step r --at root");
    assert_eq!((&opened["tick"], &opened["error"]), (&1.into(), &Value::Null), "{opened}");
    let note = opened["note"].as_str().unwrap_or_default();
    assert!(note.starts_with("none of its statements is known to have thrown, but the block failed: "), "{note}");
    assert_eq!(place.get("step r --at root#0+1")["note"], Value::Null);
}

/// At the end of a recursion without an end no expression has room to run.
#[test]
fn values_that_cannot_be_taken_are_not_left_out_silently() {
    let place = Place::with_flow(
        r#"const deep = handler({ name: "deep", inputSchema: z.any(), outputSchema: z.any(), execute: () => {
  const down = (n: number): number => {
    const next = n + 1;
    return down(next);
  };
  return down(0);
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: deep } } });
"#,
    );
    assert_eq!(place.ask("run f go --user ada --request r").code, Some(3));
    let opened = place.get("step r --at root");
    let has_locals = opened["locals"].as_array().is_some_and(|locals| !locals.is_empty());
    let said = opened["note"].as_str().is_some_and(|note| note.contains("no values can be taken here"));
    assert!(has_locals || said, "{opened}");
}

/// A block's name may end like the number of an attempt, or of a statement.
#[test]
fn a_block_is_found_whatever_its_name_ends_in() {
    let place = Place::with_flow(
        r#"const named = (name: string) => handler({ name, inputSchema: z.any(), outputSchema: z.any(), execute: () => {
  const own = name;
  return own;
} });
export default defineFlow({ kind: "f", actions: { go: {
  inputSchema: z.any(), block: sequencer({ name: "s", inputSchema: z.any() }).step(named("a+1")).step(named("b#2")) } } });
"#,
    );
    place.get("run f go --user ada --request r");
    let at = |at: &str| place.get(&format!("step r --at {at}"))["instant"].clone();
    assert_eq!(at("root/step:a+1"), "root/step:a+1#0+1");
    assert_eq!(at("root/step:a+1#0+2"), "root/step:a+1#0+2");
    assert_eq!(at("root/step:a+1+2"), "root/step:a+1#0+2");
    assert_eq!(at("root/step:b#2"), "root/step:b#2#0+1");
    assert_eq!(at("root/step:b#2+2"), "root/step:b#2#0+2");
    assert_eq!(at("r@root/step:b#2#0+2"), "root/step:b#2#0+2");
    let missing = place.ask("step r --at root/step:c+1");
    assert_eq!(missing.code, Some(6), "{missing}");
}
