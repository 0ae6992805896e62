// The sequencer's chain: every method records one operation and returns a new sequencer.
//
// A sequencer has a `then` (an older spelling of `step`), which makes it look like a promise:
// see `then` for how that is kept apart.

import { describeValue } from '../base/arguments';
import { Block, isBlock, needBlock, needFunction, needHandlers, renaming } from './blocks';
import type { Config, Fn, Operation } from './blocks';
import { withCapabilities } from './capabilities';
import {
  background,
  branchOf,
  chained,
  iterating,
  limitOf,
  needCondition,
  needList,
  optionsOf,
} from './chain-arguments';
import { warnOfUnknown } from './known-keys';
import { warnInsideBlock, warnOfOthers } from './nested-keys';
import { tellMisspelt } from './misspelt';
import { keepOrigin } from '../base/origins';
import type { AnySchema } from '../base/schema';
import { standsFor } from '../base/sources';
import { expectRace } from '../globals/step-signals';
import { after, anything, compare } from './tracked';

/** Wraps a sequencer while it passes through promise machinery that would call its `then`. */
export class Boxed {
  constructor(readonly block: Block) {}
}

/** The blocks of chains that were asked for them: each of several passes over a flow asks, and a chain never changes. */
const blocksOfChains = new WeakMap<Sequencer, readonly Block[]>();

function blocksOf(operations: readonly Operation[]): readonly Block[] {
  const found: Block[] = [];
  for (const { block, arms, madeOf } of operations) {
    if (isBlock(block)) found.push(block);
    if (arms) found.push(...arms.map((arm) => arm.block).filter(isBlock));
    if (madeOf) found.push(...madeOf.filter(isBlock));
  }
  return found;
}

export class Sequencer extends Block {
  /** The chain, and what longer chains made of it have added behind `length`. */
  // Not private fields: those are lowered to maps, and each operation makes a sequencer.
  private readonly shared: Operation[];
  private readonly length: number;

  constructor(config: Config, operations: Operation[] = [], from?: Sequencer) {
    super('sequencer', config, from);
    this.shared = operations;
    this.length = operations.length;
  }

  get operations(): Operation[] {
    return this.shared.slice(0, this.length);
  }

  override get children(): readonly Block[] {
    let inside = blocksOfChains.get(this);
    if (!inside) {
      inside = blocksOf(this.operations);
      blocksOfChains.set(this, inside);
    }
    return [...inside, ...super.children];
  }

  private with(operation: Operation): Sequencer {
    // Only the first to go on from here may use the list itself; building a chain stays linear that way.
    const list = this.shared.length === this.length ? this.shared : this.shared.slice(0, this.length);
    list.push(operation);
    keepOrigin(`${operation.op} of sequencer "${this.name}"`, [
      operation.call,
      operation.condition,
      operation.connector,
      operation.signal,
      operation.settled,
      operation.each,
    ]);
    return new Sequencer(this.config, list, this);
  }

  override get inputSchema() {
    const own = super.inputSchema;
    const first = this.operations[0];
    return own ?? (first?.op === 'step' && !first.connector ? first.block?.inputSchema : undefined);
  }

  /** What its last operation makes, of which a function may make anything; only the declared one is checked. */
  override get outputSchema() {
    if (this.config.connectOutput) return undefined;
    const isFunction = ['map', 'connectInput'].includes(this.operations.at(-1)?.op as string);
    return this.made() ?? super.outputSchema ?? (isFunction ? anything : undefined);
  }

  private made() {
    return this.operations.reduce((before, operation) => after(operation, before), undefined as AnySchema | undefined);
  }

  /** Throws when the chain cannot make the declared output, as far as its schemas tell. */
  validate(): void {
    compare(this.name, super.outputSchema, this.made());
  }

  step(...args: unknown[]): Sequencer {
    return this.with({ op: 'step', ...chained('step', args) });
  }

  /**
   * An older spelling of `step`. When an async function returns a sequencer, the promise machinery calls
   * `then(resolve, reject)` with two functions: that is no step, so the box is handed through.
   */
  then(...args: unknown[]): Sequencer {
    const [first, second] = args;
    if (typeof first === 'function' && (second === undefined || typeof second === 'function') && !isBlock(second)) {
      (first as unknown as (value: unknown) => void)(new Boxed(this));
      return this;
    }
    return this.step(...args);
  }

  stepIf(condition: unknown, ...args: unknown[]): Sequencer {
    return this.with({
      op: 'stepIf',
      condition: needCondition(condition, 'stepIf'),
      ...chained('stepIf', args, { condition }),
    });
  }

  thenIf(condition: unknown, ...args: unknown[]): Sequencer {
    return this.stepIf(condition, ...args);
  }

  map(call: unknown): Sequencer {
    return this.with({ op: 'map', call: needFunction(call, 'map') });
  }

  tap(...args: unknown[]): Sequencer {
    const [first] = args;
    if (args.length === 1 && typeof first === 'function') return this.with({ op: 'tap', call: first as Fn });
    return this.with({ op: 'tap', ...chained('tap', args, undefined, ['function']) });
  }

  tapIf(condition: unknown, ...args: unknown[]): Sequencer {
    const holds = needCondition(condition, 'tapIf');
    const [first] = args;
    if (args.length === 1 && typeof first === 'function') {
      return this.with({ op: 'tapIf', condition: holds, call: first as Fn });
    }
    return this.with({ op: 'tapIf', condition: holds, ...chained('tapIf', args, { condition }, ['function']) });
  }

  exitIf(condition: unknown): Sequencer {
    return this.with({ op: 'exitIf', condition: needCondition(condition, 'exitIf') });
  }

  throwIf(condition: unknown, error: unknown): Sequencer {
    if (!(error instanceof Error) && typeof error !== 'function') {
      throw new TypeError('throwIf needs an Error, or a function that makes one, got ' + describeValue(error));
    }
    const call = async (value: unknown, ctx: unknown): Promise<never> => {
      throw typeof error === 'function' ? await (error as (v: unknown, c: unknown) => unknown)(value, ctx) : error;
    };
    const thrown = standsFor(call as unknown as Fn, error);
    return this.with({ op: 'throwIf', condition: needCondition(condition, 'throwIf'), call: thrown });
  }

  parallel(branches: unknown, options: { maxConcurrency?: number } = {}): Sequencer {
    if (typeof branches !== 'object' || branches === null || Array.isArray(branches) || isBlock(branches)) {
      throw new TypeError(
        'parallel needs an object of blocks, like parallel({ a: blockA, b: blockB }), got ' + describeValue(branches),
      );
    }
    const arms = Object.entries(branches).map(([key, branch]) => ({ key, ...branchOf(branch, `parallel: "${key}"`) }));
    return this.with({ op: 'parallel', arms, limit: limitOf(options, 'parallel') });
  }

  stepAll(blocks: unknown, options: { maxConcurrency?: number } = {}): Sequencer {
    const arms = needList(blocks, 'stepAll').map((branch, at) => branchOf(branch, `stepAll: [${at}]`));
    return this.with({ op: 'stepAll', arms, limit: limitOf(options, 'stepAll') });
  }

  stepAny(blocks: unknown): Sequencer {
    const arms = needList(blocks, 'stepAny').map((block, at) => ({ block: needBlock(block, `stepAny: [${at}]`) }));
    return this.with({ op: 'stepAny', arms });
  }

  race(blocks: unknown, options: { maxConcurrency?: number } = {}): Sequencer {
    const arms = needList(blocks, 'race').map((block, at) => ({ block: needBlock(block, `race: [${at}]`) }));
    expectRace();
    return this.with({ op: 'race', arms, limit: limitOf(options, 'race') });
  }

  branch(arms: unknown): Sequencer {
    if (typeof arms !== 'object' || arms === null || Array.isArray(arms)) {
      throw new TypeError(
        'branch needs an object, like branch({ name: [connector, condition, block] }), got ' + describeValue(arms),
      );
    }
    const list = Object.entries(arms).map(([key, arm]) => {
      if (!Array.isArray(arm) || arm.length !== 3) {
        throw new TypeError(`branch: "${key}" must be [connector, condition, block], got ${describeValue(arm)}`);
      }
      return {
        key,
        connector: needFunction(arm[0], `branch: "${key}" connector`),
        condition: needCondition(arm[1], `branch: "${key}"`),
        block: needBlock(arm[2], `branch: "${key}"`),
      };
    });
    return this.with({ op: 'branch', arms: list });
  }

  forEach(...args: unknown[]): Sequencer {
    return this.with({ op: 'forEach', ...iterating('forEach', args, 'maxConcurrency') });
  }

  forEachBackground(...args: unknown[]): Sequencer {
    const iteration = iterating('forEachBackground', args, 'concurrency');
    return this.with({ op: 'forEachBackground', ...iteration, limit: iteration.limit ?? 16 });
  }

  doUntil(condition: unknown, ...args: unknown[]): Sequencer {
    return this.with({
      op: 'doUntil',
      condition: needFunction(condition, 'doUntil: the condition'),
      ...chained('doUntil', args, { condition }),
    });
  }

  doWhile(condition: unknown, ...args: unknown[]): Sequencer {
    return this.with({
      op: 'doWhile',
      condition: needFunction(condition, 'doWhile: the condition'),
      ...chained('doWhile', args, { condition }),
    });
  }

  loopBack(target: unknown, options: { when?: unknown; maxIterations?: number } = {}): Sequencer {
    if (typeof target !== 'string' || target === '')
      throw new TypeError(`loopBack needs the name of an operation, got ${describeValue(target)}`);
    const most = options.maxIterations;
    if (!Number.isInteger(most) || (most as number) < 1) {
      throw new TypeError(
        `loopBack("${target}") needs { maxIterations: a positive integer }, got ${describeValue(most)}`,
      );
    }
    warnOfOthers(options, ['when', 'maxIterations'], 'loopBack', 'option of it');
    const condition = options.when === undefined ? undefined : needCondition(options.when, 'loopBack: when');
    return this.with({ op: 'loopBack', target, limit: most, condition });
  }

  work(...args: unknown[]): Sequencer {
    return this.with({ op: 'work', ...background('work', args) });
  }

  workIf(condition: unknown, ...args: unknown[]): Sequencer {
    const holds = needCondition(condition, 'workIf');
    return this.with({ op: 'work', condition: holds, ...background('workIf', args, { condition }) });
  }

  waitForWork(options: { failOnError?: boolean; timeoutMs?: number } = {}): Sequencer {
    const given = optionsOf<{ failOnError?: unknown; timeoutMs?: unknown }>(
      options,
      'waitForWork',
      '{ timeoutMs: 1000 }',
    );
    warnOfOthers(given, ['failOnError', 'timeoutMs'], 'waitForWork', 'option of it');
    const { failOnError = false, timeoutMs } = given;
    if (typeof failOnError !== 'boolean') {
      throw new TypeError(`waitForWork: failOnError must be true or false, got ${describeValue(failOnError)}`);
    }
    if (timeoutMs !== undefined && (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))) {
      throw new TypeError(`waitForWork: timeoutMs must be a number of milliseconds, got ${describeValue(timeoutMs)}`);
    }
    return this.with({
      op: 'waitForWork',
      failOnError,
      timeoutMs: timeoutMs === undefined || timeoutMs === Infinity ? undefined : Math.ceil(timeoutMs),
    });
  }

  waitForCondition(condition: unknown, options: { timeoutMs?: unknown; wakeOn?: unknown } = {}): Sequencer {
    const { timeoutMs, wakeOn } = options;
    warnOfOthers(options, ['timeoutMs', 'wakeOn'], 'waitForCondition', 'option of it');
    if (typeof timeoutMs !== 'number' || !(timeoutMs > 0) || timeoutMs === Infinity) {
      throw new TypeError(
        'waitForCondition needs { timeoutMs: a positive number of milliseconds }, got ' + describeValue(timeoutMs),
      );
    }
    return this.with({
      op: 'waitForCondition',
      condition: needFunction(condition, 'waitForCondition'),
      call: wakeOn === undefined ? undefined : needFunction(wakeOn, 'waitForCondition: wakeOn'),
      timeoutMs: Math.ceil(timeoutMs),
    });
  }

  /** Handlers of the whole sequencer, wherever the call stands; a later call replaces them. */
  override rescue(handlers: unknown): Sequencer {
    return new Sequencer(
      { ...this.config, rescue: needHandlers(handlers, `sequencer "${this.name}"`) },
      this.operations,
    );
  }

  thenAll(blocks: unknown, options: { maxConcurrency?: number } = {}): Sequencer {
    return this.stepAll(blocks, options);
  }

  thenAny(blocks: unknown): Sequencer {
    return this.stepAny(blocks);
  }

  background(...args: unknown[]): Sequencer {
    return this.work(...args);
  }

  sideChain(...args: unknown[]): Sequencer {
    return this.work(...args);
  }

  sideChainIf(condition: unknown, ...args: unknown[]): Sequencer {
    return this.workIf(condition, ...args);
  }

  waitForSideChain(options: { failOnError?: boolean; timeoutMs?: number } = {}): Sequencer {
    return this.waitForWork(options);
  }

  forEachSideChain(...args: unknown[]): Sequencer {
    return this.forEachBackground(...args);
  }

  override as(given: unknown): Sequencer {
    return new Sequencer({ ...this.config, ...renaming(given, this) }, this.operations);
  }

  /** On a sequencer the mapper is one more operation at the front, so that it composes. */
  override connectInput(mapper: Fn): Sequencer {
    const { inputSchema: _schema, ...config } = this.config;
    const operation = { op: 'connectInput', call: needFunction(mapper, `connectInput of sequencer "${this.name}"`) };
    return new Sequencer(config, [operation, ...this.operations]);
  }

  override connectOutput(mapper: Fn): Sequencer {
    const { outputSchema: _schema, ...config } = this.config;
    return new Sequencer(
      { ...config, connectOutput: needFunction(mapper, `connectOutput of sequencer "${this.name}"`) },
      this.operations,
    );
  }
}

tellMisspelt(Block.prototype, Sequencer);

export function sequencer(config: Config): Sequencer {
  const made = new Sequencer(withCapabilities('sequencer', config));
  const { durable } = config;
  if (durable !== undefined && typeof durable !== 'boolean') {
    throw new TypeError(`sequencer "${made.name}": durable must be true or false, got ${describeValue(durable)}`);
  }
  warnOfUnknown('sequencer', config, `sequencer "${made.name}"`);
  warnInsideBlock(config, `sequencer "${made.name}"`);
  return made;
}
