//! Code with probes makes the calls of the clock and of chance that the code makes without them, and no other.

use std::sync::Arc;

use script::{Bundler, Code, Question, SiteTable};

/// The body of a handler, and how many of its calls are made.
const BODIES: &[(&str, usize)] = &[
    ("return Math.random() + Date.now() + new Date().getTime();", 3),
    ("const at = new Date(); return { at: at.toISOString() };", 1),
    ("return { at: new Date().toISOString() };", 1),
    ("const at = new Date(); const ms = at.getTime(); return { ms };", 1),
    ("return JSON.stringify(new Date()) + String(new Date());", 2),
    ("const ms = Date.now(); const at = new Date(); return { ms, at: at.toISOString() };", 2),
    ("Math.random(); return Math.random();", 1),
    ("const unused = Date.now(); return Math.random();", 1),
    ("const unused = new Date(); let other = Math.floor(Math.random() * 6); return 1;", 1),
    ("const unused = [Math.random(), { at: Date.now() }]; return input;", 0),
    ("if (input) { Math.random(); } return Math.random();", 1),
    ("const used = Math.random(); return used;", 1),
    ("let last; for (const one of input) { last = Math.random(); } return last;", 1),
    ("const roll = () => Math.random(); roll(); return roll();", 1),
    ("const roll = () => Math.random(); const twice = () => roll() + roll(); twice(); return twice();", 1),
    ("const log = (at) => { input.push(at); }; log(Date.now()); return 1;", 1),
    ("return input.map(() => { Date.now(); return Math.random(); });", 1),
];

/// The body of a handler with a function `roll` that draws, and how many of its calls are made.
const ROLLS: &[(&str, usize)] = &[
    ("roll(); return roll();", 1),
    ("roll(), input.push(1); return roll();", 1),
    ("input.push(1), roll(); return roll();", 1),
    ("input.push(1), roll(), input.push(2); return roll();", 1),
    ("roll(), input.push(1), input.push(2); return roll();", 1),
    ("roll(), input.push(roll()); return roll();", 2),
    ("input.push(roll()), roll(); return 1;", 1),
    ("return roll(), input.push(1), roll();", 1),
    ("const f = () => { input.push(1); }; roll(), f(); return roll();", 1),
    ("const f = () => { input.push(1); }; roll(), f(), f(); f(), roll(); return roll();", 1),
    ("const f = () => { input.push(roll()); }; f(), roll(), f(); roll(), f(roll()); return 1;", 2),
    ("const f = () => { input.push(1); return roll(); }; f(), input.push(2); return f();", 1),
    ("const f = () => input.push(roll()); f(), roll(); return roll();", 2),
    ("for (let i = 0; i < 3; roll(), i++) { input.push(i); } return roll();", 1),
];

/// The author's part of a bundle has no other calls of these: what Flowglass brings is not in it.
fn calls(code: &str) -> usize {
    ["Math.random()", "Math.random( )", "Date.now()", "Date.now( )", "new Date()", "new Date( )"]
        .iter()
        .map(|call| code.matches(call).count())
        .sum()
}

#[test]
fn code_with_probes_draws_what_the_code_that_ran_draws() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = std::fs::canonicalize(folder.path()).expect("it is there");
    let bundler = Bundler::new().expect("threads");
    for (body, made) in BODIES {
        let source = format!(
            "import {{ defineFlow, handler }} from '@flow-state-dev/core';\n\
             const work = handler({{ name: 'work', execute: (input: any) => {{ {body} }} }});\n\
             export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: work }} }} }});\n"
        );
        let file = dir.join("flow.ts");
        std::fs::write(&file, source).expect("it is written");
        let ran = bundler.bundle(&dir, &file, Arc::new(|_| ())).expect("it is bundled");
        assert_eq!(calls(&ran.code), *made, "{body}\n{}", ran.code);
        let code = Code::of(&ran, &dir);
        let table = Arc::new(SiteTable::of(&code));
        for question in [Question::default(), Question { locals: true, ..Question::default() }] {
            let probed = bundler.bundle_probed(&dir, &code, table.clone(), Some(question));
            let probed = probed.expect("it is bundled with probes");
            assert_eq!(calls(&probed.code), *made, "{body}\n{}", probed.code);
        }
        // Without probes it is the code that ran.
        let again = bundler.bundle_probed(&dir, &code, table, None).expect("it is bundled again");
        assert_eq!((again.code, again.hash), (ran.code, ran.hash), "{body}");
    }
}

#[test]
fn code_with_probes_calls_what_draws_as_often_as_the_code_that_ran() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = std::fs::canonicalize(folder.path()).expect("it is there");
    let bundler = Bundler::new().expect("threads");
    let rolls = |code: &str| code.matches("roll()").count() + code.matches("roll( )").count();
    for (body, made) in ROLLS {
        let source = format!(
            "import {{ defineFlow, handler }} from '@flow-state-dev/core';\n\
             const work = handler({{ name: 'work', execute: (input: any) => {{\n\
             const roll = () => Math.random(); {body} }} }});\n\
             export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: work }} }} }});\n"
        );
        let file = dir.join("flow.ts");
        std::fs::write(&file, source).expect("it is written");
        let ran = bundler.bundle(&dir, &file, Arc::new(|_| ())).expect("it is bundled");
        assert_eq!(rolls(&ran.code), *made, "{body}\n{}", ran.code);
        let code = Code::of(&ran, &dir);
        let table = Arc::new(SiteTable::of(&code));
        let probed = bundler.bundle_probed(&dir, &code, table, Some(Question::default()));
        let probed = probed.expect("it is bundled with probes");
        assert_eq!(rolls(&probed.code), *made, "{body}\n{}", probed.code);
    }
}
