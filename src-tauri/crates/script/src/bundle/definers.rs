//! Which files of a project may define a flow, told by their text alone: a project has many files that import the
//! framework, and loading each of them would take its time and show errors of files that are no flows.
//!
//! A file that may define a flow is loaded, and only then is it known whether it does. Must not read a file.

use std::path::Path;

use crate::bundle::import_rules::without_query;
use crate::bundle::nesting::names;

/// What makes a flow.
const DEFINERS: [&str; 2] = ["defineFlow", "defineAgent"];
/// How an import of a module that has them begins.
const MODULES: [&str; 3] = ["@flow-state-dev/", "@standardagents/builder", "@standardagents/spec"];

/// What a host of the framework is made by, with the flows that it serves.
const HOST_MAKER: &str = "createFlowState";

/// Returns whether a file of this name holds the settings of a host of the framework, which may make flows of its own
/// from what the files of a project export.
pub fn is_host_settings(name: &str) -> bool {
    ["fsdev.config.ts", "fsdev.config.mts"].contains(&name)
}

/// Returns whether a module, by its id, holds such settings.
pub(crate) fn is_host_module(id: &str) -> bool {
    let name = Path::new(without_query(id)).file_name().and_then(|name| name.to_str());
    name.is_some_and(is_host_settings)
}

/// Returns whether a source file may define a flow: it calls what makes one, which it imports from a module that has
/// it, directly or by way of a file of the project. Where flows are, a file that is called `flow` may also export one
/// that another file makes.
pub fn may_define_flow(file: &Path, text: &str) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if is_host_settings(name) {
        return text.contains(HOST_MAKER);
    }
    let is_among_flows =
        || file.parent().is_some_and(|folder| folder.components().any(|part| part.as_os_str() == "flows"));
    let is_called_flow = name.ends_with(".flow.ts") || name == "flow.ts" && is_among_flows();
    if is_called_flow && text.contains("export default") {
        return true;
    }
    if !DEFINERS.iter().any(|definer| text.contains(definer)) {
        return false;
    }
    (MODULES.iter().any(|module| text.contains(module)) || imports_definer(text)) && calls_definer(text)
}

/// Returns whether a definer is imported from a file of the project. Other frameworks have functions of these names.
fn imports_definer(text: &str) -> bool {
    /// How paths of a project begin, those of `paths` in `tsconfig.json` and of `imports` in `package.json` among them.
    const OWN: [&str; 4] = [".", "@/", "~", "#"];
    let specifier = |rest: &str| {
        let clause = rest.split(['(', ';']).next()?;
        let quoted = clause.split_once(" from ")?.1.trim_start();
        let quote = quoted.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        Some(OWN.iter().any(|own| quoted[quote.len_utf8()..].starts_with(own)))
    };
    DEFINERS.iter().any(|definer| {
        text.match_indices(definer).any(|(at, _)| specifier(&text[at + definer.len()..]).unwrap_or_default())
    })
}

/// Returns whether a call of a definer stands in the code, and not in a comment or a text. A source that nests too
/// deeply to be read may have one: loading it tells where it does.
fn calls_definer(text: &str) -> bool {
    let mut is_called = false;
    let is_whole = names(text, &mut |start, end| {
        let word = text.get(start..end).unwrap_or_default();
        if is_called || !DEFINERS.contains(&word) {
            return;
        }
        let after = text.get(end..).unwrap_or_default().trim_start();
        let before = text.get(..start).unwrap_or_default().trim_end();
        // `defineFlow<Types>(…)` is a call as well, and the definition of the function none.
        is_called = after.starts_with(['(', '<']) && !before.ends_with("function");
    });
    is_called || !is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMPORT: &str = "import { defineFlow, handler } from '@flow-state-dev/core';\n";

    #[track_caller]
    fn check(file: &str, text: &str, may: bool) {
        assert_eq!(may_define_flow(Path::new(file), text), may, "{file}: {text}");
    }

    #[test]
    fn a_call_in_the_code_counts() {
        for call in [
            "export default defineFlow({ kind: 'a' });",
            "const a = /[`'\"]/; export const x = defineFlow<Input>({});",
            "const a = `${defineFlow({})}`;",
            "import * as fsd from '@flow-state-dev/core'; export default fsd.defineFlow ({});",
        ] {
            check("src/any.ts", &format!("{IMPORT}{call}"), true);
        }
        check(
            "src/agent.ts",
            "import { defineAgent } from '@standardagents/builder';\nexport default defineAgent({});",
            true,
        );
    }

    #[test]
    fn words_in_texts_and_imports_do_not() {
        for other in [
            "export const summarize = handler({ name: 'a', execute: (x) => x });",
            "// defineFlow({ kind: 'a' })\n/* defineFlow({}) */ export const a = 1;",
            "export const template = `export default defineFlow({ kind: 'a' })`;",
            "throw new Error('use defineFlow({ … })');",
            "export function defineFlow(definition) { return definition; }",
            "export { defineFlow };",
        ] {
            check("src/any.ts", &format!("{IMPORT}{other}"), false);
        }
    }

    #[test]
    fn settings_of_a_host_list_flows() {
        let settings = "import { createFlowState } from '@flow-state-dev/engine';\nexport default createFlowState({});";
        check("fsdev.config.ts", settings, true);
        check("src/fsdev.config.ts", "export default { flows: [] };", false);
        check("src/server.ts", settings, false);
    }

    #[test]
    fn a_project_may_pass_the_definer_on() {
        let wrapped = "import { defineFlow } from '@/lib/framework';\nexport default defineFlow({});";
        check("src/chat/chat.ts", wrapped, true);
        check("src/chat/flow.ts", &wrapped.replace("@/lib", "some-package"), false);
        check("src/flows/a.ts", "import { ai } from '../ai';\nexport const a = ai.defineFlow({}, run);", false);
        check("src/flows/chat/flow.ts", "import { make } from './make';\nexport default make({});", true);
        check("src/components/flow.ts", "import { make } from './make';\nexport default make({});", false);
        check("src/chat.flow.ts", "export default make({});", true);
        check("src/flows/chat/blocks.ts", "export default 1;", false);
    }
}
