//! An answer belongs to the content that its question showed. If an edit or a fork changes the question, it is asked
//! again.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

/// A flow that asks for approval of an amount, and pays it.
fn flow(chain: &str) -> String {
    format!(
        "const amount = handler({{ name: 'amount', execute: () => ({{ eur: 10 }}) }});
         const question = (eur: any, more: object = {{}}) => ({{ reason: 'approval', message: `Pay ${{eur}} EUR?`, data: {{ eur }}, ...more }});
         const ask = (name: string) => handler({{ name, inputSchema: z.any(), description: name, execute: async (input: any, ctx: any) => {{ await ctx.suspend(question(input.eur)); return input; }} }});
         const pay = handler({{ name: 'pay', execute: async (input: any, ctx: any) => {{ await ctx.session.incState({{ paid: input.eur }}); return input; }} }});
         const chain = (name: string) => sequencer({{ name, inputSchema: z.any() }});
         export default defineFlow({{ kind: 'main', session: {{ stateSchema: z.object({{ paid: z.number().default(0), seen: z.number().default(0) }}) }},
           actions: {{ go: {{ block: chain('chain'){chain} }} }} }});"
    )
}

const RUN: &str = "run main go --user ada --session s --request r --mock --input 1";

/// A request that asked a question, and whose flow was changed since.
fn asked(before: &str, after: &str) -> Place {
    let place = Place::with_flow(&flow(before)).file("flows/main.mock.json", SCRIPT);
    let answer = place.ask(RUN);
    assert_eq!(answer.code, Some(4), "{before}\n{answer}");
    place.edit(&flow(after));
    place
}

const SCRIPT: &str =
    r#"{ "generators": { "bot": [{ "toolCalls": [{ "name": "tool", "args": { "eur": 0 } }] }, { "text": "done" }] } }"#;

/// The drift events about questions.
fn drifts(place: &Place, request: &str) -> Vec<String> {
    let events = place.get(&format!("events {request} --kind drift"));
    let of_questions =
        events.as_array().expect("a list").iter().filter(|event| event["payload"]["drift"] == "question");
    of_questions.map(|event| event["payload"]["text"].to_string()).collect()
}

/// Questions of the session, oldest first, with their status.
fn questions(place: &Place, session: &str) -> Vec<(Value, Value)> {
    let all = place.get(&format!("suspensions --session {session}"));
    let shown = all.as_array().expect("a list").iter().rev();
    shown.map(|one| (one["data"]["eur"].clone(), one["status"].clone())).collect()
}

#[track_caller]
fn is_sound(place: &Place, request: &str) {
    assert_eq!(place.get("check --data")["ok"], true);
    let replay = place.ask(&format!("replay {request}"));
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{replay}");
}

#[test]
fn a_question_changed_before_the_answer_is_asked_again() {
    let steps =
        |times: u32| format!(".step(amount).map((v: any) => ({{ eur: v.eur * {times} }})).step(ask('asks')).step(pay)");
    let place = asked(&steps(1), &steps(1000));
    let old = place.get("suspensions")[0]["id"].clone();
    let answer = place.ask("resume r --approve");
    assert_eq!(answer.code, Some(4), "{answer}");
    let shown = json!({ "status": "suspended", "…": 0, "suspensions": [{ "message": "Pay 10000 EUR?", "data": { "eur": 10000 }, "status": "pending", "…": 0 }] });
    assert_matches("the new question", &answer.json(), &shown);
    assert_ne!(answer.json()["suspensions"][0]["id"], old);
    assert_eq!(questions(&place, "s"), [(json!(10), json!("expired")), (json!(10000), json!("pending"))]);
    let said = drifts(&place, "r");
    assert!(said.len() == 1 && said[0].contains("{\\\"eur\\\":10} is now {\\\"eur\\\":10000}"), "{said:?}");
    assert_eq!(place.get("state --session s")["session"]["paid"], 0);
    // The old question is expired, and its id is refused.
    let late = place.ask(&format!("resume r --approve --suspension {}", old.as_str().expect("a text")));
    assert_eq!(late.code, Some(7), "{late}");
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    assert_eq!(place.get("state --session s")["session"]["paid"], 10000);
    assert_eq!(questions(&place, "s"), [(json!(10), json!("expired")), (json!(10000), json!("approved"))]);
    is_sound(&place, "r");
}

#[test]
fn an_answer_to_an_unchanged_question_counts() {
    let steps = ".step(amount).step(ask('asks')).step(pay)";
    let place = asked(steps, steps);
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    assert_eq!((drifts(&place, "r").len(), place.get("state --session s")["session"]["paid"].clone()), (0, json!(10)));
}

#[test]
fn a_fork_with_another_amount_asks_again() {
    let steps = ".step(amount).step(ask('asks')).step(pay)";
    let place = asked(steps, steps);
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    let ends = place.get("events r --kind block_finished");
    let ends: Vec<&Value> = ends
        .as_array()
        .expect("a list")
        .iter()
        .filter(|end| end["path"] == "root/step:amount")
        .map(|end| &end["seq"])
        .collect();
    assert_eq!(ends.len(), 1, "the resume did not record it again");
    let own = fork_pays(&place, "root/step:amount", 10000);
    assert_eq!(own["forkedFrom"]["seq"], *ends[0]);
    assert_eq!(drifts(&place, own["requestId"].as_str().expect("a text")).len(), 0);
    // The original request is unchanged.
    assert_eq!(questions(&place, "s"), [(json!(10), json!("approved"))]);
    assert_eq!(place.get("state --session s")["session"]["paid"], 10);
    assert_eq!(place.get("check --data")["ok"], true);
}

/// Forks with another amount, and checks that it is asked for and paid once.
fn fork_pays(place: &Place, at: &str, eur: u32) -> Value {
    let answer = place.ask(&format!("fork r --at {at} --output {{\"eur\":{eur}}}"));
    assert_eq!(answer.code, Some(4), "{answer}");
    let fork = answer.json();
    let shown = json!([{ "data": { "eur": eur }, "status": "pending", "…": 0 }]);
    assert_matches("what the fork asks", &fork["suspensions"], &shown);
    let session = fork["sessionId"].as_str().expect("a text");
    assert_eq!(place.get(&format!("state --session {session}"))["session"]["paid"], 0);
    let answer = place.ask(&format!("resume {} --approve", fork["requestId"].as_str().expect("a text")));
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(place.get(&format!("state --session {session}"))["session"]["paid"], eur);
    fork
}

#[test]
fn only_changes_of_the_shown_content_ask_again() {
    let asks = |question: &str| {
        format!(".step(handler({{ name: 'asks', execute: (_: any, ctx: any) => ctx.suspend({question}) }}))")
    };
    let plain = "{ reason: 'approval', message: 'Go?', data: { a: 1, b: 2 }, allow: ['approve', 'reject'] }";
    let same = [
        "{ reason: 'approval', message: 'Go?', data: { b: 2, a: 1 }, allow: ['reject', 'approve'] }",
        "{ reason: 'approval', message: 'Go?', data: { a: 1, b: 2 }, timeoutMs: 60_000 }",
        "{ reason: 'approval', message: 'Go?', data: { a: 1, b: 2 }, render: { component: 'big' } }",
    ];
    for other in same {
        let place = asked(&asks(plain), &asks(other));
        assert_eq!(place.ask("resume r --approve").code, Some(0), "{other}");
    }
    let others = [
        "{ reason: 'money', message: 'Go?', data: { a: 1, b: 2 } }",
        "{ reason: 'approval', message: 'Stop?', data: { a: 1, b: 2 } }",
        "{ reason: 'approval', data: { a: 1, b: 2 } }",
        "{ reason: 'approval', message: 'Go?', data: { a: 1, b: [2] } }",
        "{ reason: 'approval', message: 'Go?' }",
        "{ reason: 'approval', message: 'Go?', data: { a: 1, b: 2 }, allow: ['approve'] }",
        "{ reason: 'approval', message: 'Go?', data: { a: 1, b: 2 }, allow: ['approve', 'reject'], resumeSchema: z.object({ n: z.number().optional() }) }",
    ];
    for other in others {
        for reply in ["--approve", "--reject"] {
            let place = asked(&asks(plain), &asks(other));
            let answer = place.ask(&format!("resume r {reply}"));
            assert_eq!(answer.code, Some(4), "{other}\n{answer}");
            let all = place.get("suspensions");
            assert_eq!((&all[0]["status"], &all[1]["status"]), (&json!("pending"), &json!("expired")), "{other}");
            assert_eq!(drifts(&place, "r").len(), 1, "{other}");
        }
    }
}

/// Chains with a question in every possible place; `EUR` is the amount that it shows.
const PLACES: [&str; 12] = [
    ".step(chain('outer').step(chain('inner').map(() => ({ eur: EUR })).step(ask('asks')).step(pay)))",
    ".map(async (_: any, ctx: any) => { await ctx.suspend(question(EUR)); return { eur: EUR }; }).step(pay)",
    ".tap(async (_: any, ctx: any) => { await ctx.session.incState({ seen: 1 }); }).tap(async (_: any, ctx: any) => { await ctx.suspend(question(EUR)); }).map(() => ({ eur: EUR })).step(pay)",
    ".stepIf(async (_: any, ctx: any) => { await ctx.suspend(question(EUR)); return true; }, handler({ name: 'eur', execute: () => ({ eur: EUR }) })).step(pay)",
    ".step(async (_: any, ctx: any) => { await ctx.suspend(question(EUR)); return { eur: EUR }; }, pay)",
    ".map(() => ({ eur: EUR })).doUntil(() => true, ask('asks')).step(pay)",
    ".map(() => ({ eur: EUR })).step(ask('asks')).step(pay).loopBack('asks', { when: () => false, maxIterations: 2 })",
    ".map(() => [{ eur: EUR }]).forEach(ask('asks')).map(([one]: any) => one).step(pay)",
    ".map(() => ({ eur: EUR })).parallel({ one: ask('asks') }).map((all: any) => all.one).step(pay)",
    ".map(() => ({ eur: EUR })).work(ask('asks')).waitForWork().step(pay)",
    ".step(generator({ name: 'bot', model: 'tiny', prompt: 'Pay.', tools: [handler({ name: 'tool', description: 'pays', execute: async (_: any, ctx: any) => { await ctx.suspend(question(EUR)); return 'yes'; } })] })).map(() => ({ eur: EUR })).step(pay)",
    ".map(() => ({ eur: EUR })).step(handler({ name: 'twice', execute: async (input: any, ctx: any) => { await ctx.runOnce('k', () => 1); await ctx.suspend(question(input.eur)); return input; } })).step(pay)",
];

#[test]
fn a_changed_question_in_any_place_is_asked_again() {
    for steps in PLACES {
        let place = asked(&steps.replace("EUR", "10"), &steps.replace("EUR", "10000"));
        // A resumed `forEach` keeps its recorded list, so its question does not change.
        let recorded = if steps.contains("forEach") { 10 } else { 10000 };
        if recorded == 10000 {
            let answer = place.ask("resume r --approve");
            assert_eq!(answer.code, Some(4), "{steps}\n{answer}");
            assert_eq!(answer.json()["suspensions"][0]["data"]["eur"], 10000, "{steps}\n{answer}");
            assert_eq!(
                questions(&place, "s"),
                [(json!(10), json!("expired")), (json!(10000), json!("pending"))],
                "{steps}"
            );
            assert_eq!(place.get("state --session s")["session"]["paid"], 0, "{steps}");
        }
        let answer = place.ask("resume r --approve");
        assert_eq!(answer.code, Some(0), "{steps}\n{answer}");
        assert_eq!(place.get("state --session s")["session"]["paid"], recorded, "{steps}");
        assert_eq!(place.get("check --data")["ok"], true, "{steps}");
        place.ask("replay r").json();
    }
}

#[test]
fn of_several_questions_only_the_changed_one_is_asked_again() {
    let asks = |first: u32, second: u32| {
        format!(
            ".step(handler({{ name: 'asks', execute: async (_: any, ctx: any) => {{ await ctx.suspend(question({first})); await ctx.suspend(question({second})); return {{ eur: {first} + {second} }}; }} }})).step(pay)"
        )
    };
    let place = asked(&asks(1, 2), &asks(1, 2));
    assert_eq!(place.ask("resume r --approve").code, Some(4));
    place.edit(&flow(&asks(1, 20)));
    assert_eq!(place.ask("resume r --approve").code, Some(4));
    assert_eq!(
        questions(&place, "s"),
        [(json!(1), json!("approved")), (json!(2), json!("expired")), (json!(20), json!("pending"))]
    );
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    assert_eq!(place.get("state --session s")["session"]["paid"], 21);
    is_sound(&place, "r");
}

#[test]
fn an_answer_to_a_later_question_waits_for_the_earlier_one() {
    let asks = |first: u32| {
        format!(
            ".step(handler({{ name: 'asks', execute: async (_: any, ctx: any) => {{ await ctx.suspend(question({first})); await ctx.suspend(question(2)); return {{ eur: {first} }}; }} }})).step(pay)"
        )
    };
    let place = asked(&asks(1), &asks(1));
    assert_eq!(place.ask("resume r --approve").code, Some(4));
    place.edit(&flow(&asks(10)));
    assert_eq!(place.ask("resume r --approve").code, Some(4));
    assert_eq!(
        questions(&place, "s"),
        [(json!(1), json!("expired")), (json!(2), json!("approved")), (json!(10), json!("pending"))]
    );
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    assert_eq!(place.get("state --session s")["session"]["paid"], 10);
}

#[test]
fn a_changed_question_parallel_to_the_answered_one_is_updated() {
    let steps = |eur: u32| {
        format!(
            ".map(() => ({{ eur: {eur} }})).parallel({{ l: ask('left'), r: ask('right') }}).map((all: any) => ({{ eur: all.l.eur + all.r.eur }})).step(pay)"
        )
    };
    let place = asked(&steps(1), &steps(50));
    let left = place
        .get("suspensions")
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["path"] == "root/parallel/l")
        .expect("it is asked")["id"]
        .clone();
    let answer = place.ask(&format!("resume r --approve --suspension {}", left.as_str().expect("a text")));
    assert_eq!(answer.code, Some(4), "{answer}");
    let pending = answer.json()["suspensions"].clone();
    assert_eq!(
        (pending[0]["data"]["eur"].clone(), pending[1]["data"]["eur"].clone()),
        (json!(50), json!(50)),
        "{pending}"
    );
    for one in pending.as_array().expect("a list") {
        place.ask(&format!("resume r --approve --suspension {}", one["id"].as_str().expect("a text")));
    }
    assert_eq!(place.get("state --session s")["session"]["paid"], 100);
    is_sound(&place, "r");
}

#[test]
fn a_timeout_counts_only_for_an_unchanged_question() {
    let steps = |eur: u32| {
        format!(
            ".map(() => ({{ eur: {eur} }})).step(handler({{ name: 'asks', execute: async (input: any, ctx: any) => {{ try {{ await ctx.suspend(question(input.eur, {{ timeoutMs: 1 }})); }} catch (error: any) {{ return {{ eur: -1, name: error.name }}; }} return input; }} }})).step(pay)"
        )
    };
    // The unchanged question times out.
    let place = asked(&steps(1), &steps(1));
    std::thread::sleep(std::time::Duration::from_millis(5));
    let answer = place.ask("resume r");
    assert_eq!(
        (answer.code, &answer.json()["output"]["name"]),
        (Some(0), &json!("SuspensionTimeoutError")),
        "{answer}"
    );
    // The changed question was not asked before, so it does not time out.
    let place = asked(&steps(1), &steps(2));
    std::thread::sleep(std::time::Duration::from_millis(5));
    let answer = place.ask("resume r");
    assert_eq!(answer.code, Some(4), "{answer}");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let answer = place.ask("resume r");
    assert_eq!((answer.code, &answer.json()["output"]["eur"]), (Some(0), &json!(-1)), "{answer}");
}

#[test]
fn clock_and_random_values_before_a_question_are_repeated() {
    let shown = "({ at: Date.now(), id: crypto.randomUUID(), r: Math.random() })";
    let asks = [
        format!(
            ".step(handler({{ name: 'asks', execute: async (_: any, ctx: any) => {{ const data = {shown}; await ctx.suspend({{ reason: 'approval', data }}); return {{ ...data, later: Math.random() }}; }} }}))"
        ),
        // A map before the function does not run again, and does not consume the values of this function.
        format!(
            ".map(() => {shown}).map(async (first: any, ctx: any) => {{ const data = {shown}; await ctx.suspend({{ reason: 'approval', data }}); return {{ ...data, first }}; }})"
        ),
        format!(
            ".step(handler({{ name: 'twice', execute: async (_: any, ctx: any) => {{ const data = {shown}; await ctx.suspend({{ reason: 'approval', data }}); const more = {shown}; await ctx.suspend({{ reason: 'approval', data: more }}); return {{ ...more, data }}; }} }}))"
        ),
    ];
    for steps in asks {
        let place = asked(&steps, &steps);
        let mut answer = place.ask("resume r --approve");
        if steps.contains("twice") {
            assert_eq!(answer.code, Some(4), "{steps}\n{answer}");
            answer = place.ask("resume r --approve");
        }
        assert_eq!(answer.code, Some(0), "{steps}\n{answer}");
        let (ended, asked) = (answer.json()["output"].clone(), place.get("suspensions")[0]["data"].clone());
        assert_eq!((&ended["at"], &ended["id"], &ended["r"]), (&asked["at"], &asked["id"], &asked["r"]), "{steps}");
        assert_eq!(drifts(&place, "r").len(), 0, "{steps}");
        is_sound(&place, "r");
    }
}
