//! A law: what `print` says of a past run is what the same flow would have said if the expression had stood in its
//! source when it ran.

use serde_json::{Value, json};
use tests::bench::Place;

/// A flow with a mark before many statements of many kinds.
const FLOW: &str = r#"
type Item = { name: string; price: number };
enum Size { Small = 1, Large = 10 }
class Cart {
  items: Item[] = [];
  add(item: Item): this {
    /*@*/ this.items.push(item);
    /*@*/ return this;
  }
  get total(): number {
    /*@*/ return this.items.reduce((acc, item) => acc + item.price, 0);
  }
  static of(...items: Item[]): Cart {
    const cart = new Cart();
    /*@*/ for (const item of items) cart.add(item);
    /*@*/ return cart;
  }
}
function fold(n: number, acc: number[] = []): number[] {
  /*@*/ if (n <= 0) return acc;
  /*@*/ acc.push(n);
  /*@*/ return fold(n - 2, acc);
}
function* pairs(n: number) {
  for (let i = 0; i < n; i++) {
    try {
      /*@*/ yield [i, i * i] as const;
    } finally {
      /*@*/ n += 0;
    }
  }
}
async function slow(n: number) {
  /*@*/ await null;
  const { a, ...rest } = { a: n, b: n + 1, c: [n] };
  /*@*/ await Promise.resolve(a);
  /*@*/ return rest.b;
}
const deep = handler({ name: "deep", inputSchema: z.number(), outputSchema: z.any(), execute: async (input) => {
  const acc: number[] = [];
  /*@*/ const cart = Cart.of({ name: "tea", price: input }, { name: "cup", price: Size.Large });
  outer: for (let i = 0; i < 4; i++) {
    /*@*/ switch (i % 3) {
      case 0: {
        const item = i * 2;
        /*@*/ acc.push(item);
        break;
      }
      case 1:
        /*@*/ continue outer;
      default:
        /*@*/ acc.push(...fold(i));
    }
  }
  /*@*/ for (const [i, n] of pairs(3)) {
    /*@*/ acc.push(i + n);
  }
  let n = 3;
  do {
    /*@*/ n--;
  } while (n > 0);
  try {
    /*@*/ if (acc.length > 100) throw new Error("long");
    /*@*/ (null as unknown as { x: number }).x;
  } catch (error) {
    /*@*/ acc.push((error as Error).message.length);
  } finally {
    /*@*/ acc.reverse();
  }
  const made = [1, 2, 3].map((item) => {
    /*@*/ const twice = item * 2;
    /*@*/ return () => twice + item;
  });
  /*@*/ const all = await Promise.all([slow(1), slow(2), slow(3)]);
  const [first, ...others] = all;
  /*@*/ return { total: cart.total, acc, first, others, made: made.map((one) => one()) };
} });
export default defineFlow({ kind: "law", actions: { go: { inputSchema: z.number(), block: deep } } });
"#;

/// What is asked at each mark; not every name is in scope everywhere.
const EXPRESSIONS: [&str; 20] = [
    "n",
    "i",
    "acc",
    "item",
    "cart",
    "input",
    "all",
    "first",
    "others",
    "twice",
    "rest",
    "typeof this",
    "Size.Large",
    "acc.length + 1",
    "[i, n]",
    "item.name + '!'",
    "cart.items.map((item) => item.price)",
    "fold(3)",
    "a ?? 'none'",
    "error.message",
];

/// How the flow would say it itself.
const SEEN: &str = r#"
const seen: unknown[] = [];
let isLooking = false;
const look = (mark: number, all: (() => unknown)[]) => {
  // An expression may call what looks, too.
  if (isLooking) return;
  isLooking = true;
  seen.push([mark, all.map((one) => { try { return { json: JSON.stringify(one()) ?? null }; } catch (error) { return { error: (error as Error).name }; } })]);
  isLooking = false;
};
"#;

#[test]
fn what_is_printed_is_what_the_source_would_have_said() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run law go --user ada --request asked --input 7").code, Some(0));
    let marks: Vec<(usize, usize)> = FLOW
        .lines()
        .enumerate()
        // The usual imports are two lines.
        .filter_map(|(line, text)| Some((line + 3, text.find("/*@*/")? + "/*@*/ ".len() + 1)))
        .collect();
    // Written into the source, and run.
    let mut written = FLOW.to_owned();
    for mark in 0..marks.len() {
        let thunks: Vec<String> = EXPRESSIONS.iter().map(|text| format!("() => ({text})")).collect();
        written = written.replacen("/*@*/", &format!("look({mark}, [{}]);", thunks.join(", ")), 1);
    }
    let written = written.replace("return { total:", "return { seen, total:");
    let other = Place::with_flow(&format!("{SEEN}{written}"));
    let ran = other.ask("run law go --user ada --request told --input 7").json();
    let mut said: Vec<Vec<Value>> = vec![Vec::new(); marks.len()];
    for seen in ran["output"]["seen"].as_array().expect("what it saw") {
        said[seen[0].as_u64().expect("a mark") as usize].push(seen[1].clone());
    }
    let mut compared = 0;
    for (mark, (line, column)) in marks.iter().enumerate() {
        let place_of = format!("flows/main.ts:{line}:{column}");
        let answer = place.run(&[&["--json", "print", place_of.as_str()], &EXPRESSIONS[..]].concat()).json();
        let hits = answer["hits"].as_array().expect("hits");
        assert_eq!(answer["notAsked"], json!([]), "mark {mark}");
        assert_eq!(hits.len(), said[mark].len(), "how often mark {mark} ({place_of}) is reached");
        for (hit, told) in hits.iter().zip(&said[mark]) {
            for (at, expression) in EXPRESSIONS.iter().enumerate() {
                let (found, told) = (&hit["values"][at], &told[at]);
                compared += 1;
                match (found.get("json"), told["json"].as_str()) {
                    (Some(found), Some(told)) => {
                        assert_eq!(
                            *found,
                            serde_json::from_str::<Value>(told).expect("JSON"),
                            "{expression} at {place_of}"
                        );
                    }
                    (_, None) if told.get("error").is_some() => {
                        assert_eq!(found["error"]["name"], told["error"], "{expression} at {place_of}: {found}");
                    }
                    // What is no JSON of its own: an instance, a function, nothing.
                    (None, _) => assert!(found.get("kind").is_some(), "{expression} at {place_of}: {found}, {told}"),
                    (Some(_), None) => panic!("{expression} at {place_of}: {found}, {told}"),
                }
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}
