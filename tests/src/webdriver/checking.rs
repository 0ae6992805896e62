//! The page as a whole: a picture of it, what axe finds wrong with it, and what it reads as to somebody who cannot see.

use std::path::Path;

use base64::Engine;
use serde_json::{Value, json};

use super::Window;
use crate::bench::repository;

/// Runs axe over the page, with the rules of WCAG 2.2 AA and those that are good practice, and answers what it finds. A
/// part that is moving or fading has no colours yet, so all of that is ended first.
const AXE: &str = "
    const done = arguments[arguments.length - 1];
    document.getAnimations().forEach((one) => { try { one.finish(); } catch { one.cancel(); } });
    axe.run(document, { resultTypes: ['violations'] }).then(
      ({ violations }) => done(violations.flatMap(({ id, help, nodes }) =>
        nodes.map((node) => `${id} (${help}): ${node.target.join(' ')}\n    ${node.html.slice(0, 300)}\n    ${node.any.concat(node.all, node.none).map((one) => one.message).join('; ')}`))),
      (error) => done([`axe failed: ${error}`]),
    );";

/// Whether nothing fades or moves but what never ends.
const IS_STILL: &str = "
    const isEnding = (one) => one.playState === 'running' && Number.isFinite(one.effect.getComputedTiming().endTime);
    return !document.getAnimations().some(isEnding);";

impl Window {
    /// What axe finds wrong with the page as it is now, one text for each element.
    #[track_caller]
    pub fn violations(&self) -> Vec<String> {
        if self.script("return typeof axe === 'undefined'", &[]) == Value::Bool(true) {
            let file = repository().join("ui/node_modules/axe-core/axe.min.js");
            let source = std::fs::read_to_string(&file)
                .unwrap_or_else(|error| panic!("{}: {error}; `make setup` installs it", file.display()));
            // The page itself could not load it: its policy allows only what it was built with.
            self.script(&format!("{source}\n;window.axe = window.axe ?? axe"), &[]);
        }
        let found = self.page.send("POST", "/execute/async", json!({ "script": AXE, "args": [] }));
        let found = found.unwrap_or_else(|error| panic!("axe does not run: {error}"));
        let texts = found.as_array().map(Vec::as_slice).unwrap_or_default();
        texts.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Writes a picture of the page, once what fades in is there.
    #[track_caller]
    pub fn picture(&self, file: &Path) {
        self.until_script(IS_STILL);
        let taken = self.page.send("GET", "/screenshot", Value::Null).unwrap_or_else(|error| panic!("{error}"));
        let bytes = base64::engine::general_purpose::STANDARD.decode(taken.as_str().unwrap_or_default());
        std::fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("the place is writable");
        std::fs::write(file, bytes.expect("a picture is sent as base64")).expect("the place is writable");
    }
}
