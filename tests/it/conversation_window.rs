//! A session whole in the real window: its turns for each audience, the state after each, its forks, what is added to it,
//! and the line that goes on with it.

use serde_json::json;
use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::{Window, hook, key};

const FLOW: &str = r#"
const say = handler({ name: "say", inputSchema: z.object({ text: z.string() }), execute: async ({ text }, ctx) => {
  await ctx.session.incState({ said: 1 });
  if (text === "slow") {
    for (let n = 0; n < 30; n++) { await new Promise((done) => setTimeout(done, 100)); ctx.emit.message(`piece ${n}`); }
  }
  ctx.emit.message(`**You said** ${text}`);
  return text;
} });
const both = handler({ name: "both", inputSchema: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b });
export default defineFlow({
  kind: "talk",
  session: { stateSchema: z.object({ said: z.number().default(0) }) },
  actions: {
    say: { block: sequencer({ name: "talk" }).step(say), userMessage: (input) => input.text },
    sum: { block: sequencer({ name: "sum" }).step(both) },
  },
});
"#;
const HOSTILE: &str = "<img src=x onerror=document.title=1>";

fn say(place: &Place, request: &str, text: &str) {
    let input = json!({ "text": text }).to_string();
    let told =
        place.run(&["run", "talk", "say", "--user", "ada", "--session", "s1", "--request", request, "--input", &input]);
    assert_eq!(told.code, Some(0), "{told}");
}

fn place(requests: usize) -> Place {
    let place = Place::with_flow(FLOW);
    for n in 1..=requests {
        say(&place, &format!("r{n}"), if n == 2 { HOSTILE } else { "hello" });
    }
    place
}

fn open_conversation(place: &Place) -> Window {
    let window = open(place, &["--session", "s1"]);
    window.until_status("completed");
    window.click(&hook("open-conversation"));
    window.wait_for(&hook("turn"));
    window
}

#[track_caller]
fn until_turns(window: &Window, wanted: &[&str]) {
    let wanted = serde_json::to_string(wanted).expect("texts");
    window.until_script(&format!(
        "return JSON.stringify([...document.querySelectorAll('[data-testid=turn]')].map((one) => one.dataset.turn))
             === JSON.stringify({wanted})"
    ));
}

#[test]
fn a_session_is_read_and_gone_on_with() {
    let place = place(3);
    place.run(&["tag", "--session", "s1", "+demo", "--title", HOSTILE, "--note", "Keep <b>this</b>"]);
    let window = open_conversation(&place);
    until_turns(&window, &["r1", "r2", "r3"]);
    window.wait_for_text(&hook("conversation-total"), "3 requests");
    window.wait_for_text(&format!("{} h1", hook("conversation-head")), HOSTILE);
    window.wait_for_text(&hook("conversation-note"), "Keep <b>this</b>");
    assert_eq!(window.attributes(&format!("{} img", hook("conversation-page")), "src").len(), 0);
    assert_eq!(window.violations(), Vec::<String>::new());

    // Each audience sees its own; what blocks noted is folded among messages.
    window.wait_for(&hook("item-notes"));
    window.click("[data-choice=history]");
    window.wait_for_none(&hook("item-notes"));
    window.wait_for_text(&format!("[data-turn=r1] {}", hook("item")), "hello");
    window.click("[data-choice=messages]");
    window.wait_for(&hook("item-notes"));

    // Markdown is drawn as elements once somebody asks for it.
    window.click(&format!("[data-turn=r2] {}", hook("item-render")));
    window.wait_for_text(&format!("[data-turn=r2] {} strong", hook("markdown")), "You said");
    window.wait_for_text(&format!("[data-turn=r2] {}", hook("markdown")), HOSTILE);

    // The state after a request, and what it changed.
    window.click(&format!("[data-turn=r2] {}", hook("turn-state")));
    window.wait_for_text(&format!("[data-turn=r2] {}", hook("change-row")), "said");

    // What is said next streams in; Up brings back what was said before.
    window.press(&hook("chat-text"), "slow");
    window.press(&hook("chat-text"), key::ENTER);
    window.wait_for_text(&format!("{}[data-status=in_progress]", hook("turn")), "piece 2");
    window.wait_for(&hook("chat-stop"));
    window.until_script("return document.querySelectorAll('[data-testid=turn][data-status=completed]').length === 4");
    window.wait_for_text(&hook("conversation-total"), "4 requests");
    window.press(&hook("chat-text"), key::UP);
    window.until_script("return document.querySelector('[data-testid=chat-text]').value === 'slow'");
    window.press(&hook("chat-text"), key::UP);
    window.until_script("return document.querySelector('[data-testid=chat-text]').value === 'hello'");
    window.press(&hook("chat-text"), key::DOWN);
    window.press(&hook("chat-text"), key::DOWN);
    window.until_script("return document.querySelector('[data-testid=chat-text]').value === ''");

    // Another action has a form.
    window.script(
        "const choice = document.querySelector('[data-testid=chat-action]'); choice.value = 'sum';
         choice.dispatchEvent(new Event('change', { bubbles: true }))",
        &[],
    );
    window.wait_for(&hook("chat-form"));
    assert_eq!(window.violations(), Vec::<String>::new());

    window.click(&format!("[data-turn=r1] {}", hook("turn-open")));
    window.wait_for(&format!("{}[data-request=r1]", hook("request-header")));
}

#[test]
fn what_is_added_to_a_session_and_to_a_request_is_changed_in_the_window() {
    let place = place(1);
    let window = open_conversation(&place);
    window.click(&hook("conversation-tag"));
    window.press(&hook("tag-add"), "demo long");
    window.press(&hook("tag-title"), "The talk");
    window.click(&hook("do-tag"));
    window.wait_for_text(&format!("{} h1", hook("conversation-head")), "The talk");
    assert_eq!(place.get("tag --session s1")["tags"], json!(["demo", "long"]));

    window.click(&hook("turn-open"));
    window.click(&hook("request-tag"));
    window.press(&hook("tag-title"), HOSTILE);
    window.press(&hook("tag-note"), "looked at");
    window.click(&hook("do-tag"));
    window.wait_for_text(&hook("request-title"), HOSTILE);
    window.click(&hook("request-note"));
    window.wait_for_text(".popover", "looked at");
    window.type_keys(key::ESCAPE);
    window.wait_for_none(".popover");
    assert_eq!(place.get("tag r1")["title"], HOSTILE);
    // Another process tags it, and the window shows that.
    place.get("tag r1 --title Renamed");
    window.wait_for_text(&hook("request-title"), "Renamed");
    assert_eq!(window.violations(), Vec::<String>::new());
}

#[test]
fn a_long_session_is_paged_and_its_forks_are_a_tree() {
    let place = place(45);
    let fork = place.get("fork r7 --at root/step:say --output \"else\"");
    let inner = fork["sessionId"].as_str().expect("a session").to_owned();
    let window = open_conversation(&place);
    window.wait_for_text(&hook("conversation-total"), "45 requests");
    window.until_script("return document.querySelectorAll('[data-testid=turn]').length === 20");
    assert_eq!(window.wait_for(&hook("turns-earlier")), "25 earlier");
    window.click(&hook("turns-earlier"));
    window.wait_for("[data-turn=r8]");
    window.wait_for_none("[data-turn=r45]");
    window.click(&hook("turns-first"));
    window.wait_for("[data-turn=r1]");
    window.click(&hook("turns-last"));
    window.wait_for("[data-turn=r45]");

    window.click(&hook(&format!("fork-{inner}")));
    window.wait_for_text(&hook("conversation-total"), "7 requests");
    window.wait_for(&format!("{}[aria-current]", hook(&format!("fork-{inner}"))));
    assert_eq!(window.violations(), Vec::<String>::new());
    // From a request the conversation opens at it.
    window.click("[data-turn=r3] [data-testid=turn-open]");
    window.wait_for(&format!("{}[data-request=r3]", hook("request-header")));
    window.click(&hook("open-conversation"));
    window.wait_for("[data-turn=r3]");
    window.wait_for("[data-turn=r20]");
}

#[test]
fn no_page_scrolls_the_window_and_what_is_sent_comes_into_view() {
    const STILL: &str = "return document.documentElement.scrollHeight <= window.innerHeight
         && document.documentElement.scrollTop === 0";
    let place = place(12);
    let window = open(&place, &["--session", "s1"]);
    window.resize(960, 600);
    window.until_status("completed");
    window.script("location.hash = '#session=s1&request=r3&tab=items'", &[]);
    window.wait_for(&hook("item"));
    window.until_script(STILL);
    window.click(&hook("open-conversation"));
    window.wait_for("[data-turn=r3]");
    window.until_script(STILL);
    // The request that it was opened from is at the top of the list, which the end is not.
    window.until_script(
        "const list = document.querySelector('[data-testid=turns]');
         const top = list.querySelector('[data-turn=r3]').getBoundingClientRect().top;
         return Math.abs(top - list.getBoundingClientRect().top) < 40",
    );
    window.press(&hook("chat-text"), "hello");
    window.press(&hook("chat-text"), key::ENTER);
    window.until_script(
        "const list = document.querySelector('[data-testid=turns]');
         const turns = list.querySelectorAll('[data-testid=turn][data-status=completed]');
         return turns.length === 13 && list.scrollHeight - list.scrollTop - list.clientHeight < 2",
    );
    window.until_script(STILL);
    window.script("location.hash = '#flow=talk'", &[]);
    window.wait_for(&hook("shape-say"));
    window.until_script(STILL);
}
