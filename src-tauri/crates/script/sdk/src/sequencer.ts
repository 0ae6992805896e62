// The sequencer's chain: every method records one operation and returns a new sequencer.
//
// A sequencer has a `then` (seed 000's spelling of `step`), which makes it look like a promise:
// see `then` for how that is kept apart.

import { Block, isBlock, needBlock, needFunction, type Config, type Fn, type Operation } from './blocks';
import { isSchema } from './schema';

/** Wraps a sequencer while it passes through promise machinery that would call its `then`. */
export class Boxed {
  constructor(readonly block: Block) {}
}

interface Chained {
  block: Block;
  connector?: Fn;
}

/** The argument forms of core-semantics §3.4: block, connector and block, or factory and config. */
function chained(where: string, args: unknown[]): Chained {
  const [first, second] = args;
  if (isBlock(first)) return { block: first };
  if (typeof first === 'function' && isBlock(second)) return { connector: first as Fn, block: second };
  if (typeof first === 'function' && isInlineConfig(second)) {
    const config = { ...second, name: second.name ?? 'inline' };
    return { block: needBlock((first as unknown as (c: Config) => unknown)(config), `${where}(factory, config)`) };
  }
  const got = args.map((arg) => (arg === null ? 'null' : isBlock(arg) ? 'block' : typeof arg)).join(', ');
  throw new TypeError(
    `${where}(${got}) is not one of ${where}(block), ${where}(connector, block), ${where}(factory, config)`,
  );
}

function isInlineConfig(value: unknown): value is Config {
  if (typeof value !== 'object' || value === null || isBlock(value)) return false;
  const config = value as Config;
  return isSchema(config.outputSchema) || typeof config.execute === 'function' || config.prompt !== undefined;
}

export class Sequencer extends Block {
  readonly operations: readonly Operation[];

  constructor(config: Config, operations: readonly Operation[] = []) {
    super('sequencer', config);
    this.operations = operations;
  }

  #with(operation: Operation): Sequencer {
    return new Sequencer(this.config, [...this.operations, operation]);
  }

  override get inputSchema() {
    const own = super.inputSchema;
    const first = this.operations[0];
    return own ?? (first?.op === 'step' && !first.connector ? first.block?.inputSchema : undefined);
  }

  step(...args: unknown[]): Sequencer {
    return this.#with({ op: 'step', ...chained('step', args) });
  }

  /**
   * Seed 000's `step`. When an async function returns a sequencer, the promise machinery calls
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
    return this.#with({
      op: 'stepIf',
      condition: needFunction(condition, 'stepIf'),
      ...chained('stepIf', args),
    });
  }

  thenIf(condition: unknown, ...args: unknown[]): Sequencer {
    return this.stepIf(condition, ...args);
  }

  map(call: unknown): Sequencer {
    return this.#with({ op: 'map', call: needFunction(call, 'map') });
  }

  tap(...args: unknown[]): Sequencer {
    const [first] = args;
    if (args.length === 1 && typeof first === 'function') return this.#with({ op: 'tap', call: first as Fn });
    return this.#with({ op: 'tap', ...chained('tap', args) });
  }

  tapIf(condition: unknown, ...args: unknown[]): Sequencer {
    const holds = needFunction(condition, 'tapIf');
    const [first] = args;
    if (args.length === 1 && typeof first === 'function') {
      return this.#with({ op: 'tapIf', condition: holds, call: first as Fn });
    }
    return this.#with({ op: 'tapIf', condition: holds, ...chained('tapIf', args) });
  }

  /** On a sequencer the mapper is one more operation at the front, so that it composes. */
  override connectInput(mapper: Fn): Sequencer {
    const { inputSchema: _schema, ...config } = this.config;
    const operation = { op: 'map', call: needFunction(mapper, 'connectInput') };
    return new Sequencer(config, [operation, ...this.operations]);
  }

  override connectOutput(mapper: Fn): Sequencer {
    const { outputSchema: _schema, ...config } = this.config;
    return new Sequencer({ ...config, connectOutput: needFunction(mapper, 'connectOutput') }, this.operations);
  }
}

export function sequencer(config: Config): Sequencer {
  return new Sequencer(config);
}
