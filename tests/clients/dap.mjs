// Tests `flowglass dap` with the client that tests VS Code's own debug adapters.
//
//   node dap.mjs PROGRAM FILE LINES     LINES is JSON: the lines of statements of FILE, which the runs `good` and `bad` ran
//
// Prints the client's observations as one line of JSON. Fails if the client refuses a message of the adapter.
import { dirname } from 'node:path';
import { DebugClient } from '@vscode/debugadapter-testsupport';

const [program, file, given] = process.argv.slice(2);
const lines = JSON.parse(given);
const folder = dirname(dirname(file));

/** Starts a client with its own adapter. */
async function started() {
  const client = new DebugClient(program, 'dap', 'flowglass', { cwd: folder });
  client.defaultTimeout = 60_000;
  await client.start();
  return client;
}

/** Sends a movement, and waits until the adapter reports a stop at the line. */
async function moves(client, command, reason, line) {
  const stopped = client.assertStoppedLocation(reason, { path: file, line });
  const [, trace] = await Promise.all([client[`${command}Request`]({ threadId: 1 }), stopped]);
  return trace.body.stackFrames[0];
}

/** Launches without breakpoints, stops at the first statement, and steps. */
async function stepped() {
  const client = await started();
  const launch = { dir: folder, requestId: 'good', stopOnEntry: true };
  const entry = client.assertStoppedLocation('entry', { path: file, line: lines.sum });
  await Promise.all([client.configurationSequence(), client.launch(launch), entry]);
  const way = [
    ['next', lines.loop],
    ['next', lines.loop],
    ['next', lines.call],
    ['stepIn', lines.inside],
    ['stepOut', lines.loop],
    ['stepBack', lines.call],
  ];
  for (const [command, line] of way) await moves(client, command, 'step', line);
  await client.stop();
  return way.length;
}

/** Stops at a breakpoint, forward and back, and reads variables, scopes and threads there. */
async function broken() {
  const client = await started();
  await client.hitBreakpoint({ dir: folder, requestId: 'good' }, { path: file, line: lines.call });
  const again = await moves(client, 'continue', 'breakpoint', lines.call);
  const evaluated = await client.evaluateRequest({ expression: 'sum + 1', frameId: again.id, context: 'watch' });
  const scopes = await client.scopesRequest({ frameId: again.id });
  const [{ variablesReference }] = scopes.body.scopes;
  const { variables } = (await client.variablesRequest({ variablesReference })).body;
  await moves(client, 'reverseContinue', 'breakpoint', lines.call);
  const { threads } = (await client.threadsRequest()).body;
  await client.stop();
  return {
    evaluated: evaluated.body.result,
    names: variables.map((one) => one.name),
    threads: threads.map((one) => one.name),
  };
}

/** Stops at the statement that threw, and checks that an invalid expression is refused. */
async function failed() {
  const client = await started();
  const thrown = client.assertStoppedLocation('exception', { path: file, line: lines.thrown });
  await Promise.all([client.configurationSequence(), client.launch({ dir: folder, requestId: 'bad' }), thrown]);
  const info = (await client.exceptionInfoRequest({ threadId: 1 })).body;
  const refused = await client.evaluateRequest({ expression: 'sum +' }).catch((error) => error.message);
  await client.stop();
  return { description: info.description, refused };
}

console.log(JSON.stringify({ steps: await stepped(), broken: await broken(), failed: await failed() }));
