//! Projects as people lay them out: flows are found where a project keeps them, and load with what it imports.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

const IMPORTS: &str = "import { defineFlow, handler } from \"@flow-state-dev/core\";\n";

/// A flow of one action, `go`, that answers with what the expression comes to.
fn flow(kind: &str, answer: &str) -> String {
    format!(
        "{IMPORTS}export default defineFlow({{ kind: \"{kind}\", actions: {{ go: {{ block: handler({{ name: \"go\", \
         execute: (input, ctx) => {answer} }}) }} }} }});\n"
    )
}

fn kinds(place: &Place) -> Vec<String> {
    let flows = place.get("flows");
    flows.as_array().expect("a list").iter().map(|flow| flow["kind"].as_str().expect("a text").to_owned()).collect()
}

#[track_caller]
fn check_output(place: &Place, kind: &str, output: &Value) {
    let answer = place.ask(&format!("run {kind} go --user ada --input 1"));
    assert_eq!(&answer.json()["output"], output, "{answer}");
}

/// The only flow does not load, and says so at this place, with these words.
#[track_caller]
fn check_error(place: &Place, file: &str, line: u32, words: &[&str]) {
    let flows = place.get("flows");
    let error = &flows[0]["error"];
    assert_eq!((&error["file"], &error["line"]), (&json!(file), &json!(line)), "{flows}");
    for word in words {
        assert!(error["message"].as_str().is_some_and(|message| message.contains(word)), "{word}: {flows}");
    }
}

#[test]
fn a_project_of_the_framework_loads_as_it_stands() {
    let place = Place::new()
        .file("package.json", "{\"name\": \"my-app\", \"type\": \"module\", \"dependencies\": {\"next\": \"^16.1.6\"}}")
        .file(
            "tsconfig.json",
            "{ \"extends\": \"../../tsconfig.base.json\",\n \"compilerOptions\": { \"jsx\": \"react-jsx\", \"paths\": \
             { \"@/*\": [\"./src/*\"] } },\n \"references\": [{ \"path\": \"../../packages/core\" }] }",
        )
        .file("fsdev.config.ts", "import flow from './src/flows/hello-chat/flow';\nexport default { flows: [flow] };\n")
        .file("next.config.mjs", "export default {};\n")
        .file(
            "lib/server.ts",
            "import { createFlowState } from '@flow-state-dev/engine';\nexport { createFlowState };\n",
        )
        .file("app/api/flows/route.ts", "import { GET } from '@/lib/server';\nexport { GET };\n")
        .file("app/page.tsx", "export default function Page() { return <p>Hello</p>; }\n")
        .file(
            "src/flows/hello-chat/flow.ts",
            "import { defineFlow, generator, sequencer } from \"@flow-state-dev/core\";
import { z } from \"zod\";
import { greet } from \"./blocks/greet\";
import { shout } from \"@/lib/shout\";
import prompt from \"./prompt.md\";

const inputSchema = z.object({ message: z.string() });
const user = (input: z.infer<typeof inputSchema>) => input.message;
const chat = generator({ name: \"chat\", model: \"openai/gpt-5-mini\", prompt, inputSchema, user });
const steps = sequencer({ name: \"run\", inputSchema }).then(chat).map(shout).then(greet);
export const helloChat = defineFlow({
  kind: \"hello-chat\",
  requireUser: true,
  actions: { chat: { inputSchema, block: steps } },
});
export default helloChat({ id: \"default\" });
",
        )
        .file(
            "src/flows/hello-chat/blocks/greet.ts",
            &format!(
                "{IMPORTS}export const greet = handler({{ name: \"greet\", execute: (text) => `Hi: ${{text}}` }});\n"
            ),
        )
        .file("src/flows/hello-chat/prompt.md", "# You are polite\n")
        .file("src/flows/hello-chat/flow.test.ts", &flow("a-test", "1"))
        .file("src/flows/hello-chat/flow.mock.json", "{ \"generators\": { \"chat\": [{ \"text\": \"good day\" }] } }")
        .file("src/flows/index.ts", "export { default as helloChat } from \"./hello-chat/flow\";\n")
        .file("src/lib/shout.ts", "export const shout = (text: string) => text.toUpperCase();\n")
        .file("test/flow.test.ts", "import { testFlow } from '@flow-state-dev/testing';\ntestFlow(defineFlow({}));\n");
    let dir = place.dir().display().to_string();
    let elsewhere = Place::new();
    let check = elsewhere.run(&["--dir", &dir, "check"]);
    assert_eq!(
        (check.code, check.stdout.as_str()),
        (Some(0), "ok    hello-chat  (src/flows/hello-chat/flow.ts)\n1 of 1 flows load\n"),
        "{check}"
    );
    let run = elsewhere.run(&[
        "--dir",
        &dir,
        "run",
        "hello-chat",
        "chat",
        "--user",
        "ada",
        "--input",
        "{\"message\": \"hello\"}",
        "--mock",
        "--json",
    ]);
    assert_eq!(run.json()["output"], "Hi: GOOD DAY", "{run}");
}

#[test]
fn settings_of_a_host_make_the_flows_that_no_file_makes() {
    let makes = "import { defineFlow, handler } from '@flow-state-dev/core';
import { createBearerSecretPrincipalResolver } from '@flow-state-dev/server';
const secret = process.env.SECRET;
const resolvePrincipal = secret ? createBearerSecretPrincipalResolver({ secret }) : undefined;
export const made = (greeting: string) => defineFlow({
  kind: 'made', authentication: { resolvePrincipal },
  actions: { go: { block: handler({ name: 'go', execute: () => greeting }) } },
})({ id: 'default' });
";
    let settings = "import { createFlowState, filesystemStores, inMemoryStores } from '@flow-state-dev/engine';
import { createGateway } from 'not-installed-here';
import path from 'node:path';
import { readFileSync } from 'node:fs';
import own from './src/own';
import { made } from './src/made';
const runtime = createFlowState({
  flows: { own, made: made('hello') },
  models: { gateways: { any: createGateway({ apiKey: process.env.KEY }) } },
  stores: { dev: { primary: inMemoryStores(), other: filesystemStores(path.join('a', `${readFileSync('b')}`)) } },
});
export default runtime;
";
    let place =
        Place::new().file("src/own.ts", &flow("own", "1")).file("src/made.ts", makes).file("fsdev.config.ts", settings);
    let check = place.run(&["check"]);
    let told = "ok    made  (fsdev.config.ts)\nok    own  (src/own.ts)\n2 of 2 flows load\n";
    assert_eq!((check.code, check.stdout.as_str()), (Some(0), told), "{check}");
    check_output(&place, "made", &json!("hello"));
    // Where the settings need more than that, the flows beside them still load.
    place.write("fsdev.config.ts", format!("{settings}throw new Error('no key');\n"));
    let check = place.run(&["check"]);
    assert_eq!(
        (check.code, check.stdout.as_str()),
        (Some(0), "ok    own  (src/own.ts)\n1 of 1 flows load\n"),
        "{check}"
    );
    std::fs::remove_file(place.dir().join("src/own.ts")).expect("it is there");
    place.write("fsdev.config.ts", settings.replace("import own from './src/own';", "throw new Error('no key');"));
    let check = place.run(&["check"]);
    assert!(check.code == Some(1) && check.stdout.contains("no key"), "{check}");
}

#[test]
fn flows_are_found_where_a_project_keeps_them() {
    let found = [
        ("flows/a.ts", "a"),
        ("src/b.ts", "b"),
        ("src/deep/down/c.ts", "c"),
        ("app/api/d/route.ts", "d"),
        ("packages/one/src/flows/e/flow.ts", "e"),
        ("lib/f.tsx", "f"),
        ("g.ts", "g"),
    ];
    let left_out = [
        "node_modules/p/h.ts",
        "packages/one/node_modules/p/h.ts",
        "dist/h.ts",
        "build/h.ts",
        ".next/h.ts",
        ".flowglass/h.ts",
        "src/h.test.ts",
        "src/h.spec.ts",
        "src/__tests__/h.ts",
        "test/h.ts",
        "tests/h.ts",
        "flows/tests/h.ts",
        "src/h.config.ts",
        "src/h.d.ts",
    ];
    let place = Place::new();
    for (file, kind) in found {
        place.write(file, flow(kind, "1"));
    }
    for file in left_out {
        place.write(file, flow("left-out", "1"));
    }
    // They import the framework, and define no flow.
    place
        .write("src/blocks.ts", format!("{IMPORTS}export const block = handler({{ name: 'b', execute: () => 1 }});\n"));
    place.write(
        "src/server.ts",
        "import { defineFlow } from '@flow-state-dev/core';\nimport 'no-such-package';\n// defineFlow({})\n",
    );
    place.write(
        "src/make.ts",
        format!("{IMPORTS}export const make = (kind) => defineFlow({{ kind, actions: {{}} }});\n"),
    );
    let mut all = kinds(&place);
    all.sort();
    assert_eq!(all, ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(place.run(&["check"]).code, Some(0));
    check_output(&place, "e", &json!(1));
    // What the folder names is all that counts.
    place.write("flowglass.json", "{\"flows\": [\"src/deep\", \"g.ts\"]}");
    assert_eq!(kinds(&place), ["g", "c"]);
}

#[test]
fn a_definition_and_its_instance_are_one_flow_and_others_are_their_own() {
    let block = "handler({ name: 'go', execute: (_input, ctx) => ctx.requestRuntime.flow })";
    let place = Place::new();
    place.write(
        "src/one.ts",
        format!(
            "{IMPORTS}export const chat = defineFlow({{ kind: 'chat', actions: {{ go: {{ block: {block} }} }} }});\n\
         export default chat({{ id: 'default' }});\n"
        ),
    );
    place.write("src/many.ts", format!(
        "{IMPORTS}const actions = (answer) => ({{ go: {{ block: handler({{ name: 'go', execute: () => answer }}) }} }});\n\
         export const left = defineFlow({{ kind: 'left', actions: actions('from the left') }});\n\
         export const right = defineFlow({{ kind: 'right', actions: actions('from the right') }})({{ id: 'one' }});\n\
         export default defineFlow({{ kind: 'middle', actions: actions('between') }});\n"
    ));
    place.write(
        "src/all.ts",
        "import chat from './one';\nimport { defineFlow, handler } from '@flow-state-dev/core';\n\
        export { chat };\nexport * from './many';\nexport const own = defineFlow({ kind: 'own', actions: {} });\n",
    );
    place.write(
        "src/list.ts",
        format!(
            "{IMPORTS}const flow = (kind) => defineFlow({{ kind, actions: {{ go: {{ block: {block} }} }} }});\n\
         export default [flow('up')({{ id: 'one' }}), flow('down')({{ id: 'two' }})];\n"
        ),
    );
    let mut all = kinds(&place);
    all.sort();
    assert_eq!(all, ["chat", "down", "left", "middle", "own", "right", "up"]);
    let flows = place.get("flows");
    assert!(flows.as_array().expect("a list").iter().all(|flow| flow["error"].is_null()), "{flows}");
    check_output(&place, "left", &json!("from the left"));
    check_output(&place, "right", &json!("from the right"));
    check_output(&place, "middle", &json!("between"));
    // A request knows which of them it was.
    place.get("run right go --user ada --request r --input 1");
    assert_eq!(place.get("replay r")["identical"], true);
    place.write(
        "src/twice.ts",
        format!(
            "{IMPORTS}export const a = defineFlow({{ kind: 'same', actions: {{}} }});\n\
         export const b = defineFlow({{ kind: 'same', actions: {{}} }});\n"
        ),
    );
    let answer = place.run(&["check"]);
    assert!(answer.code == Some(1) && answer.stdout.contains("\"same\" is defined twice in this file"), "{answer}");
}

#[test]
fn where_no_flow_is_the_check_says_where_it_looked() {
    let place = Place::new().file("src/util.ts", "export const a = 1;\n").file("tests/a.ts", &flow("a", "1"));
    let answer = place.run(&["check"]);
    assert_eq!(answer.code, Some(1), "{answer}");
    for words in ["no flow found in", "looked into 1 TypeScript file", "node_modules", "tests", "flows/main.ts"] {
        assert!(answer.stderr.contains(words), "{words}\n{answer}");
    }
    assert_eq!(place.ask("check").json(), json!([]));
    place.write("flowglass.json", "{\"flows\": [\"src\"]}");
    let answer = place.run(&["check"]);
    assert!(answer.code == Some(1) && answer.stderr.contains("\"flows\" in flowglass.json names src"), "{answer}");
}

#[test]
fn packages_of_the_workspace_are_bundled_without_their_links() {
    for settings in
        [("package.json", "{\"workspaces\": [\"libs/*\"]}"), ("pnpm-workspace.yaml", "packages:\n  - \"libs/*\"\n")]
    {
        let place = Place::new()
            .file(settings.0, settings.1)
            .file(
                "libs/memory/package.json",
                "{\"name\": \"@flow-state-dev/memory\", \
                 \"exports\": {\".\": \"./src/index.ts\", \"./more\": \"./src/more.ts\"}}",
            )
            .file(
                "libs/memory/src/index.ts",
                "import { handler, notThere } from '@flow-state-dev/core';\n\
                 import { readFileSync, writeFileSync } from 'node:fs';\n\
                 export { readFileSync, writeFileSync, notThere };\n\
                 export const remember = handler({ name: 'remember', execute: (x) => `kept ${x}` });\n",
            )
            .file("libs/memory/src/more.ts", "export const more = 2;\n")
            .file("libs/plain/package.json", "{\"name\": \"plain\", \"main\": \"./main.js\"}")
            .file("libs/plain/main.js", "module.exports = { plain: require('node:path').join('a', 'b') };\n")
            .file(
                "apps/web/src/flows/main.ts",
                "import { defineFlow, handler, sequencer } from '@flow-state-dev/core';
import { remember, readFileSync, writeFileSync, notThere } from '@flow-state-dev/memory';
import { more } from '@flow-state-dev/memory/more';
import { plain } from 'plain';
const show = handler({ name: 'show', execute: (x) => [x, more, plain] });
const read = handler({ name: 'read', execute: () => readFileSync('/etc/passwd') });
const none = handler({ name: 'none', execute: () => notThere() });
const write = handler({ name: 'write', execute: () => writeFileSync('/tmp/a', '') });
const chain = sequencer({ name: 'go' }).step(remember).step(show);
export default defineFlow({ kind: 'main', actions: {
  go: { block: chain }, read: { block: read }, write: { block: write }, none: { block: none } } });
",
            );
        check_output(&place, "main", &json!(["kept 1", 2, "a/b"]));
        let read = place.ask("run main read --user ada");
        let message = read.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains("ENOENT") && message.contains("'/etc/passwd'"), "{read}");
        let write = place.ask("run main write --user ada");
        let message = write.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains("writeFileSync cannot be used") && message.contains("resources"), "{write}");
        let none = place.ask("run main none --user ada").json();
        let message = none["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("notThere cannot be used") && message.contains("@flow-state-dev/core"), "{none}");
    }
}

#[test]
fn a_package_reads_the_texts_of_a_folder_that_a_module_names() {
    let reads = "import fs from 'node:fs/promises';
import path from 'node:path';
export async function readAll(root) {
  const found = {};
  for (const entry of await fs.readdir(root)) {
    const at = path.join(root, entry);
    const about = await fs.lstat(at);
    if (about.isDirectory()) Object.assign(found, await readAll(at));
    else if (!about.isSymbolicLink()) found[at] = await fs.readFile(at, 'utf8');
  }
  return found;
}
";
    let skills = "import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readAll } from 'reader';
const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), 'skills');
export const skills = await readAll(folder);
";
    let place = Place::new()
        .file("node_modules/reader/package.json", "{\"name\": \"reader\", \"type\": \"module\", \"main\": \"./a.js\"}")
        .file("node_modules/reader/a.js", reads)
        .file("src/team/skills.ts", skills)
        .file("src/team/skills/greet/SKILL.md", "Greet.")
        .file("src/team/skills/greet/more/deep.md", "Deep.")
        .file("src/team/notes.md", "Not in it.")
        .file("src/team/flow.ts", &format!("import {{ skills }} from './skills';\n{}", flow("main", "skills")));
    let all = json!({ "/src/team/skills/greet/SKILL.md": "Greet.", "/src/team/skills/greet/more/deep.md": "Deep." });
    check_output(&place, "main", &all);
    // Its texts are a part of what the flow is made of.
    place.write("src/team/skills/greet/SKILL.md", "Greet twice.");
    let now = place.ask("run main go --user ada --input 1").json();
    assert_eq!(now["output"]["/src/team/skills/greet/SKILL.md"], "Greet twice.", "{now}");
}

#[test]
fn each_instance_of_a_collection_is_a_flow() {
    let review = "import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';
const tell = handler({ name: 'tell', execute: (_, ctx) => [ctx.flow.kind, ctx.flow.id, ctx.flow.config.lead] });
export const review = defineFlow({ kind: 'review', cardinality: 'collection',
  configSchema: z.object({ lead: z.string() }), actions: { go: { block: tell } } });
";
    let both = format!(
        "{review}export const east = review({{ id: 'review-east', config: {{ lead: 'Ada' }} }});\n\
         export const west = review({{ id: 'review-west', config: {{ lead: 'Bob' }} }});\n"
    );
    let place = Place::new().file("src/flows/review.ts", &both);
    let check = place.run(&["check"]);
    let told =
        "ok    review-east  (src/flows/review.ts)\nok    review-west  (src/flows/review.ts)\n2 of 2 flows load\n";
    assert_eq!((check.code, check.stdout.as_str()), (Some(0), told), "{check}");
    check_output(&place, "review-east", &json!(["review", "review-east", "Ada"]));
    check_output(&place, "review-west", &json!(["review", "review-west", "Bob"]));
    let bare = place.ask("run review go --user ada");
    assert!(bare.stderr.contains("there are: review-east, review-west"), "{bare}");
    // Each in a file of its own, of a definition in another one.
    let place = Place::new().file("src/review.ts", review);
    for (file, lead) in [("east", "Ada"), ("west", "Bob")] {
        let text = format!(
            "import {{ review }} from '../../review';\n\
             export default review({{ id: 'review-{file}', config: {{ lead: '{lead}' }} }});\n"
        );
        place.write(&format!("src/flows/{file}/flow.ts"), text);
    }
    check_output(&place, "review-east", &json!(["review", "review-east", "Ada"]));
    check_output(&place, "review-west", &json!(["review", "review-west", "Bob"]));
}

/// What a file tells of itself stands with a flow that is listed there, and once.
#[test]
fn a_warning_stands_with_one_flow_of_its_file() {
    let (x, y) = (flow("x", "1"), flow("y", "1").replace("handler({ ", "handler({ bogus: 1, "));
    let y = y.replace("export default", "export const y =");
    let z = "export const z = defineFlow({ kind: 'z', actions: {} });\n";
    let place = Place::new()
        .file("flows/x.ts", &x)
        .file("flows/more.ts", &format!("export {{ default as x }} from './x';\n{y}{z}"));
    let check = place.run(&["check"]);
    assert_eq!(check.stdout.matches("bogus").count(), 1, "{check}");
}

#[test]
fn a_module_reads_the_texts_that_lie_beside_it() {
    let reads = "import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
export const here = dirname(fileURLToPath(import.meta.url));
export const worker = readFileSync(join(here, 'WORKER.md'), 'utf8');
export const skills = readdirSync(join(here, 'skills'));
";
    let loads = "import { readFileSync } from 'node:fs';
export const load = (file: string) => readFileSync(file, 'utf8').trim();
";
    let shows = "[worker, skills, load(join(here, 'skills', 'note.md'))]";
    let imports = "import { join } from 'node:path';\nimport { here, worker, skills } from './worker';\n\
                   import { load } from './load';\n";
    let place = Place::new()
        .file("src/desk/worker.ts", reads)
        .file("src/desk/load.ts", loads)
        .file("src/desk/WORKER.md", "# Worker")
        .file("src/desk/skills/note.md", "Take a note.\n")
        .file("src/desk/flow.ts", &format!("{imports}{}", flow("main", shows)));
    check_output(&place, "main", &json!(["# Worker", ["note.md"], "Take a note."]));
    // A module that does not ask where it lies may still name a text.
    place.write("src/desk/load.ts", loads.replace("readFileSync(file", "readFileSync('src/desk/more.txt'"));
    place.write("src/desk/more.txt", "More.");
    place.write("src/desk/flow.ts", format!("{imports}{}", flow("main", "load('')")));
    check_output(&place, "main", &json!("More."));
    place.write("src/desk/load.ts", loads);
    // What nobody names is not there, and nothing is written.
    place.write("src/desk/flow.ts", format!("{imports}{}", flow("main", "load('/etc/passwd')")));
    let read = place.ask("run main go --user ada --input 1");
    assert!(read.json()["error"]["message"].as_str().is_some_and(|text| text.contains("ENOENT")), "{read}");
    place.write("src/desk/load.ts", loads.replace("{ readFileSync }", "{ readFileSync, writeFileSync }"));
    check_error(&place, "src/desk/load.ts", 1, &["node:fs", "resources"]);
}

#[test]
fn a_package_that_is_not_there_is_named_at_its_import() {
    let place = Place::new().file(
        "flows/main.ts",
        &format!("import {{ x }} from '@flow-state-dev/workforce/agents';\n{}", flow("main", "x")),
    );
    check_error(
        &place,
        "flows/main.ts",
        1,
        &["\"@flow-state-dev/workforce\"", "which flows/main.ts needs for x", "belongs to the framework"],
    );
    // Of several the first is named.
    let imports =
        "import { a } from '@flow-state-dev/patterns/a';\nimport { b } from 'not-there';\nimport 'nor-this';\n";
    place.write("flows/main.ts", format!("{imports}{}", flow("main", "[a, b]")));
    check_error(&place, "flows/main.ts", 1, &["\"@flow-state-dev/patterns\""]);
    let one = format!("import {{ x }} from '@flow-state-dev/workforce/agents';\n{}", flow("main", "x"));
    place.write("flows/main.ts", one);
    place.write("package.json", "{\"dependencies\": {\"@flow-state-dev/workforce\": \"*\"}}");
    check_error(
        &place,
        "flows/main.ts",
        1,
        &["\"@flow-state-dev/workforce\"", "package.json depends on it", "npm install"],
    );
    // In a package, the import of the author's that leads there is told.
    let place = Place::new()
        .file("node_modules/inner/package.json", "{\"name\": \"inner\", \"main\": \"./a.js\"}")
        .file("node_modules/inner/a.js", "export { b } from './b.js';\n")
        .file("node_modules/inner/b.js", "export { b } from 'not-there';\n")
        .file("flows/main.ts", &format!("{}import {{ b }} from 'inner';\n", flow("main", "b")));
    check_error(&place, "flows/main.ts", 3, &["\"not-there\"", "node_modules/inner/b.js imports it"]);
}

#[test]
fn other_built_ins_say_what_takes_their_place() {
    for (import, words) in [
        ("node:fs", "resources"),
        ("fs/promises", "?raw"),
        ("https", "fetch"),
        ("node:child_process", "starts no processes"),
        ("node:sqlite", "resources"),
        ("node:nothing", "Node.js has no built-in \"node:nothing\""),
    ] {
        let place = Place::new().file("flows/main.ts", &format!("{}import x from '{import}';\n", flow("main", "x")));
        check_error(&place, "flows/main.ts", 3, &[import, words]);
    }
    let place = Place::new().file(
        "flows/main.ts",
        &format!("{}import {{ createCipheriv }} from 'crypto';\n", flow("main", "createCipheriv")),
    );
    check_error(&place, "flows/main.ts", 3, &["\"createCipheriv\" is not exported by \"node:crypto\"", "createHash"]);
}

#[test]
fn the_environment_is_what_the_settings_name() {
    let place = Place::new().variable("SHOP_TOKEN", "sesame").variable("OTHER", "no").file(
        "flows/main.ts",
        &format!(
            "import proc from 'node:process';\nconst atLoad = process.env.REGION;\n{}",
            flow(
                "main",
                "[atLoad, process.env.REGION, proc.env.OTHER ?? null, process.env['SHOP_TOKEN']?.length ?? null, \
                 Object.keys(process.env)]"
            )
        ),
    );
    check_output(&place, "main", &json!([null, null, null, null, []]));
    place.write("flowglass.json", "{\"env\": {\"REGION\": \"eu\", \"SHOP_TOKEN\": {\"valueEnv\": \"SHOP_TOKEN\"}}}");
    check_output(&place, "main", &json!(["eu", "eu", null, 6, ["REGION", "SHOP_TOKEN"]]));
    // What a file says at its load is asked again when its environment changes.
    place.write(
        "flows/main.ts",
        format!(
            "{IMPORTS}if (!process.env.KEY) throw new Error('KEY is missing');\n{}",
            flow("main", "1").replace(IMPORTS, "")
        ),
    );
    check_error(&place, "flows/main.ts", 2, &["KEY is missing"]);
    place.write("flowglass.json", "{\"env\": {\"KEY\": \"k\"}}");
    check_output(&place, "main", &json!(1));
}

#[test]
fn files_are_imported_as_text() {
    let place = Place::new()
        .file("src/prompts/system.md", "# Be `kind`\n${this} \"stays\"\n")
        .file("src/prompts/user.txt", "plain")
        .file("src/data.json", "{\"a\": [1]}")
        .file("src/template.weird", "weird")
        .file("src/other.ts", "export const a = 1;\n")
        .file("package.json", "{\"imports\": {\"#prompts/*\": \"./src/prompts/*\"}}")
        .file(
            "src/flows/main.ts",
            &format!(
                "import system from '../prompts/system.md';\nimport user from '#prompts/user.txt';\n\
             import data from '../data.json';\nimport raw from '../data.json?raw';\n\
             import weird from '../template.weird?raw';\nimport code from '../other.ts?raw';\n{}",
                flow("main", "[system, user, data.a, raw, weird, code]")
            ),
        );
    check_output(
        &place,
        "main",
        &json!(["# Be `kind`\n${this} \"stays\"\n", "plain", [1], "{\"a\": [1]}", "weird", "export const a = 1;\n"]),
    );
    place.write("src/prompts/system.md", "changed");
    assert_eq!(place.ask("run main go --user ada --input 1").json()["output"][0], "changed");
    place.write("src/flows/main.ts", format!("{}import x from '../template.weird';\n", flow("main", "x")));
    check_error(&place, "src/flows/main.ts", 3, &["template.weird", "?raw"]);
}

#[cfg(unix)]
#[test]
fn a_large_repository_is_looked_through_at_once() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new().file("packages/p7/src/flows/chat/flow.ts", &flow("chat", "1"));
    for folder in 0..200 {
        for file in 0..100 {
            let text = format!(
                "// {file}\nexport const value{file} = {file};\nexport function f(x: number) {{ return x; }}\n"
            );
            place.write(&format!("packages/p{folder}/src/m{}/f{file}.ts", file / 20), text.repeat(20));
        }
    }
    // A film, a generated file, loops and a folder that nobody may read.
    let mut film = flow("film", "1").into_bytes();
    film.extend([0x47, 0, 0xff, 0x10]);
    place.write("media/film.ts", film);
    place.write("generated.ts", format!("{}{}", flow("generated", "1"), "// 1234567890\n".repeat(1_300_000)));
    symlink(place.dir(), place.dir().join("packages/loop")).expect("our own folder");
    symlink("/", place.dir().join("packages/root")).expect("our own folder");
    let locked = place.dir().join("packages/locked");
    std::fs::create_dir(&locked).expect("our own folder");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o0)).expect("our own folder");
    assert_eq!(kinds(&place), ["chat"]);
    assert_eq!(kinds(&place), ["chat"]);
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).expect("our own folder");
}

#[test]
fn the_working_folder_is_the_one_that_is_open() {
    let place = Place::new().file("src/flows/main.ts", &flow("main", "process.cwd()"));
    let answer: Answer = place.ask("run main go --user ada --input 1");
    let real = std::fs::canonicalize(place.dir()).expect("it is there");
    assert_eq!(answer.json()["output"], real.display().to_string(), "{answer}");
}
