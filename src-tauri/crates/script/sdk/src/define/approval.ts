// Calls of tools that a person must allow: `approval` of a block, `toolApproval` of a generator (SEMANTICS §6.7).
//
// A tool that may need it is copied for its generator, with a layer of middleware that asks before anything else of it
// runs. The block itself stays as it is wherever else it is used.
//
// Must not: let a tool's own `retry`, `rescue` or `onErrored` take a refusal for a failure. A rescue might do in
// another way what somebody has just forbidden.

import { describeValue } from '../base/arguments';
import { kind as errorClass } from '../base/errors';
import { answerJson, parseAsync, type Answer, type AnySchema } from '../base/schema';
import { standsFor } from '../base/sources';
import { handlersOf, type Block, type Config, type Handler } from './blocks';
import { nearest, warn } from './known-keys';
import { nextParsed, nextWith } from './middleware';

type Maybe<T> = T | Promise<T>;
type Asks = (args: unknown, ctx: unknown) => Maybe<boolean>;

interface Approval {
  required?: boolean | Asks;
  message?: string | ((args: unknown, ctx: unknown) => Maybe<string>);
  render?: { component: string; props?: Config };
}

interface Call {
  toolName: string;
  arguments: unknown;
  description?: string;
}

type Chosen = readonly string[] | ((call: Call, ctx: unknown) => Maybe<boolean>);

interface Rules {
  autoApprove?: Chosen;
  require?: Chosen;
  timeoutMs?: number;
}

type Policy = 'manual' | 'auto' | 'all' | Rules;

/** What a layer sees of its block. */
interface Ctx {
  input: unknown;
  idempotencyKey: string;
  runOnce(key: string, ask: () => unknown): Promise<unknown>;
  suspend(options: Config): Promise<unknown>;
}

const CODE = 'tool_approval';
/** As the errors of a suspension, but a `FlowError` too: those are not tried again unless they say so. */
const REFUSALS: Record<string, ReturnType<typeof errorClass>> = {
  SuspensionRejectedError: errorClass('SuspensionRejectedError', CODE),
  SuspensionTimeoutError: errorClass('SuspensionTimeoutError', CODE),
};

/** Refuses an `approval` that says nothing we understand: a tool must not run because of a slip. */
export function checkApproval(given: unknown, where: string): void {
  if (given === undefined || given === null) return;
  const wrong = (what: string, value: unknown) => new TypeError(`${where}: ${what}, got ${describeValue(value)}`);
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw wrong('approval must be an object like { required: true }', given);
  }
  const { required, message, render } = given as Config;
  if (!['undefined', 'boolean', 'function'].includes(typeof required)) {
    throw wrong('approval.required must be true, false or a function of (args, ctx)', required);
  }
  if (!['undefined', 'string', 'function'].includes(typeof message)) {
    throw wrong('approval.message must be a text or a function of (args, ctx)', message);
  }
  const component = (render as Config | null | undefined)?.component;
  if (render !== undefined && (typeof component !== 'string' || component === '')) {
    throw wrong('approval.render must be an object like { component: "…" }', render);
  }
}

/** The same for a generator's `toolApproval`; a name that none of its tools has is told. */
export function checkPolicy(given: unknown, where: string, tools: readonly unknown[], isOpen: boolean): void {
  if (given === undefined || given === null || ['manual', 'auto', 'all'].includes(given as string)) return;
  if (typeof given !== 'object' || Array.isArray(given)) {
    const known = '"manual", "auto", "all" or { autoApprove, require, timeoutMs }';
    throw new TypeError(`${where}: toolApproval must be ${known}, got ${describeValue(given)}`);
  }
  const rules = given as Config;
  const names = tools.map((tool) => String((tool as { name?: unknown } | null)?.name));
  for (const key of ['autoApprove', 'require']) {
    const chosen = rules[key];
    if (chosen === undefined || typeof chosen === 'function') continue;
    if (!Array.isArray(chosen) || chosen.some((name) => typeof name !== 'string')) {
      const known = 'a list of tool names or a function of (call, ctx)';
      throw new TypeError(`${where}: toolApproval.${key} must be ${known}, got ${describeValue(chosen)}`);
    }
    for (const name of isOpen ? [] : (chosen as string[])) {
      if (names.includes(name)) continue;
      const meant = nearest(name, names);
      const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
      warn(`${where}: toolApproval.${key} names "${name}", which is none of its tools${hint}`);
    }
  }
  const ms = rules.timeoutMs;
  if (ms !== undefined && !(typeof ms === 'number' && ms >= 0 && Number.isFinite(ms))) {
    throw new TypeError(`${where}: toolApproval.timeoutMs must be milliseconds, 0 or more, got ${describeValue(ms)}`);
  }
}

/** The copies of each generator's tools, so that a tool that is offered again is the same block. */
const copies = new WeakMap<Config, WeakMap<Block, Block>>();

/** A tool as its generator may call it: itself, or a copy that asks first. */
export function approved(tool: Block, generator: Config): Block {
  const policy = (generator.toolApproval ?? 'manual') as Policy;
  if (!mayAsk(tool, policy)) return tool;
  let known = copies.get(generator);
  if (!known) copies.set(generator, (known = new WeakMap()));
  let copy = known.get(tool);
  if (!copy) known.set(tool, (copy = asking(tool, policy)));
  return copy;
}

/** The same for tools that a function gives while the generator runs. */
export function approvedLater<M extends (input: unknown, ctx: unknown) => unknown>(
  make: M | undefined,
  generator: Config,
  isBlock: (value: unknown) => value is Block,
): M | undefined {
  if (!make || generator.toolApproval === 'auto') return make;
  const gated = (one: unknown): unknown => (isBlock(one) ? approved(one, generator) : one);
  const all = (given: unknown): unknown => (Array.isArray(given) ? (given as unknown[]).map(gated) : gated(given));
  const later = (input: unknown, ctx: unknown) => {
    const given = make(input, ctx);
    return given instanceof Promise ? given.then(all) : all(given);
  };
  return standsFor(later as M, make);
}

/** What a tool says of itself; one that is wrapped by `asTool` says it of what it runs. */
const approvalOf = (tool: Block): Approval => ((tool.tool ?? tool).config.approval ?? {}) as Approval;

/** Whether any call of a tool could need somebody, as far as that is known before there is one. */
function mayAsk(tool: Block, policy: Policy): boolean {
  if (policy === 'auto' || policy === 'all') return policy === 'all';
  const { required } = approvalOf(tool);
  const isRequired = required === true || typeof required === 'function';
  if (policy === 'manual') return isRequired;
  const named = (list?: Chosen) => Array.isArray(list) && list.includes(tool.name);
  return !named(policy.autoApprove) && (isRequired || named(policy.require) || typeof policy.require === 'function');
}

/** Whether this call needs somebody. The generator's word counts more than the tool's, and `autoApprove` most. */
async function needsApproval(tool: Block, policy: Policy, args: unknown, ctx: Ctx): Promise<boolean> {
  const { required } = approvalOf(tool);
  if (policy === 'all') return true;
  if (typeof policy === 'object') {
    const call = { toolName: tool.name, arguments: args, description: tool.description };
    const holds = async (chosen: Chosen | undefined) =>
      typeof chosen === 'function' ? Boolean(await chosen(call, ctx)) : (chosen?.includes(tool.name) ?? false);
    if (await holds(policy.autoApprove)) return false;
    if (await holds(policy.require)) return true;
  }
  return typeof required === 'function' ? Boolean(await required(args, ctx)) : required === true;
}

/** A copy of a tool that asks before it runs. It is of the same class, whichever that is. */
function asking(tool: Block, policy: Policy): Block {
  const inner = tool.tool;
  if (inner) {
    // The wrapper has no middleware; the block in it has.
    const asTool = { ...(tool.config.asTool as Config), block: gatedBy(inner, question(inner, tool, policy)) };
    return copyOf(tool, { asTool });
  }
  return gatedBy(tool, question(tool, tool, policy));
}

function copyOf(block: Block, changes: Config): Block {
  const config = { ...block.config, ...changes };
  return Object.create(block, { config: { value: config, enumerable: true } }) as Block;
}

function gatedBy(block: Block, execute: (ctx: Ctx, next: () => unknown) => unknown): Block {
  const { middleware, rescue, onErrored } = block.config;
  const changes: Config = { middleware: [{ name: 'approval', execute }, ...((middleware ?? []) as unknown[])] };
  // A chain's handlers run inside of its middleware, and see no refusal.
  if (rescue !== undefined && block.kind !== 'sequencer') {
    const handlers = handlersOf(rescue, `${block.kind} "${block.name}"`);
    changes.rescue = handlers.map((handler): Handler => ({ ...handler, block: passing(handler.block) }));
  }
  if (typeof onErrored === 'function') {
    const told = (error: unknown, ctx: unknown): unknown =>
      isRefusal(error) ? undefined : (onErrored as (error: unknown, ctx: unknown) => unknown)(error, ctx);
    changes.onErrored = standsFor(told, onErrored);
  }
  return copyOf(block, changes);
}

/** A rescue's block that hands a refusal on as it came. */
function passing(block: Block): Block {
  const layer = (ctx: Ctx, next: () => unknown): unknown => {
    if (isRefusal(ctx.input)) throw ctx.input;
    return next();
  };
  const { middleware } = block.config;
  const own = { name: 'approval', execute: standsFor(layer, undefined) };
  return copyOf(block, { middleware: [own, ...((middleware ?? []) as unknown[])] });
}

function isRefusal(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return code === CODE && typeof name === 'string' && name in REFUSALS;
}

/** The layer that asks: `block` is what runs, `tool` what the model knows it by. */
function question(block: Block, tool: Block, policy: Policy): (ctx: Ctx, next: () => unknown) => unknown {
  const approval = approvalOf(tool);
  const { autoApprove, require, timeoutMs }: Rules = typeof policy === 'object' ? policy : {};
  const isDecided = ![approval.required, autoApprove, require].some((one) => typeof one === 'function');
  const layer = async (ctx: Ctx, next: () => unknown): Promise<unknown> => {
    const args = await argsOf(block, ctx.input);
    const goOn = (): unknown => (args.parsed === undefined ? next() : nextParsed(next, args.parsed));
    // What the tool does not take never gets to run; the tool itself says what is wrong with it.
    if (!args.ok) return goOn();
    const decide = () => needsApproval(tool, policy, args.data, ctx);
    // A function may decide otherwise once the answer is there, and a call that was refused would run.
    const isAsked = isDecided ? await decide() : await ctx.runOnce(`${ctx.idempotencyKey} approval`, decide);
    if (isAsked !== true) return goOn();
    const { message: given, render } = approval;
    const told = typeof given === 'function' ? await given(args.data, ctx) : given;
    const message = told ?? `The call of "${tool.name}" waits for your approval`;
    const call = { toolName: tool.name, args: ctx.input, message, render };
    const data = { toolCalls: [call] };
    const question = { reason: CODE, message, data, render, timeoutMs, resumeSchema: editable(block) };
    const answer = await ctx.suspend({ ...question, allow: ['approve', 'reject', 'submit'] }).catch(refuse);
    // A person may have changed the arguments: what was allowed is what runs.
    return answer === undefined || answer === null ? goOn() : nextWith(next, answer);
  };
  return standsFor(layer, approval.required);
}

/** What an answer may hold: the arguments in place of the model's, or nothing. */
function editable(block: Block): AnySchema | undefined {
  const schema = block.config.connectInput ? undefined : block.inputSchema;
  if (!schema) return undefined;
  return (schema as AnySchema & { nullish?(): AnySchema }).nullish?.() ?? schema;
}

interface Args {
  /** Whether the tool takes them. */
  ok: boolean;
  /** The arguments as the tool will get them. */
  data?: unknown;
  /** What the tool's schema made of them, as JSON: the functions that decide may change `data`. */
  parsed?: string;
}

async function argsOf(block: Block, input: unknown): Promise<Args> {
  const schema = block.inputSchema;
  if (!schema || block.config.connectInput) return { ok: true, data: input };
  const answer = await parseAsync(schema, input);
  return { ok: answer.ok, data: answer.data, parsed: written(answer) };
}

/** Nothing for a value that is no JSON: the tool itself says so. */
function written(answer: Answer): string | undefined {
  try {
    return answerJson(answer);
  } catch {
    return undefined;
  }
}

function refuse(error: Error & { details?: unknown }): never {
  const Refusal = REFUSALS[error.name];
  throw Refusal ? new Refusal(error.message, { details: error.details }) : error;
}
