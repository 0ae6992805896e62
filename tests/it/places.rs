//! Errors have the line of the author's file where they occurred, for a table of ways to fail.

use tests::bench::{Place, repository};

/// The files with ways to fail, and their paths in a workspace.
const FILES: [(&str, &str); 2] = [("places.ts", "flows/places.ts"), ("far.ts", "flows/lib/far.ts")];

#[test]
fn an_error_has_its_line() {
    let place = Place::new();
    let mut meant = Vec::new();
    for (name, file) in FILES {
        let text = std::fs::read_to_string(repository().join("tests/places").join(name)).expect("it is there");
        for (at, line) in text.lines().enumerate() {
            if let Some((_, action)) = line.split_once("// @") {
                meant.push((action.to_owned(), file, at + 1));
            }
        }
        place.write(file, text);
    }
    assert!(meant.len() >= 38, "{}", meant.len());
    let mut wrong = Vec::new();
    for (action, file, line) in meant {
        let answer = place.ask(&format!("run places {action} --user u --input {{}}"));
        let error = answer.json()["error"].clone();
        if error["file"] != file || error["line"] != line {
            wrong.push(format!(
                "{action}: {file}:{line}, not {}:{} ({})",
                error["file"], error["line"], error["message"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_error_at_the_top_level_has_its_line() {
    for (source, line) in [
        ("const none: any = undefined;\nconst list = [\n  1,\n  none.deep,\n];\nexport default list;\n", 4),
        ("const say = 'm';\nthrow new Error(\n  say + Math.PI,\n);\n", 2),
        ("const none: any = {};\nexport const value = none\n  .a\n  .b;\n", 4),
        ("const call: any = {};\ncall.nothing(\n  Math.PI,\n);\n", 2),
        (
            "import { handler } from \"@flow-state-dev/core\";\nexport const made = [\n  handler({ name: \"ok\", execute: () => 1 }),\n  handler({\n    name: 5 as any,\n    execute: () => 1,\n  }),\n];\n",
            4,
        ),
        ("import { none } from \"./lib/none\";\nexport const x = none;\n", 3),
    ] {
        let place = Place::new().file("flows/main.ts", source);
        place.write("flows/lib/none.ts", "const a: any = null;\nexport const none =\n  a.deep;\n");
        let flows = place.get("flows");
        let flows = flows.as_array().expect("a list");
        let error = flows.iter().find(|flow| flow["file"] == "flows/main.ts").map(|flow| flow["error"].clone());
        assert_eq!(error.expect("a row")["line"], line, "{source}: {flows:?}");
    }
}
