// What Rust calls: find the flow in a loaded module, describe it, run its functions and schemas.

import * as acts from '../acts';
import * as agents from '../agents';
import { toolsOfProject, type ProjectFile } from '../define/agent-project';
import { AgentBlock, nameTools, Prompt, runnable, Tool as AgentTool } from '../define/agents';
import { definedAt } from '../define/bindings';
import { CallAgentBlock, endRegistration, hasCalls } from '../define/calls';
import { Capability } from '../define/capability';
import { keepTimersApart } from '../globals/globals';
import { protectShared } from '../globals/protected';
import { Block, isBlock, siteOf } from '../define/blocks';
import { clientData } from './client-data';
import { makeContext } from '../context/context';
import { blocksById, describeFlow, describeLate, describeResolved } from './describe';
import { decodeError, encodeError, reviveError } from '../base/thrown';
import { modelInstance } from '../define/own-models';
import { fire, resolved, type Given } from '../define/fire';
import { Flow, flowsOf, missed, placeOf } from '../define/flow';
import { answer, began, caught, ended, enter, latestToken, leave, native, runAs, tellAs, wire } from '../base/host';
import { codeFor, publish } from './carrying';
import { converts } from '../base/converts';
import { accepted, describe } from '../base/json-schema';
import { takeWarnings } from '../define/known-keys';
import { originOf } from '../base/origins';
import { keyOf } from '../define/policies';
import { sourceOf } from '../base/sources';
import { functions, schemas } from '../define/tables';
import { answerJson, checkEntry, checkField, parse, parseAsync } from '../base/schema';
import { withServed } from '../define/host-settings';
import { describeBy } from '../define/running';
import { rejected, takeUnhandled } from '../globals/rejections';
import { Definition } from '../define/resources';
import { Boxed, Sequencer } from '../define/sequencer';
import { toJson } from '../base/values';
import { beginRace, stopLosers } from '../globals/step-signals';
import { abortRequest } from '../globals/web';

/** Classes that no export leads to, of what exported functions return. */
const CLASSES = [Block, Boxed, Sequencer, CallAgentBlock, AgentBlock, AgentTool, Prompt, Capability, Definition, Flow];

let flows: Flow[] = [];
/** The flow that is run. */
let running = 0;
describeBy(describeLate);
let main: unknown;

/** Called by the entry of a project's bundle with its files, one of which is the agent that is run. */
export function bootProject(files: readonly ProjectFile[], meta: object): void {
  nameTools(toolsOfProject(files), 'project');
  const run = files.find((file) => file[4]) as ProjectFile;
  boot(run[3], meta);
}

/** Called by the bundle's entry with the flow file's exports, and what `import.meta` is in it. */
export function boot(exported: Record<string, unknown>, meta: object): void {
  const values = Object.values(exported);
  const candidates = withServed('default' in exported ? [exported.default, ...values] : values);
  main = exported.default;
  nameTools(exported);
  flows = runnable(flowsOf(candidates, main));
  endRegistration();
  if (hasCalls()) {
    keepTimersApart();
    protectShared([acts, agents], [...CLASSES, meta]);
  }
}

type Argument = [0] | [1, unknown] | [2, Parameters<typeof reviveError>[0]];

function argument(wire: Argument): unknown {
  if (wire[0] === 0) return undefined;
  return wire[0] === 1 ? wire[1] : reviveError(wire[1]);
}

/** `from` is the function that returned the value. */
function finish(call: number, value: unknown, from?: object): void {
  if (typeof value !== 'object' || value === null) {
    if (value !== 0 && typeof value === 'number' && Number.isFinite(value))
      return native.done(call, 'value', JSON.stringify(value));
    return plain(call, value, from);
  }
  const block = value instanceof Boxed ? value.block : isBlock(value) ? (value as Block) : undefined;
  if (block) return native.done(call, 'block', describeLate(block));
  if (Array.isArray(value) && value.length > 0 && value.every(isBlock)) {
    return native.done(call, 'blocks', `[${value.map(describeLate).join(',')}]`);
  }
  const model = modelInstance(value);
  if (model) return native.done(call, 'model', JSON.stringify(model));
  plain(call, value, from);
}

/** Answers with a value that is nothing but one. */
function plain(call: number, value: unknown, from?: object): void {
  let json: string | undefined;
  const origin = from && originOf(from);
  try {
    json = toJson(value, origin ? `the value returned by ${origin.what}` : 'the returned value');
  } catch (error) {
    // The function has returned: its own call is on no stack any more.
    return native.done(call, 'error', encodeError(error, origin?.stack));
  }
  native.done(call, json === undefined ? 'undefined' : 'value', json ?? '');
}

/** A call of a function, and what it called. */
interface Returning {
  call: number;
  from: object;
  token: number;
}

const returned = ({ call, from, token }: Returning, value: unknown): void => {
  try {
    finish(call, value, from);
  } catch (error) {
    // Even to look at a value may run an author's code.
    native.done(call, 'error', encodeError(error));
  }
  ended(token);
};
const failed = ({ call, token }: Returning, error: unknown): void => {
  native.done(call, 'error', encodeError(error));
  ended(token);
};

const host = {
  flows: (): string => JSON.stringify(flows.map((flow) => flow.address)),

  flowDefinedAt: (at: number): string => placeOf(flows[at] as Flow),

  missed: (): string => JSON.stringify(missed(main)),

  describe(at: number): string {
    running = at;
    try {
      return describeFlow(flows[at] as Flow);
    } catch (error) {
      // Found when no line of the author's runs: the place is that of the definition.
      const { definedAt } = error as { definedAt?: string };
      if (definedAt === undefined) throw error;
      return JSON.stringify({ wrong: (error as Error).message, definedAt });
    }
  },

  call(call: number, fn: number, token: number, args: string): void {
    const called = functions[fn] as (...args: unknown[]) => unknown;
    const code = codeFor(token);
    const before = enter(code);
    began(token);
    let isOver = true;
    try {
      const values = JSON.parse(args) as unknown[];
      for (let at = 0; at < values.length; at++) values[at] = argument(values[at] as Argument);
      const ctx = makeContext(token);
      const result = values.length === 1 ? called(values[0], ctx) : called(...values, ctx);
      // A block may look like a promise (its `then`), so it is recognised first.
      if (
        typeof result !== 'object' ||
        result === null ||
        isBlock(result) ||
        typeof (result as Promise<unknown>).then !== 'function'
      ) {
        return finish(call, result, called);
      }
      isOver = false;
      tellAs(token, result, { call, from: called, token }, returned, failed);
    } catch (error) {
      isOver = true;
      native.done(call, 'error', encodeError(error));
    } finally {
      publish(code, token);
      leave(before);
      if (isOver) ended(token);
    }
  },

  answer: (id: number, ok: boolean, payload: string): void => answer(id, ok, payload, decodeError),

  parse(schema: number, json: string | undefined): string {
    try {
      return answerJson(parse(schemas[schema] as never, json === undefined ? undefined : JSON.parse(json)));
    } catch (error) {
      caught(error);
      throw error;
    }
  },

  parseAsync(call: number, schema: number, token: number, json: string | undefined): void {
    runAs(token, () => {
      parseAsync(schemas[schema] as never, json === undefined ? undefined : JSON.parse(json))
        .then((result) => native.done(call, 'value', answerJson(result)))
        .catch((error: unknown) => native.done(call, 'error', encodeError(error)));
    });
  },

  checkField(schema: number, field: string, json: string): string {
    try {
      const result = checkField(schemas[schema] as never, field, JSON.parse(json));
      return result.ok ? '' : JSON.stringify(result.issues);
    } catch (error) {
      caught(error);
      throw error;
    }
  },

  /** Nothing if the whole list must be checked. */
  checkEntry(schema: number, field: string, at: number, json: string): string | undefined {
    const result = checkEntry(schemas[schema] as never, field, at, JSON.parse(json));
    return result && (result.ok ? '' : JSON.stringify(result.issues));
  },

  /** `wide` counts what the schema would make of other values as let through. */
  describeSchema: (schema: number, wide: boolean): string =>
    JSON.stringify((wide ? accepted : describe)(schemas[schema] as never)),

  /** Whether a schema may make something else of a value that it has made. */
  converts: (schema: number): boolean => converts(schemas[schema] as never),

  /** The sources of functions, `\0` between them. */
  sources: (first: number, count: number): string =>
    functions
      .slice(first, first + count)
      .map(sourceOf)
      .join('\0'),

  /** The stack of the call that made a block. */
  site: (block: number): string => siteOf(blocksById[block] as Block),

  /** The stack of the call that defined a resource. */
  definedAt,

  /** The answer of a concurrency policy's key function, or what it threw. */
  concurrencyKey(fn: number, request: string): string {
    try {
      return wire({ key: keyOf(functions[fn] as never, JSON.parse(request)) });
    } catch (error) {
      return `{"error":${encodeError(error)}}`;
    }
  },

  clientData(call: number, states: string): void {
    clientData(flows[running] as Flow, JSON.parse(states) as never).then(
      (value) => finish(call, value),
      (error: unknown) => native.done(call, 'error', encodeError(error)),
    );
  },

  /** The request that an entry makes of what it is fired with, which is JSON. */
  fire(call: number, address: string, given: string): void {
    fire((flows[running] as Flow).definition, address, JSON.parse(given) as Given).then(
      (value) => finish(call, value),
      (error: unknown) => native.done(call, 'error', encodeError(error)),
    );
  },

  /** The action of a schedule that the flow's own function finds, as a text. */
  resolve(call: number, address: string): void {
    const flow = flows[running] as Flow;
    resolved(flow.definition, address).then(
      (entry) => finish(call, describeResolved(flow, entry)),
      (error: unknown) => native.done(call, 'error', encodeError(error)),
    );
  },

  abort: abortRequest,

  beginRace,

  stopLosers,

  rejected,

  takeUnhandled,

  takeWarnings,

  current: latestToken,
};

export type Host = typeof host;

Object.defineProperty(globalThis, '__flowglass_host', { value: host, enumerable: false, configurable: true });
