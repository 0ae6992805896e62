//! Twenty flows with a planted bug each (`tests/flows/planted`), and a scripted agent that finds every cause by its
//! recipe: at most six calls and 8,000 tokens of answers, at four bytes a token.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::bench::{Place, repository};

const CALLS: usize = 6;
const TOKENS: usize = 8_000;

/// The cases, by the names of their flows.
fn cases() -> Vec<(String, Value)> {
    let folder = repository().join("tests/flows/planted");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the flows are there").flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".case.json") {
            let text = std::fs::read_to_string(entry.path()).expect("it is readable");
            let case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            cases.push((name.to_owned(), case));
        }
    }
    cases.sort_by(|(one, _), (other, _)| one.cmp(other));
    cases
}

/// Records the runs of a case, and returns the ids of their requests.
pub(crate) fn record(place: &Place, name: &str, case: &Value) -> Vec<String> {
    let folder = repository().join("tests/flows/planted");
    for ending in ["ts", "mock.json"] {
        if let Ok(text) = std::fs::read(folder.join(format!("{name}.{ending}"))) {
            place.write(&format!("{name}.{ending}"), text);
        }
    }
    let mut ids: Vec<String> = Vec::new();
    for run in case["runs"].as_array().expect("runs") {
        let mut words: Vec<String> = Vec::new();
        if let Some(number) = run["resume"].as_u64() {
            words.extend(["resume".to_owned(), ids[number as usize - 1].clone()]);
            let answer = &run["answer"];
            match answer["reply"].as_str() {
                Some("submit") => words.extend(["--submit".to_owned(), answer["data"].to_string()]),
                Some(reply) => words.push(format!("--{reply}")),
                None => words.push("--approve".to_owned()),
            }
        } else {
            let id = format!("run{}", ids.len() + 1);
            let action = run["action"].as_str().expect("an action");
            let user = run["user"].as_str().unwrap_or("ada");
            words.extend(["run", name, action, "--mock", "--request", &id, "--user", user].map(str::to_owned));
            if let Some(session) = run["session"].as_str() {
                words.extend(["--session".to_owned(), session.to_owned()]);
            }
            if !run["input"].is_null() {
                words.extend(["--input".to_owned(), run["input"].to_string()]);
            }
            ids.push(id);
        }
        words.push("--json".to_owned());
        let answer = place.run(&words);
        // A run may fail, or wait for an answer; it must not be refused.
        assert!(answer.code.is_some_and(|code| [0, 3, 4].contains(&code)), "{name}: {words:?}\n{answer}");
    }
    ids
}

/// The arguments of a call, with the ids of this recording.
pub(crate) fn filled(arguments: &Value, ids: &[String]) -> Value {
    match arguments {
        Value::String(text) => {
            let mut text = text.clone();
            for (n, id) in ids.iter().enumerate().rev() {
                text = text.replace(&format!("${}", n + 1), id);
            }
            Value::String(text)
        }
        Value::Array(all) => all.iter().map(|one| filled(one, ids)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), filled(value, ids))).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_planted_bug_is_found_by_its_recipe() {
    let cases = cases();
    assert_eq!(cases.len(), 20);
    let mut report = String::new();
    for (name, case) in &cases {
        let place = Place::new();
        let ids = record(&place, name, case);
        let mut agent = Agent::start(place.dir(), &[]);
        let recipe = case["recipe"].as_array().unwrap_or_else(|| panic!("{name} has no recipe"));
        assert!(!recipe.is_empty(), "{name}");
        let mut all = String::new();
        for step in recipe {
            let (tool, arguments) = (step["tool"].as_str().expect("a tool"), filled(&step["arguments"], &ids));
            let answer = agent.get(tool, arguments.clone());
            let shows = filled(&step["shows"], &ids);
            let shows = shows.as_str().unwrap_or_else(|| panic!("{name}: a step shows nothing"));
            assert!(
                answer.text.contains(shows),
                "{name}: {tool} {arguments} does not show {shows:?}:\n{}",
                answer.text
            );
            all.push_str(&answer.text);
        }
        let cause = &case["cause"];
        let place = cause["path"].as_str().expect("a path");
        assert!(all.contains(place), "{name}: no answer names {place}\n{all}");
        let tokens = agent.read / tests::agent::BYTES_PER_TOKEN;
        assert!(agent.calls <= CALLS && tokens <= TOKENS, "{name}: {} calls, {tokens} tokens", agent.calls);
        report.push_str(&format!("{name}: {} calls, {tokens} tokens\n", agent.calls));
    }
    println!("{report}");
}

/// The line that each case names as its cause is the line that its file has.
#[test]
fn every_cause_is_a_line_of_its_flow() {
    for (name, case) in cases() {
        let file = case["cause"]["file"].as_str().expect("a file");
        let text = std::fs::read_to_string(repository().join("tests/flows/planted").join(file)).expect("it is there");
        let line = case["cause"]["line"].as_u64().expect("a line") as usize;
        assert!(!text.lines().nth(line - 1).unwrap_or_default().trim().is_empty(), "{name}: {file}:{line}");
        assert!(case["symptom"].as_str().is_some_and(|symptom| symptom.len() > 20), "{name}");
        assert_ne!(case["cause"]["what"], json!(null), "{name}");
    }
}
