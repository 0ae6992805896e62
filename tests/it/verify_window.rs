//! Recorded runs as tests, in the real window: the Verify page says which differ and in what, accepting makes them the
//! same, a save shows beside its flow what differs, and what waits says whether it could be resumed.

use tests::bench::{Place, repository};
use tests::sitting::open_with;
use tests::webdriver::{Settings, Window, hook, key};

const CART: &str = r#"
import { tax } from "../lib/tax";
const items = z.array(z.object({ name: z.string(), price: z.number() }));
const sum = handler({ name: "sum", inputSchema: items, outputSchema: z.any(), execute: async (input, ctx) => {
  let total = 0;
  for (const item of input) total += item.price;
  await ctx.session.patchState({ total });
  return { total, lines: input.map((item) => item.name) };
} });
const withTax = handler({ name: "tax", inputSchema: z.any(), outputSchema: z.any(), execute: (input) =>
  ({ ...input, total: input.total + tax(input.total) }) });
const ask = handler({ name: "ask", inputSchema: z.any(), outputSchema: z.any(), execute: async (input, ctx) =>
  ctx.suspend({ reason: "approval", message: "Ship it?", allow: ["approve", "reject"] }) });
const chain = (name) => sequencer({ name, inputSchema: items }).step(sum).step(withTax);
export default defineFlow({
  kind: "cart",
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  actions: { pay: { inputSchema: items, block: chain("pay") }, ship: { inputSchema: items, block: chain("ship").step(ask) } },
});
"#;

const THANK: &str = r#"import { defineFlow, generator, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const words = generator({ name: "words", model: "openai/gpt-5-mini", inputSchema: z.any(), outputSchema: z.object({ text: z.string() }),
  prompt: "Thank the customer in one sentence.", user: (input) => `They are ${input.name}` });
export default defineFlow({ kind: "thank", actions: { say: { block: sequencer({ name: "say", inputSchema: z.any() }).step(words) } } });
"#;

const MOCK: &str = r#"{ "generators": { "words": [{ "structuredOutput": { "text": "Thank you." } }] } }"#;

const TAX: &str = "export const tax = (sum: number) => Math.round(sum * 0.19 * 100) / 100;\n";

/// Three runs of `cart.pay`, one of `thank.say`.
fn place() -> Place {
    let place = Place::with_flow(CART).file("lib/tax.ts", TAX);
    for (request, price) in [("pay-1", 100), ("pay-2", 200), ("pay-3", 300)] {
        let input = format!("[{{\"name\":\"tea\",\"price\":{price}}}]");
        place.ask(&format!("run cart pay --user ada --request {request} --input {input}"));
    }
    place.write("flows/thank.ts", THANK);
    place.write("flows/thank.mock.json", MOCK);
    let said = place.ask("run thank say --mock --user ada --request said --input {\"name\":\"Ada\"}");
    assert_eq!(said.code, Some(0), "{said}");
    place
}

/// The tax rises: each payment differs in its total.
fn raise_tax(place: &Place) {
    place.write("lib/tax.ts", TAX.replace("0.19", "0.2"));
}

fn open(place: &Place, more: &[&str]) -> Window {
    open_with(Settings::default(), place, more)
}

#[track_caller]
fn count(window: &Window, verdict: &str) -> String {
    window.wait_for(&hook(&format!("verify-count-{verdict}")))
}

/// Waits until nothing is being verified.
#[track_caller]
fn until_verified(window: &Window) {
    window.wait_for(&format!("{}[data-busy=false]", hook("verify-head")));
}

#[track_caller]
fn until_count(window: &Window, verdict: &str, wanted: &str) {
    window.wait(&hook(&format!("verify-count-{verdict}")), |texts| (texts == [wanted]).then_some(()));
}

#[test]
fn what_differs_is_grouped_shown_beside_the_old_and_accepted() {
    let place = place();
    raise_tax(&place);
    place.write("flows/thank.ts", THANK.replace("Thank the customer", "Please thank the customer"));
    let window = open(&place, &[]);
    window.wait_for(&hook("flow-cart"));
    window.palette("Verify recorded runs");
    window.wait_for(&hook("verify-group"));
    until_verified(&window);
    let counts = ["differs", "asks_new", "does_not_load", "not_comparable", "same", "unaffected"];
    assert_eq!(counts.map(|verdict| count(&window, verdict)), ["3", "1", "0", "0", "0", "0"]);
    // The command line says the same.
    let told = place.ask("verify").json();
    assert_eq!([&told["differs"], &told["asksNew"]], [3, 1], "{told}");

    // The largest group comes first, and is the one that is shown.
    let groups = window.texts(&hook("verify-group"));
    assert_eq!(groups.len(), 2, "{groups:?}");
    assert!(groups[0].contains("tax › output") && groups[0].contains("root/step:tax"), "{groups:?}");
    assert_eq!(window.texts(&hook("verify-group-count")), ["3", "1"]);
    assert_eq!(window.attributes(&hook("verify-run-row"), "data-run"), ["pay-3", "pay-2", "pay-1"]);
    window.wait_for_text(&hook("verify-place"), "output.total");
    window.wait_for_text(&hook("verify-recorded"), "357");
    window.wait_for_text(&hook("verify-found"), "360");
    assert_eq!(window.violations(), Vec::<String>::new());

    // Another run of the group, by keys.
    window.press("[role=listbox][aria-label=\"Runs of this group\"]", key::DOWN);
    window.wait_for_text(&hook("verify-recorded"), "238");
    window.wait_for_text(&hook("verify-found"), "240");
    // What asks something new cannot be accepted, and says why.
    window.press("[role=listbox][aria-label=\"First differences\"]", key::DOWN);
    window.wait_for_text(&hook("accept-refused"), "was not recorded");
    assert_eq!(window.attributes(&hook("accept-run"), "disabled").len(), 1);
    window.wait_for_none(&hook("accept-group"));
    window.press("[role=listbox][aria-label=\"First differences\"]", key::UP);

    // One is accepted: it asks first, and nothing is written before.
    window.click(&format!("{}[data-run=pay-3]", hook("verify-run-row")));
    window.click(&hook("accept-run"));
    window.wait_for_text(&hook("accept-sheet"), "1 run");
    assert_eq!(window.violations(), Vec::<String>::new());
    assert_eq!(place.ask("verify --request pay-3").json()["differs"], 1);
    window.click(&hook("do-accept"));
    window.wait_for_none(&hook("accept-sheet"));
    until_count(&window, "differs", "2");
    until_count(&window, "same", "1");
    assert_eq!(place.ask("verify --request pay-3").json()["same"], 1);

    // Then the others at once, and nothing of the flow is left.
    window.click(&hook("accept-group"));
    window.click(&hook("do-accept"));
    until_count(&window, "differs", "0");
    until_count(&window, "same", "3");
    let groups = window.texts(&hook("verify-group"));
    assert!(groups.len() == 1 && groups[0].contains("words"), "{groups:?}");

    // Narrowed to the flow, all of it is the same.
    window.script(
        "const box = document.querySelector('[data-testid=verify-flow]');
         box.value = 'cart'; box.dispatchEvent(new Event('change', { bubbles: true }))",
        &[],
    );
    window.wait_for(&format!("{}[data-rest=same]", hook("verify-empty")));
    until_count(&window, "asks_new", "0");
}

#[test]
fn a_run_that_differs_is_opened_where_it_does_and_the_page_is_there_again() {
    let place = place();
    raise_tax(&place);
    let window = open(&place, &[]);
    window.wait_for(&hook("flow-cart"));
    window.palette("Verify recorded runs");
    window.click(&format!("{}[data-run=pay-2]", hook("verify-run-row")));
    window.wait_for_text(&hook("verify-recorded"), "238");
    window.click(&hook("verify-open"));
    window.wait_for_text(&hook("block-path"), "root/step:tax");
    window.until_script("return new URLSearchParams(location.hash.slice(1)).get('request') === 'pay-2'");
    let told = place.ask("verify --request pay-2").json();
    let seq = told["results"][0]["seq"].to_string();
    window.until_script(&format!("return new URLSearchParams(location.hash.slice(1)).get('seq') === '{seq}'"));
    // Back: the same run is chosen still.
    window.script("history.back()", &[]);
    window.wait_for(&format!("{}[data-run=pay-2]", hook("verify-detail")));
    window.click(&hook("verify-compare"));
    window.wait_for(&hook("compare-row"));
    window.script("history.back()", &[]);
    // A live run is a new request.
    window.click(&hook("verify-retry"));
    window.click(&hook("do-retry"));
    // The page shows the status of the run before until the new one is there.
    place.until("the new run", |place| (place.get("requests")[0]["retryOf"] == "pay-2").then_some(()));
    window.until_status("completed");
}

#[test]
fn a_page_with_nothing_that_differs_says_why() {
    let place = Place::with_flow(CART).file("lib/tax.ts", TAX);
    let window = open(&place, &[]);
    window.wait_for(&hook("flow-cart"));
    window.click(&hook("go-verify"));
    window.wait_for(&format!("{}[data-rest=nothing]", hook("verify-empty")));
    assert_eq!(window.violations(), Vec::<String>::new());
    place.ask("run cart pay --user ada --request one --input []");
    window.click(&hook("verify-run"));
    window.wait_for(&format!("{}[data-rest=unaffected]", hook("verify-empty")));
    until_count(&window, "unaffected", "1");
    window.click(&hook("verify-all-anyway"));
    window.wait_for(&format!("{}[data-rest=same]", hook("verify-empty")));
    until_count(&window, "same", "1");
    assert_eq!(window.violations(), Vec::<String>::new());
}

#[test]
fn a_save_shows_beside_its_flow_what_differs_and_what_could_be_resumed() {
    let place = place();
    let ship = place.ask("run cart ship --user ada --request ship-1 --input [{\"name\":\"tea\",\"price\":10}]");
    assert_eq!(ship.code, Some(4), "{ship}");
    let window = open(&place, &[]);
    window.wait_for_text(
        &format!("{}[data-request=ship-1] {}", hook("question-card"), hook("resumable")),
        "Safe to resume",
    );
    window.wait_for_none(&hook("flow-badge"));

    raise_tax(&place);
    window.wait_for_text(&format!("{} {}", hook("flow-cart"), hook("flow-badge")), "4 differ");
    assert_eq!(window.texts(&hook("flow-badge")).len(), 1, "the other flow is as it was");
    assert_eq!(window.violations(), Vec::<String>::new());
    // The page of the flow says so too, and what waits there.
    window.click(&format!("{} button[title]", hook("flow-cart")));
    window.wait_for_text(&hook("flow-page-badge"), "4 differ");
    window.wait_for_text(&hook("open-run"), "ship-1");

    // The badge leads to the runs of the flow.
    window.click(&hook("flow-badge"));
    window.wait_for(&hook("verify-group"));
    until_verified(&window);
    assert_eq!(window.script("return document.querySelector('[data-testid=verify-flow]').value", &[]), "cart");
    assert_eq!(window.texts(&hook("verify-group-count")), ["4"]);

    // As it was: nothing differs, and the badge is gone, while the page is open and after it.
    place.write("lib/tax.ts", TAX);
    window.wait_for_none(&hook("flow-badge"));
    window.wait_for(&hook("verify-empty"));

    // The block that waits is taken away.
    place.edit(&CART.replace("chain(\"ship\").step(ask)", "chain(\"ship\")"));
    window.palette("Home");
    let verdict = format!("{}[data-request=ship-1] {}", hook("question-card"), hook("resumable"));
    window.wait_for_text(&verdict, "Cannot resume");
    assert!(window.attributes(&verdict, "title")[0].contains("gone"), "{:?}", window.attributes(&verdict, "title"));
    assert_eq!(window.violations(), Vec::<String>::new());
}

#[test]
fn a_request_is_kept_as_a_file_that_is_verified_and_replaced_only_if_asked() {
    let place = place();
    let window = open(&place, &["--request", "pay-1"]);
    window.until_status("completed");
    window.click(&hook("request-menu"));
    window.click(&hook("menu-keep"));
    window.wait_for(&hook("keep-sheet"));
    let name = window.script("return document.querySelector('[data-testid=keep-file]').value", &[]);
    assert_eq!(name, "tests/cart-pay-pay-1.run");
    assert_eq!(window.violations(), Vec::<String>::new());
    window.click(&hook("do-keep"));
    window.wait_for_text(&hook("kept"), "tests/cart-pay-pay-1.run");
    window.wait_for_text(&hook("keep-command"), "flowglass verify tests/*.run");
    assert_eq!(place.ask("verify tests/cart-pay-pay-1.run").json()["same"], 1);
    window.click(&hook("keep-done"));

    // It is there now.
    window.palette("Keep this request as a test");
    window.wait_for_text(&hook("keep-exists"), "exists");
    assert_eq!(window.attributes(&hook("do-keep"), "disabled").len(), 1);
    window.click(&hook("keep-replace"));
    window.click(&hook("do-keep"));
    window.wait_for(&hook("kept"));
    window.click(&hook("keep-done"));

    // The file differs after an edit, and accepting it changes the file.
    raise_tax(&place);
    window.palette("Verify recorded runs");
    window.click("[data-choice=files]");
    window.wait_for_text(&hook("verify-recorded"), "119");
    window.wait_for_text(&hook("verify-found"), "120");
    assert_eq!(window.attributes(&hook("verify-run-row"), "data-run"), ["tests/cart-pay-pay-1.run"]);
    window.wait_for_none(&hook("verify-retry"));
    window.click(&hook("accept-run"));
    window.click(&hook("do-accept"));
    until_count(&window, "same", "1");
    assert_eq!(place.ask("verify tests/cart-pay-pay-1.run").json()["same"], 1);
}

/// Pictures of what is new, for whoever changes how it looks.
#[test]
#[ignore = "it takes pictures, and finds nothing"]
fn pictures_of_verified_runs() {
    let folder = repository().join("target/screenshots");
    for (shade, theme) in [("light", "Adwaita"), ("dark", "Adwaita:dark")] {
        let place = place();
        for n in 4..30 {
            let input = format!("[{{\"name\":\"tea\",\"price\":{n}}},{{\"name\":\"milk\",\"price\":{n}}}]");
            place.ask(&format!("run cart pay --user ada --request many-{n} --input {input}"));
        }
        place.ask("run cart ship --user ada --request ship-1 --input [{\"name\":\"tea\",\"price\":10}]");
        place.ask("keep pay-1 --as kept.run");
        let settings = Settings { variables: vec![("GTK_THEME", theme.to_owned())], ..Settings::default() };
        let window = open_with(settings, &place, &[]);
        window.wait_for(&hook("flow-cart"));
        raise_tax(&place);
        place.write("flows/thank.ts", THANK.replace("Thank the customer", "Please thank the customer"));
        let take = |name: &str| {
            for (wide, high) in [(1024, 700), (1440, 900)] {
                window.resize(wide, high);
                window.picture(&folder.join(format!("verify-{name}-{shade}-{wide}.png")));
            }
        };
        window.wait_for(&hook("flow-badge"));
        take("badge");
        window.click(&hook("flow-badge"));
        window.wait_for(&hook("verify-group"));
        until_verified(&window);
        take("groups");
        window.click(&hook("accept-group"));
        window.wait_for(&hook("accept-sheet"));
        take("accept");
        window.type_keys(key::ESCAPE);
        window.script("location.hash = 'verify='", &[]);
        window.click(&format!("{}[data-verdict=asks_new]", hook("verify-group")));
        window.wait_for(&hook("accept-refused"));
        take("asks-new");
        window.script("location.hash = 'flow=cart'", &[]);
        window.wait_for(&hook("open-run"));
        take("flow");
        window.script("location.hash = 'request=pay-1'", &[]);
        window.until_status("completed");
        window.palette("Keep this request as a test");
        window.wait_for(&hook("keep-sheet"));
        take("keep");
        window.click(&hook("do-keep"));
        window.wait_for(&hook("kept"));
        take("kept");
        window.type_keys(key::ESCAPE);
        place.write("lib/tax.ts", TAX);
        place.write("flows/thank.ts", THANK);
        window.script("location.hash = 'verify='", &[]);
        window.wait_for(&format!("{}[data-rest=unaffected]", hook("verify-empty")));
        take("unaffected");
    }
}
