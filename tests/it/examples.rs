//! The example flows: every file loads, and every command that their README offers runs.

use tests::bench::{Answer, Place, repository};

/// Runs a command line of an example; single quotes keep words together.
fn ask(place: &Place, line: &str) -> Answer {
    let mut words: Vec<String> = Vec::new();
    for (n, part) in line.split('\'').enumerate() {
        match n % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words.push("--json".to_owned());
    place.run(&words)
}

/// One run of an action with mock models, and the exit code it must come to.
#[track_caller]
fn check(place: &Place, line: &str, code: i32) -> Answer {
    let answer = ask(place, &format!("{line} --mock"));
    assert_eq!(answer.code, Some(code), "flowglass {line}\n{answer}");
    answer
}

#[test]
fn every_example_loads() {
    let place = Place::with_examples();
    let answer = place.ask("check");
    assert_eq!(answer.code, Some(0), "{answer}");
    let document = answer.json();
    let kinds: Vec<&str> =
        document.as_array().expect("a list").iter().map(|flow| flow["kind"].as_str().unwrap_or("?")).collect();
    for kind in ["bargain", "chat", "concierge", "desk", "refund", "research", "support", "team-assistant"] {
        assert!(kinds.contains(&kind), "{kind} is missing among {kinds:?}");
    }
}

/// They were kept by the first version that kept any, so they also tell that its format is read.
#[test]
fn the_kept_runs_of_the_examples_are_as_they_were() {
    let place = Place::with_examples();
    let files = ["chat-greets", "desk-answers", "refund-asks", "support-refund-fails"];
    let files = files.map(|name| format!("flows/tests/{name}.run"));
    let verified = place.ask(&format!("verify {}", files.join(" ")));
    assert_eq!((verified.code, verified.json()["same"].as_u64()), (Some(0), Some(4)), "{verified}");
    let refunds = std::fs::read_to_string(place.dir().join("flows/lib/refunds.ts")).expect("it is there");
    place.write("flows/lib/refunds.ts", refunds.replace("is above the limit", "is beyond the limit"));
    let verified = place.ask(&format!("verify {}", files.join(" ")));
    assert_eq!((verified.code, verified.json()["differs"].as_u64()), (Some(1), Some(1)), "{verified}");
}

/// The run form of the window is made from the schema, and says what the action and each field are.
#[test]
fn every_action_of_an_example_says_what_it_does_and_takes() {
    let place = Place::with_examples();
    let flows = place.get("flows");
    for kind in ["chat", "desk", "refund", "research", "support", "team-assistant"] {
        let flow = flows.as_array().expect("a list").iter().find(|flow| flow["kind"] == kind).expect("it is there");
        for action in flow["actions"].as_array().expect("a list") {
            let name = format!("{kind}.{}", action["name"]);
            assert!(action["description"].as_str().is_some_and(|text| !text.is_empty()), "{name} has no description");
            assert_eq!(action["inputSchema"]["type"], "object", "{name} has no form");
        }
    }
    for (kind, field) in [("refund", "order"), ("desk", "customer"), ("desk", "tickets")] {
        let flow = flows.as_array().expect("a list").iter().find(|flow| flow["kind"] == kind).expect("it is there");
        let known = &flow["actions"][0]["inputSchema"]["properties"][field]["description"];
        assert!(known.is_string(), "{kind}: {field} has no description");
    }
}

#[test]
fn every_command_of_the_readme_is_one() {
    let readme = std::fs::read_to_string(repository().join("flows/README.md")).expect("flows/README.md is there");
    let commands: Vec<&str> = readme.split('`').filter_map(|part| part.strip_prefix("flowglass run ")).collect();
    assert!(commands.len() >= 4, "the README offers commands: {commands:?}");
    let place = Place::with_examples();
    for command in commands {
        let command = command.replace("\"pauseMs\":2000", "\"pauseMs\":20").replace(" --mock", "");
        let answer = ask(&place, &format!("run {command} --mock"));
        let expected = match () {
            () if command.starts_with("support refund") => 3,
            () if command.starts_with("refund ask") => 4,
            () => 0,
        };
        assert_eq!(answer.code, Some(expected), "flowglass run {command}\n{answer}");
    }
}

/// The flow that the README begins with, and the fork of it that it shows: one that comes to what its request came to
/// shows nothing.
#[test]
fn the_fork_of_the_readme_differs_from_its_request() {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("README.md is there");
    let source = readme.split("```ts\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it has a flow");
    let place = Place::new().file("hello.ts", source);
    let ran = place.get("run hello greet --user ada --request r --input {\"name\":\"Ada\"}");
    assert_eq!(ran["output"], serde_json::json!({ "times": 1 }));
    let line = readme.lines().find(|line| line.starts_with("flowglass fork REQUEST --at")).expect("it forks");
    let command = line.split(" #").next().unwrap_or(line).replace("REQUEST", "r").replace('\'', "");
    let forked = place.get(command.trim_start_matches("flowglass ").trim());
    assert_eq!(forked["output"], serde_json::json!({ "times": 5 }), "{command}");
    let session = forked["sessionId"].as_str().expect("an id");
    assert_eq!(place.get(&format!("state --session {session}"))["session"]["greeted"], 5);
}

#[test]
fn chat_remembers_across_sessions() {
    let place = Place::with_examples();
    check(
        &place,
        "run chat chat --user ada --session a --input '{\"message\":\"Hi, my name is Ada and I like tea\"}'",
        0,
    );
    check(&place, "run chat chat --user ada --session b --input '{\"message\":\"Hello again\"}'", 0);
    let greeting = place.run(&["items", "--session", "b", "--view", "client", "--type", "message"]);
    assert!(greeting.stdout.contains("Welcome back, Ada"), "{greeting}");
    let recalled = check(&place, "run chat recall --user ada --input '{}'", 0).json();
    assert!(recalled["output"]["facts"].to_string().contains("tea"), "{recalled}");
    check(&place, "run chat prefer --user ada --input '{\"responseStyle\":\"concise\"}'", 0);
    assert_eq!(place.get("state --user ada")["user"]["preferences"]["responseStyle"], "concise");
    let forgotten = check(&place, "run chat forget --user ada --input '{}'", 0).json();
    assert_eq!(forgotten["output"]["factsForgotten"], 2, "{forgotten}");
    assert_eq!(place.get("state --user ada")["user"]["facts"], serde_json::json!([]));
}

#[test]
fn the_team_assistant_looks_settings_up_from_narrow_to_broad() {
    let place = Place::with_examples();
    let style = |answer: Answer| {
        let request = answer.json()["requestId"].as_str().unwrap_or_default().to_owned();
        let shown = place.get(&format!("items --request {request} --type component"));
        shown[0]["data"]["styleFrom"].as_str().unwrap_or("?").to_owned()
    };
    let say = "--input '{\"message\":\"Plan the release\"}'";
    let run = |more: &str| check(&place, &format!("run team-assistant chat --user ada {more} {say}"), 0);
    assert_eq!(style(run("")), "default");
    assert_eq!(style(run("--project garden")), "project");
    check(&place, "run team-assistant prefer --user ada --input '{\"responseStyle\":\"concise\"}'", 0);
    assert_eq!(style(run("--project garden")), "user");
    check(
        &place,
        "run team-assistant prefer --user ada --session s --input '{\"responseStyle\":\"detailed\",\"where\":\"session\"}'",
        0,
    );
    assert_eq!(style(run("--project garden --session s")), "session");
    let once = "--input '{\"message\":\"Plan the release\",\"style\":\"concise\"}'";
    assert_eq!(style(check(&place, &format!("run team-assistant chat --user ada --session s {once}"), 0)), "request");
    check(&place, "run team-assistant ask --user ada --input '{\"message\":\"What next?\"}'", 0);
    check(&place, "run team-assistant configure --user ada --project garden --input '{\"maxTokens\":1000}'", 0);
    let failed = check(&place, "run team-assistant configure --user ada --input '{\"maxTokens\":1000}'", 3).json();
    assert_eq!(failed["error"]["code"], "no_project");
}

#[test]
fn research_completes_with_every_step_on_its_timeline() {
    let place = Place::with_examples();
    for input in ["{\"depth\":\"thorough\",\"pauseMs\":20}", "{\"pauseMs\":20}"] {
        let answer = check(&place, &format!("run research research --user ada --input '{input}'"), 0).json();
        let shown = place.get(&format!("show {}", answer["requestId"].as_str().unwrap_or_default()));
        let blocks = shown["blocks"].as_array().expect("a list");
        assert!(blocks.len() > 5 && blocks.iter().all(|block| block["status"] == "completed"), "{shown:#}");
    }
}

#[test]
fn research_asks_a_model_with_tools() {
    let place = Place::with_examples();
    check(&place, "run research ask --user ada --input '{}'", 0);
}

#[test]
fn refunds_complete_or_fail_with_their_code_and_place() {
    let place = Place::with_examples();
    let line = |order: &str| format!("run support refund --user ada --input '{{\"orderId\":\"{order}\"}}'");
    check(&place, &line("A-100"), 0);
    for (order, code, block) in [
        ("A-200", "refund_over_limit", "check-limit"),
        ("A-300", "order_not_refundable", "find-order"),
        ("A-999", "order_not_found", "find-order"),
    ] {
        let error = check(&place, &line(order), 3).json()["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        assert!(error["path"].as_str().is_some_and(|path| path.ends_with(block)), "{error}");
        assert_eq!(error["file"], "flows/lib/refunds.ts", "{error}");
    }
}

#[test]
fn tickets_find_a_desk() {
    let place = Place::with_examples();
    for action in ["ticket", "triage"] {
        let message = "{\"message\":\"I was charged twice, this is urgent!\",\"tier\":\"enterprise\"}";
        check(&place, &format!("run support {action} --user ada --input '{message}'"), 0);
    }
}
