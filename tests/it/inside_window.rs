//! The debugger inside a block, in the real window: a failed block opens at its `throw` with its local variables, keys
//! step forward and back, a line prints expressions, and a click on a hit moves the window.

use serde_json::json;
use tests::bench::Place;
use tests::sitting::open_with;
use tests::webdriver::{Settings, Window, hook, key};

const FLOW: &str = r#"
import { rateOf } from "../lib/rates";
const pay = handler({
  name: "pay",
  inputSchema: z.any(),
  execute: async (input, ctx) => {
    let sum = 0;
    for (const item of input.items) {
      sum += item.price;
    }
    await ctx.session.patchState({ sum });
    const rate = await rateOf(input.code);
    const label = "<b>" + sum + "</b>";
    if (rate > 1) throw new Error(`the rate is ${rate}`);
    return { sum, label };
  },
});
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ sum: z.number().default(0) }) },
  actions: { go: { block: sequencer({ name: "all", inputSchema: z.any() }).step(pay) } },
});
"#;

const RATES: &str = "export const rateOf = async (code: string) => {
  const found = { a: 1, b: 2 }[code];
  return found ?? 0;
};
";

/// Shift, which stays pressed for the following keys in the same element.
const SHIFT: char = '\u{e008}';
const F10: char = '\u{e03a}';
const F11: char = '\u{e03b}';

fn place() -> Place {
    let place = Place::with_flow(FLOW).file("lib/rates.ts", RATES);
    for (request, code) in [("good", "a"), ("bad", "b")] {
        let input = json!({ "code": code, "items": [{ "price": 2 }, { "price": 3 }, { "price": 4 }] });
        place.ask(&format!("run main go --user ada --request {request} --input {input}"));
    }
    place
}

/// The line of the statement in the loop.
fn line_of_sum(place: &Place) -> usize {
    let text = std::fs::read_to_string(place.dir().join("flows/main.ts")).expect("it is there");
    text.lines().position(|line| line.contains("sum += item.price;")).expect("a line") + 1
}

/// Waits until a statement is shown, and says the text of its line.
#[track_caller]
fn statement(window: &Window, tick: &str) -> String {
    window.wait_for(&format!("{}[data-tick=\"{tick}\"][data-busy=false]", hook("statement")));
    window.wait_for("[aria-current=step] [role=gridcell]:last-child")
}

#[track_caller]
fn locals(window: &Window) -> Vec<String> {
    window.texts(&hook("local"))
}

#[test]
fn a_failed_block_opens_where_it_threw_and_is_stepped_through() {
    let place = place();
    let window = open_with(Settings::default(), &place, &["--request", "bad", "--block", "root/step:pay"]);
    // The tab opens by itself, because the block failed.
    let line = window.wait_for("[aria-current=step]");
    assert!(line.contains("throw new Error"), "{line}");
    let last = window.attributes(&hook("statement"), "data-tick")[0].clone();
    assert_eq!(window.attributes(&hook("statement"), "data-ticks"), [last.as_str()]);
    window.wait_for_text(&hook("source-error"), "the rate is 2");
    let found = locals(&window);
    for wanted in ["sum 9", "rate 2", "label \"<b>9</b>\""] {
        assert!(found.iter().any(|one| one == wanted), "{wanted}: {found:?}");
    }
    // Hit counts of lines.
    window.wait_for_text(&format!("[data-line=\"{}\"] [data-hits]", line_of_sum(&place)), "3");

    let before = last.parse::<u64>().expect("a number") - 1;
    window.press(&hook("source-lines"), format!("{SHIFT}{F10}"));
    assert!(statement(&window, &before.to_string()).starts_with("if (rate > 1)"));
    // The whole window shows this instant.
    let shown = window.wait_for(&hook("statement-seq"));
    let seq = shown.trim_start_matches('#');
    window.until_script(&format!("return new URLSearchParams(location.hash.slice(1)).get('seq') === '{seq}'"));
    window.press(&hook("source-lines"), F10);
    statement(&window, &last);
    // Back into the helper, whose file is shown.
    for _ in 0..3 {
        window.press(&hook("source-lines"), format!("{SHIFT}{F11}"));
    }
    assert_eq!(statement(&window, &(before - 2).to_string()), "return found ?? 0;found 2");
    window.wait_for_text(&hook("source-file"), "lib/rates.ts");
    assert_eq!(window.texts(&hook("stack-frame")).len(), 2);
    assert_eq!(window.violations(), Vec::<String>::new());
}

#[test]
fn a_line_prints_its_expressions_and_a_hit_moves_the_window() {
    let place = place();
    let window = open_with(Settings::default(), &place, &["--request", "bad", "--block", "root/step:pay"]);
    window.wait_for("[aria-current=step]");
    window.click(&format!("[data-line=\"{}\"] [data-margin]", line_of_sum(&place)));
    window.press(&hook("print-input"), format!("sum, item.price{}", key::ENTER));
    let hits = window.wait(&hook("print-hit"), |found| (found.len() == 3).then(|| found.to_vec()));
    for (hit, values) in hits.iter().zip(["0, 2", "2, 3", "5, 4"]) {
        assert!(hit.contains(values), "{hits:?}");
    }
    assert_eq!(window.violations(), Vec::<String>::new());
    let tick = window.attributes(&hook("print-hit"), "data-tick")[1].clone();
    let seq = window.attributes(&hook("print-hit"), "data-seq")[1].clone();
    window.click(&format!("{}[data-tick=\"{tick}\"] button", hook("print-hit")));
    assert!(statement(&window, &tick).starts_with("sum += item.price;"));
    window.until_script(&format!("return new URLSearchParams(location.hash.slice(1)).get('seq') === '{seq}'"));
    assert!(locals(&window).iter().any(|one| one.ends_with("sum 2")), "{:?}", locals(&window));
    // A hit of another request opens it there.
    window.click("[data-testid=print] [data-choice=flow]");
    window.wait(&hook("print-hit"), |found| (found.len() == 6).then_some(()));
    window.script(
        "[...document.querySelectorAll('[data-testid=print-hit]')].find((hit) => hit.textContent.includes('good'))
          .querySelector('button').click()",
        &[],
    );
    window.until_script("return new URLSearchParams(location.hash.slice(1)).get('request') === 'good'");
    assert!(statement(&window, &tick_of_first(&window)).starts_with("sum += item.price;"));
    // A syntax error is explained at the field.
    window.press(&hook("print-input"), format!(".({}", key::ENTER));
    window.wait_for_text(&hook("print-fault"), "column");
    window.press(&hook("print-input"), key::ESCAPE);
    window.wait_for_none(&hook("print"));
}

/// The statement of the hit that is shown.
#[track_caller]
fn tick_of_first(window: &Window) -> String {
    window.wait_for(&format!("{} [aria-current=true]", hook("print-hit")));
    window.attributes(&hook("statement"), "data-tick")[0].clone()
}

#[test]
fn stepping_into_a_chain_offers_the_handler_inside() {
    let place = place();
    let window = open_with(Settings::default(), &place, &["--request", "good", "--block", "root"]);
    window.click(&hook("block-tab-source"));
    window.wait_for("[data-hits]");
    window.click(&hook("step-into"));
    window.wait_for_text(&hook("step-fault"), "root/step:pay");
    window.click(&hook("step-enter"));
    window.wait_for_text(&hook("block-path"), "root/step:pay");
    window.click(&hook("step-into"));
    assert!(statement(&window, "1").starts_with("let sum = 0;"));
}
