//! Questions about the inside of blocks write nothing outside the cache and need no network: their answers are the same
//! where there is none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tests::bench::{Place, program};

const FLOW: &str = r#"const draw = handler({ name: "draw", inputSchema: z.any(), outputSchema: z.any(), execute: async (n, ctx) => {
  const drawn = Math.random();
  const at = Date.now();
  await ctx.session.patchState({ drawn });
  const kept = await ctx.runOnce("key", async () => drawn + at);
  await new Promise((go) => setTimeout(go, 1));
  return { kept, at };
} });
export default defineFlow({
  kind: "f",
  session: { stateSchema: z.object({ drawn: z.number().default(0) }) },
  actions: { go: { inputSchema: z.any(), block: draw } },
});
"#;

/// Questions of every kind, and what is written to the standard input of the one that reads it.
const QUESTIONS: [(&[&str], &str); 6] = [
    (&["print", "flows/main.ts:7", "drawn", "at", "ctx.session.state", "--json"], ""),
    (
        &["print", "flows/main.ts:7", "fetch('http://127.0.0.1:9')", "ctx.session.patchState({ drawn: 1 })", "--json"],
        "",
    ),
    (&["step", "r", "--at", "root", "--to", "9", "--watch", "kept", "--json"], ""),
    (&["coverage", "r", "--json"], ""),
    (&["debug", "r", "--json"], "n\nb flows/main.ts:7\nc\nwatch session.drawn\nrc\np drawn\n"),
    (&["diff", "r", "--locals", "root", "--with", "r", "--json"], ""),
];

/// Runs a command, through another program if there is one before it, and returns what it says.
#[track_caller]
fn ask(place: &Place, before: &[&str], (args, input): (&[&str], &str)) -> (Option<i32>, String) {
    let program = program().display().to_string();
    let words: Vec<&str> = before.iter().copied().chain([program.as_str()]).chain(args.iter().copied()).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(place.dir()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
    let written = std::io::Write::write_all(&mut child.stdin.take().expect("it is piped"), input.as_bytes());
    // A program that reads no input may have ended.
    drop(written);
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// All files of a folder but those of the cache, with what is in them.
fn files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("it is there").flatten() {
        let path = entry.path();
        if path.ends_with(".flowglass/cache") {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else {
            found.insert(path.clone(), std::fs::read(&path).expect("it can be read"));
        }
    }
}

#[track_caller]
fn files_of(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    files(place.dir(), &mut found);
    found
}

#[test]
fn a_question_writes_only_to_the_cache_and_reaches_no_network() {
    // A database on a server is elsewhere.
    if std::env::var_os("FLOWGLASS_TEST_POSTGRES").is_some() {
        return;
    }
    let place = Place::with_flow(FLOW);
    place.get("run f go --user ada --request r");
    place.get("flows");
    let had = files_of(&place);
    let answers: Vec<_> = QUESTIONS.iter().map(|question| ask(&place, &[], *question)).collect();
    for ((code, said), (args, _)) in answers.iter().zip(QUESTIONS) {
        assert!(*code == Some(0) && said.len() > 2, "{args:?}: {code:?} {said}");
    }
    let is_denied = Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success());
    if is_denied {
        // What is known from before must not answer in place of a run.
        std::fs::remove_dir_all(place.dir().join(".flowglass/cache")).expect("it is there");
        for (question, answer) in QUESTIONS.iter().zip(&answers) {
            assert_eq!(&ask(&place, &["unshare", "-n"], *question), answer, "{:?}", question.0);
        }
    } else {
        eprintln!("no command can be run in a network namespace of its own here");
    }
    let has = files_of(&place);
    let changed: Vec<_> =
        has.iter().filter(|(path, bytes)| had.get(*path) != Some(*bytes)).map(|(path, _)| path).collect();
    assert!(changed.is_empty() && has.len() == had.len(), "{changed:?}");
}
