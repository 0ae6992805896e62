//! Loading of flows: flows that were loaded before are known at once, others are loaded in the background.

use std::sync::mpsc::channel;
use std::time::Duration;

use runner::{Notice, OpenOptions, Workspace};
use tests::bench::{Place, program};

fn flow(kind: &str, first: &str) -> String {
    format!(
        r#"import {{ defineFlow, handler }} from "@flow-state-dev/core";
{first}
const say = handler({{ name: "say", execute: async () => "{kind}" }});
export default defineFlow({{ kind: "{kind}", actions: {{ go: {{ block: say }} }} }});
"#
    )
}

/// A window shows known flows without waiting for a file that takes long to load.
#[test]
fn a_window_lists_at_once_what_was_loaded_before() {
    let place = Place::new();
    for n in 0..20 {
        place.write(&format!("flows/known-{n}.ts"), flow(&format!("known-{n}"), ""));
    }
    assert_eq!(place.get("flows").as_array().map(Vec::len), Some(20));
    let slow = "const end = Date.now() + 4000; while (Date.now() < end);";
    place.write("flows/slow.ts", flow("slow", slow));
    let options = OpenOptions {
        dir: place.dir().to_owned(),
        keep_ready: true,
        bundler: Some(program()),
        ..OpenOptions::default()
    };
    let workspace = Workspace::open(options).expect("a workspace");
    let (told, notices) = channel();
    workspace.listen(move |notice| drop(told.send(notice.clone())));
    let known = workspace.flows().expect("flows");
    assert_eq!(known.len(), 20, "the slow one is not known yet");
    let told = notices.recv_timeout(Duration::from_secs(60)).expect("news of the slow one");
    assert!(matches!(told, Notice::Flows { .. }), "{told:?}");
    let all = workspace.flows().expect("flows");
    assert!(all.len() == 21 && all.iter().any(|flow| flow.kind == "slow"), "{:?}", all.len());
}

/// Our SDK and zod are provided modules: a flow gets the same module under any name of it, and importing a missing name
/// is an error at the import.
#[test]
fn packages_that_are_not_installed_are_provided() {
    let text = r#"import { defineFlow, handler, FlowError } from "@flow-state-dev/core";
import * as core from "@flow-state-dev/core";
import z, { z as named, ZodError } from "zod";
import * as all from "zod";
import { z as three } from "zod/v3";
import { z as four } from "zod/v4";
import * as mini from "zod/v4-mini";
import { common } from "./common.cjs";
const look = handler({ name: "look", execute: async () => {
  const failed = (schema: any) => schema.safeParse({}).error;
  return [
    core.FlowError === FlowError, core.handler === handler,
    z.string === named.string, all.z.string === z.string, three.ZodError === ZodError,
    failed(z.string()) instanceof ZodError, failed(four.string()) instanceof ZodError,
    mini.parse(mini.string(), "mini"), common(),
  ];
} });
export default defineFlow({ kind: "main", actions: { go: { block: look } } });
"#;
    let place = Place::new();
    place.write("flows/main.ts", text);
    place.write(
        "flows/common.cjs",
        "const { z } = require('zod'); exports.common = () => z.string().parse('common');\n",
    );
    let answer = place.get("run main go --user ada");
    let expected = serde_json::json!([true, true, true, true, true, true, false, "mini", "common"]);
    assert_eq!(answer["output"], expected, "{answer}");

    for (import, name, from) in [
        ("import { defineFlwo } from \"@flow-state-dev/core\";", "defineFlwo", "@flow-state-dev/core"),
        ("import { strng } from \"zod/v4\";", "strng", "zod/v4"),
    ] {
        place.write("flows/wrong.ts", format!("// A comment first.\n{import}\nexport default {name};\n"));
        let rows = place.get("flows");
        let rows = rows.as_array().expect("a list");
        let error =
            rows.iter().find(|row| row["kind"] == "wrong").map(|row| &row["error"]).expect("a row with an error");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(name) && message.contains(from) && !message.contains("flowglass"), "{error}");
        assert_eq!((&error["file"], &error["line"]), (&"flows/wrong.ts".into(), &2.into()), "{error}");
    }
}

#[test]
fn a_file_that_may_define_a_flow_and_does_not_is_named() {
    let make = "import { defineFlow, handler } from '@flow-state-dev/core';
export const make = (kind: string) => defineFlow({ kind, actions: { a: { block: handler({ name: 'a', execute: () => kind }) } } });
";
    let uses = "import { make } from './make';\nexport default make('chat');\n";
    let mut place = Place::new().file("src/make.ts", make).file("src/chat.ts", uses);
    let check = |place: &Place, words: &[&str]| {
        let answer = place.run(&["check"]);
        assert_eq!(answer.code, Some(1), "{answer}");
        for word in words {
            assert!(answer.stderr.contains(word), "{word}\n{answer}");
        }
    };
    let how = "where it lies in flows/ or is called *.flow.ts";
    check(&place, &["2 TypeScript files", "of which src/make.ts may define a flow and does not", how]);
    for name in ["a", "b", "c"] {
        place = place.file(&format!("src/{name}.ts"), make);
    }
    check(&place, &["of which src/a.ts, src/b.ts, src/c.ts and 1 more may define a flow and none does"]);
    // A file with the recommended name is found.
    place.write("src/chat.flow.ts", uses);
    let answer = place.run(&["check"]);
    assert_eq!((answer.code, answer.stdout.contains("ok    chat  (src/chat.flow.ts)")), (Some(0), true), "{answer}");
}
