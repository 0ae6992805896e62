//! A change of `tsconfig.json`, or of a file that it extends, is a change of the flows that are bundled with it.

use serde_json::json;
use tests::bench::Place;

const FLOW: &str = "import { value } from \"@/value\";
export default defineFlow({ kind: \"main\", actions: { go: { block: handler({ name: \"go\", execute: () => value }) } } });
";

/// Settings that map `@/` to a folder.
fn mapped(folder: &str) -> String {
    json!({ "compilerOptions": { "paths": { "@/*": [format!("./{folder}/*")] } } }).to_string()
}

/// A flow that imports a value by `@/value`, and two folders that have it.
fn place() -> Place {
    Place::with_flow(FLOW)
        .file("one/value.ts", "export const value = 1;\n")
        .file("two/value.ts", "export const value = 2;\n")
        .file("flows/three/value.ts", "export const value = 3;\n")
}

#[track_caller]
fn gives(place: &Place, value: u32) {
    assert_eq!(place.get("run main go --user u")["output"], value);
    assert_eq!(place.get("check")[0]["error"], json!(null));
}

#[test]
fn a_change_of_the_settings_is_seen() {
    let place = place().file("tsconfig.json", &mapped("one"));
    gives(&place, 1);
    place.write("tsconfig.json", mapped("two"));
    gives(&place, 2);
    place.write("tsconfig.json", "{ \"extends\": \"./settings/base\" }");
    place.write("settings/base.json", "{ \"extends\": [\"./inner.json\"] }");
    place.write("settings/inner.json", mapped("../one"));
    gives(&place, 1);
    place.write("settings/inner.json", mapped("../two"));
    gives(&place, 2);
    place.write("settings/base.json", mapped("../one"));
    gives(&place, 1);
}

#[test]
fn settings_that_appear_or_disappear_are_seen() {
    let place = place().file("tsconfig.json", &mapped("one"));
    gives(&place, 1);
    // Nearer to the flow.
    place.write("flows/tsconfig.json", mapped("three"));
    gives(&place, 3);
    std::fs::remove_file(place.dir().join("flows/tsconfig.json")).expect("it is there");
    gives(&place, 1);
    // In the place of a file that is extended: the path itself comes before the one with an ending.
    place.write("tsconfig.json", "{ \"extends\": \"./base\" }");
    place.write("base.json", mapped("one"));
    gives(&place, 1);
    place.write("base", mapped("two"));
    gives(&place, 2);
}

#[test]
fn what_verifies_after_every_save_sees_a_change_of_the_settings() {
    let place = place().file("tsconfig.json", "{ \"extends\": \"./base.json\" }").file("base.json", &mapped("one"));
    place.get("run main go --user u --request r");
    let watch = place.start("verify --watch --all");
    watch.until_it_prints("the first round", |round| round["same"] == 1);
    place.write("base.json", mapped("two"));
    watch.until_it_prints("the round after the change", |round| round["differs"] == 1);
    place.write("flows/tsconfig.json", "{ \"compilerOptions\": { \"paths\": { \"@/*\": [\"../one/*\"] } } }");
    watch.until_it_prints("the round after the new file", |round| round["same"] == 1);
    watch.signal("INT");
    watch.ended();
}
