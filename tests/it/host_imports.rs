//! What a file takes of a host's modules: a flow loads with all that it may name there, and other names fail where they
//! are used, or say at their import what they are for.

use serde_json::json;
use tests::bench::Place;

const HANDLER: &str = "import { defineFlow, handler } from '@flow-state-dev/core';\n";

#[test]
fn a_flow_says_who_may_call_it() {
    let source = format!(
        "{HANDLER}import {{ createHmacVerifier, createHs256JwtVerifier, extractBearerToken, PrincipalResolutionError }} \
         from '@flow-state-dev/engine';
const [verify, verifyJwt] = [createHmacVerifier({{ secret: 's', format: 'raw' }}), createHs256JwtVerifier({{ secret: 's' }})];
const resolvePrincipal = ({{ request, rawBody }}: any) => {{
  if (!verify(rawBody, request?.headers.get('x'))) throw new PrincipalResolutionError('no', {{ status: 403 }});
  return {{ userId: verifyJwt(extractBearerToken(request.headers.get('authorization')))!.sub as string }};
}};
const said = (act: () => unknown) => {{ try {{ return act(); }} catch (error: any) {{ return error.message; }} }};
const go = handler({{ name: 'go', execute: () => {{
  const error = new PrincipalResolutionError('no');
  return [
    error instanceof Error, error.name, error.status, new PrincipalResolutionError('no', {{ status: 403 }}).status,
    extractBearerToken('Bearer abc'), extractBearerToken('Basic abc'), extractBearerToken(null),
    said(() => verify('body', 'signature')), said(() => verifyJwt('token')),
  ];
}} }});
export default defineFlow({{ kind: 'guarded', authentication: {{ resolvePrincipal }}, actions: {{ go: {{ block: go }} }} }});
"
    );
    let place = Place::new().file("flows/guarded.ts", &source);
    let output = &place.get("run guarded go --user ada")["output"];
    let none = "verifies requests of a server, and none comes here; node:crypto has createHmac";
    assert_eq!(
        *output,
        json!([
            true,
            "PrincipalResolutionError",
            401,
            403,
            "abc",
            null,
            null,
            format!("createHmacVerifier {none}"),
            format!("createHs256JwtVerifier {none}")
        ])
    );
}

#[test]
fn a_module_beside_the_flow_takes_what_is_for_a_host() {
    let host = "import { createFlowState, createFlowApiRouter, runAction } from '@flow-state-dev/engine';
import * as server from '@flow-state-dev/server';
import { flow } from './made';
export const boot = () => createFlowApiRouter({ state: createFlowState({ flows: { flow } }) });
export const call = () => runAction({ flow });
export const registry = () => (server as any).createFlowRegistry();
export { flow };
";
    let made = format!(
        "{HANDLER}import {{ boot, call, registry }} from './host';
const said = (act: () => unknown) => {{ try {{ return act(); }} catch (error: any) {{ return error.message; }} }};
export const flow = defineFlow({{ kind: 'beside', actions: {{ go: {{ block: handler({{ name: 'go',
  execute: () => [said(boot), said(call), said(registry)] }}) }} }} }});
"
    );
    let place = Place::new()
        .file("src/host.ts", host)
        .file("src/made.ts", &made)
        .file("flows/main.ts", "import { flow } from '../src/host';\nexport default flow;\n");
    let answer = place.ask("run beside go --user ada");
    let is_for =
        "It is for a host that serves flows; here `flowglass run` and the window run them, and nothing is served";
    let fails = |name: &str, module: &str| {
        format!("{name} cannot be used: @flow-state-dev/{module} has it, and Flowglass does not. {is_for}")
    };
    assert_eq!(
        answer.json()["output"],
        json!([
            fails("createFlowApiRouter", "engine"),
            fails("runAction", "engine"),
            fails("createFlowRegistry", "server")
        ]),
        "{answer}"
    );
}

#[test]
fn a_missing_name_is_told_of_the_module_that_was_written() {
    let is_for = "It is for a host that serves flows";
    for (module, name, words) in [
        ("@flow-state-dev/engine", "runAction", is_for),
        ("@flow-state-dev/server", "createFlowRegistry", is_for),
        ("@flow-state-dev/core/nothing", "nothing", "main.ts"),
        ("@flow-state-dev/core/graph", "nothing", "It exports "),
        ("@flow-state-dev/core", "nothing", "main.ts"),
        ("zod/v4", "nothing", "main.ts"),
    ] {
        let source = format!(
            "{HANDLER}import {{ {name} }} from '{module}';
export default defineFlow({{ kind: 'k', actions: {{ go: {{ block: handler({{ name: 'go', execute: () => typeof {name} }}) }} }} }});
"
        );
        let flows = Place::new().file("flows/main.ts", &source).get("flows");
        let error = &flows[0]["error"];
        assert_eq!(error["line"], 2, "{flows}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(&format!("\"{name}\" is not exported by \"{module}\"")), "{flows}");
        assert!(message.contains(words), "{flows}");
    }
}
