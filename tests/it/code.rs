//! The code that a request ran is kept by content, and shown whatever the files say today.

use serde_json::Value;
use tests::bench::Place;

const FLOW: &str = r#"import { double } from "./lib";
const add = handler({
  name: "add",
  execute: (n) => double(n) + 1,
});
export default defineFlow({
  kind: "main",
  actions: { go: { block: sequencer({ name: "chain", inputSchema: z.number() }).step(add) } },
});
"#;

fn place() -> Place {
    Place::with_flow(FLOW).file("flows/lib.ts", "export const double = (n: number) => n * 2;\n")
}

#[test]
fn the_code_that_ran_is_shown_after_it_changed() {
    let place = place();
    place.get("run main go --user u --request old --input 1");
    let old = place.get("show old --source");
    assert_eq!(old["file"], "flows/main.ts");
    assert_eq!(old["hash"], place.get("events old")[0]["payload"]["codeHash"]);
    assert!(old["text"].as_str().expect("a text").ends_with(FLOW), "{old}");
    assert_eq!(old["request"]["id"], "old");
    place.edit(&FLOW.replace("+ 1", "+ 2"));
    place.get("run main go --user u --request new --input 1");
    assert_eq!(place.get("show old --source"), old);
    assert_ne!(place.get("show new --source")["hash"], old["hash"]);
    let answer = place.run(&["show", "old", "--source"]);
    assert_eq!(answer.stdout, old["text"].as_str().expect("a text"));
    assert!(answer.stderr.contains("it imports flows/lib.ts (44 bytes"), "{answer}");
    assert_eq!(old["imports"][0]["file"], "flows/lib.ts");
    let lib = old["imports"][0]["text"].as_str().expect("a text");
    assert!(lib.starts_with("export const double"), "{lib}");
    let block = place.get("show old --source root/step:add");
    assert_eq!((block["file"].as_str(), block["line"].as_u64()), (Some("flows/main.ts"), Some(4)));
    assert!(
        block["text"].as_str().is_some_and(|text| text.starts_with("const add = handler({") && text.ends_with("})"))
    );
    let chain = place.get("show old --source root");
    assert!(chain["text"].as_str().is_some_and(|text| text.ends_with(".step(add)")), "a chain to its end: {chain}");
    assert_eq!(chain["imports"], Value::Null);
    for (line, code) in [("show old --source root/step:nobody", 6), ("show nobody --source", 6)] {
        assert_eq!(place.ask(line).code, Some(code), "{line}");
    }
    assert_eq!(place.get("check --data .flowglass/flowglass.db")["ok"], true);
}

#[test]
fn code_goes_with_its_requests() {
    let place = place();
    place.get("run main go --user u --session s --request r --input 1");
    place.get("export --session s --out s.flowglass");
    place.get("--data there.db import s.flowglass");
    assert_eq!(place.get("--data there.db show r --source")["text"], place.get("show r --source")["text"]);
    place.get("--data there.db compact");
    place.get("--data there.db show r --source");
    place.get("--data there.db delete --session s");
    place.get("--data there.db compact");
    assert_eq!(place.get("--data there.db stats")["uniquePayloadBytes"], 0);
    assert_eq!(place.get("check --data there.db")["ok"], true);
    place.get("--data there.db import s.flowglass");
    place.get("--data there.db show r --source");
    assert_eq!(place.get("check --data there.db")["ok"], true);
}
