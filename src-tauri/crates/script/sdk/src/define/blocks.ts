// The block builders. They record what the author wrote; nothing runs here.
//
// Must not: interpret anything. Rust reads the recorded operations and runs them.

import { describeValue, needFunction, type Fn } from '../base/arguments';
import { checkPolicy } from './approval';
import {
  checkConfig,
  checkIdentity,
  checkLoop,
  checkName,
  handlersOf,
  needBlock,
  needHandlers,
  type ToolIdentity,
} from './checks';
import { knownTools, laterTools, withCapabilities } from './capabilities';
import { repairOf } from './generator';
import { withIdentity, withOlderEmit } from './identity';
import { warnOfAbsent, withPromptFile } from './prompt-files';
import { warnOfUnknown } from './known-keys';
import { warnInsideBlock } from './nested-keys';
import { runBlock } from './running';
import { declaredIn, reactionsTo, RESOURCE_PLACES, type Declared, type Definitions } from './resources';
import { refuseTwoTools } from '../base/names';
import { isSchema, type AnySchema } from '../base/schema';
import { refuseUnstrict } from '../base/unstrict';

export type Kind = 'handler' | 'sequencer' | 'router' | 'generator' | 'evaluator';
export type { Fn };
export type Config = Record<string, unknown>;

/** One recorded call of the sequencer's chain. */
export interface Operation {
  op: string;
  block?: Block;
  connector?: Fn;
  /** Of a step: gives the signal that its block runs under, and is told how that ended. */
  signal?: Fn;
  settled?: Fn;
  condition?: Fn;
  call?: Fn;
  /** The branches of an operation that has several. */
  arms?: { key?: string; block: Block; connector?: Fn; condition?: Fn }[];
  /** Makes the block of each item. */
  each?: Fn;
  /** What those are made of: their resources and entries are the flow's. */
  madeOf?: Block[];
  /** A loop's target, or the name of a background task. */
  target?: string;
  limit?: number;
  failOnError?: boolean;
  timeoutMs?: number;
}

/** What to do about an error: the first handler whose `when` matches runs with it. */
export interface Handler {
  when: string[];
  block: Block;
}

/** Where each configuration was first used: the stack of the builder's call. Kept for errors that are found later. */
const sites = new WeakMap<Config, string>();

export class Block {
  readonly kind: Kind;
  readonly name: string;
  readonly config: Config;
  readonly description?: string;
  /** The resources it declares itself. */
  readonly ownResources: readonly Declared[];

  /** `from` is a block of the same configuration, which was checked with it. */
  constructor(kind: Kind, config: Config, from?: Block) {
    if (typeof config !== 'object' || config === null || Array.isArray(config)) {
      throw new Error(
        `${kind}() needs a configuration object, like ${kind}({ name: "…" }), got ${describeValue(config)}`,
      );
    }
    const name = config.name;
    if (typeof name !== 'string' || name.trim() === '') {
      throw new Error(`Cannot build "${kind}" block without a non-empty "name"`);
    }
    if (from) {
      this.ownResources = from.ownResources;
    } else {
      const where = `${kind} "${name}"`;
      checkName(name, kind);
      checkConfig(config, where);
      this.ownResources = declaredIn(config, RESOURCE_PLACES, where);
    }
    this.kind = kind;
    this.name = name;
    this.config = config;
    if (!from && !sites.has(config)) sites.set(config, new Error().stack ?? '');
    if (typeof config.description === 'string') this.description = config.description;
  }

  get inputSchema(): AnySchema | undefined {
    const tool = this.tool;
    // The wrapped block's own connectInput decides what the wrapper takes.
    const inner = tool && !tool.config.connectInput ? tool.inputSchema : undefined;
    return (this.config.inputSchema as AnySchema | undefined) ?? inner;
  }

  /** The block that `asTool` wraps. */
  get tool(): Block | undefined {
    return (this.config.asTool as { block: Block } | undefined)?.block;
  }

  get outputSchema(): AnySchema | undefined {
    return (this.config.outputSchema as AnySchema | undefined) ?? this.tool?.outputSchema;
  }

  /** The blocks it may run that are known before it does. */
  get children(): readonly Block[] {
    const listed =
      this.kind === 'router' ? this.config.routes : this.kind === 'generator' ? knownTools(this.config) : [];
    const blocks = Array.isArray(listed) ? (listed as unknown[]).filter(isBlock) : [];
    const rescue = Array.isArray(this.config.rescue) ? (this.config.rescue as Handler[]) : [];
    if (this.tool) blocks.push(this.tool);
    for (const { definition } of this.ownResources) blocks.push(...reactionsTo(definition).map(({ block }) => block));
    return [...blocks, ...rescue.map((handler) => handler?.block).filter(isBlock)];
  }

  /** Its own resources and those of every block below it; the flow refuses those that conflict. */
  get declaredResources(): Definitions | undefined {
    const found: Definitions = {};
    const seen = new Set<Block>();
    const walk = (block: Block): void => {
      if (seen.has(block)) return;
      seen.add(block);
      for (const { accessor, definition } of block.ownResources) found[accessor] ??= definition;
      block.children.forEach(walk);
    };
    walk(this);
    return Object.keys(found).length > 0 ? found : undefined;
  }

  /** A copy whose input is made by `mapper`; a later call replaces it (SEMANTICS §2.2). */
  connectInput(mapper: Fn): Block {
    return new Block(this.kind, {
      ...this.config,
      connectInput: needFunction(mapper, `connectInput of ${this.kind} "${this.name}"`),
    });
  }

  /** A copy whose output is mapped; its output schema and `onCompleted` no longer apply. */
  connectOutput(mapper: Fn): Block {
    const { outputSchema: _schema, onCompleted: _hook, mapModelOutput: _seen, ...rest } = this.config;
    return new Block(this.kind, {
      ...rest,
      connectOutput: needFunction(mapper, `connectOutput of ${this.kind} "${this.name}"`),
    });
  }

  /** A copy under another name, which is the only one that its runs are known by. */
  as(given: unknown): Block {
    return new Block(this.kind, { ...this.config, ...renaming(given, this) });
  }

  /** A copy that answers matching errors with a block's output; a later call replaces the handlers. */
  rescue(handlers: unknown): Block {
    return new Block(this.kind, { ...this.config, rescue: needHandlers(handlers, `${this.kind} "${this.name}"`) });
  }

  mapModelOutput(mapper: Fn): Block {
    return new Block(this.kind, {
      ...this.config,
      mapModelOutput: needFunction(mapper, `mapModelOutput of ${this.kind} "${this.name}"`),
    });
  }

  /** Runs the block inside the one whose context this is, and gives its output. */
  run(input?: unknown, ctx?: unknown): Promise<unknown> {
    return runBlock(this, input, ctx);
  }

  /** A handler that runs this block as a call of a tool, and leaves what such a call leaves. */
  asTool(given: ToolIdentity = {}): Block {
    const identity = withIdentity(given, `asTool of ${this.kind} "${this.name}"`);
    checkIdentity(identity, `asTool of ${this.kind} "${this.name}"`);
    const { description, config } = this;
    return new Block('handler', {
      name: `${this.name}__as_tool`,
      description,
      mapModelOutput: config.mapModelOutput,
      asTool: { block: this, ...identity },
    });
  }
}

/** What `as` changes of a configuration. */
export function renaming(given: unknown, { kind, name }: Block): Config {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`as of ${kind} "${name}" needs { name, description? }, got ${describeValue(given)}`);
  }
  const { name: other = name, description } = given as Config;
  return description === undefined ? { name: other } : { name: other, description };
}

/** The stack of the call that made a block. */
export function siteOf(block: Block): string {
  return sites.get(block.config) ?? '';
}

export function isBlock(value: unknown): value is Block {
  return value instanceof Block;
}

export function built(kind: Kind, config: Config): Block {
  const block = new Block(kind, withCapabilities(kind, config));
  warnOfUnknown(kind, config, `${kind} "${block.name}"`);
  warnInsideBlock(config, `${kind} "${block.name}"`);
  return block;
}

/** A handler's builder that knows a part of the configuration already. */
handler.withDefaults =
  (defaults: Config) =>
  (config: Config): Block =>
    handler({ ...defaults, ...config });

export function handler(config: Config): Block {
  const block = built('handler', config);
  if (typeof config.execute !== 'function') {
    throw new Error(`Cannot build "${block.name}" (handler) without an execute function`);
  }
  return block;
}

export function router(given: Config): Block {
  // A block that is listed twice is one route.
  const routesOnce = new Set<unknown>(Array.isArray(given?.routes) ? given.routes : []);
  const hasTwice = Array.isArray(given?.routes) && routesOnce.size < given.routes.length;
  const config = hasTwice ? { ...given, routes: [...routesOnce] } : given;
  const block = built('router', config);
  if (typeof config.execute !== 'function') {
    throw new Error(`Cannot build "${block.name}" (router) without an execute function`);
  }
  // What a router makes is known by no list; then `validateRoute` alone decides.
  const isOpen = config.validateRoute !== undefined;
  if (!Array.isArray(config.routes) || (config.routes.length === 0 && !isOpen)) {
    throw new Error(
      `Router "${block.name}" needs routes: a non-empty array of blocks, got ${describeValue(config.routes)}`,
    );
  }
  const routes = config.routes.map((route, at) => needBlock(route, `Router "${block.name}": routes[${at}]`));
  const twice = twoOfOneName(routes);
  if (twice !== undefined)
    throw new Error(`Router "${block.name}" has two routes named "${twice}"; a route is known by its name`);
  if (config.validateRoute !== undefined) needFunction(config.validateRoute, `Router "${block.name}": validateRoute`);
  return block;
}

/** The name that two different blocks of a list share. */
function twoOfOneName(blocks: readonly Block[]): string | undefined {
  const known = new Map<string, Block>();
  return blocks.find((block) => {
    const other = known.get(block.name);
    known.set(block.name, other ?? block);
    return other !== undefined && other !== block;
  })?.name;
}

export function generator(given: Config): Block {
  const named = `generator "${String(given?.name)}"`;
  const config = withOlderEmit(withIdentity(withPromptFile(given), named), named);
  const block = built('generator', config);
  if (block.config.model === undefined) throw new Error(`Generator "${block.name}" needs a model`);
  const { tools } = config;
  if (tools !== undefined && tools !== null && !Array.isArray(tools) && typeof tools !== 'function') {
    throw new TypeError(
      `generator "${block.name}": tools must be an array of blocks, or a function that gives one, got ${describeValue(tools)}`,
    );
  }
  const { outputSchema } = block.config;
  if (isSchema(outputSchema)) refuseUnstrict(outputSchema, `Generator "${block.name}"`);
  checkIdentity(config, `generator "${block.name}"`);
  checkLoop(config, `generator "${block.name}"`);
  const known = knownTools(block.config).map((tool, at) => needBlock(tool, `generator "${block.name}": tools[${at}]`));
  const twice = twoOfOneName(known);
  if (twice !== undefined) refuseTwoTools(`Generator "${block.name}"`, twice);
  const { toolApproval } = block.config;
  checkPolicy(toolApproval, `generator "${block.name}"`, knownTools(block.config), !!laterTools(block.config));
  repairOf(block.config);
  warnOfAbsent(config);
  return block;
}

export { handlersOf, needBlock, needFunction, needHandlers };
