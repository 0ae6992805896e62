// The settings of an instance of a flow: `config`, checked by `configSchema`, as `ctx.flow.config`.
//
// Must not: be stored. What a flow makes of its settings is; they themselves are code.

import { describeValue } from '../base/arguments';
import type { Config } from './blocks';
import type { Flow } from './flow';
import { isSchema, parse, shapeOf, type AnySchema } from '../base/schema';

interface Facts {
  readonly kind: string;
  readonly id: string;
  readonly config: Readonly<Config>;
}

let facts: Facts = Object.freeze({ kind: '', id: '', config: Object.freeze({}) });

/** What `ctx.flow` shows from now on. `stack` is where the flow or its instance is made: an error points there. */
export function settle(flow: Flow, stack: string): void {
  try {
    facts = Object.freeze({ kind: flow.kind, id: flow.id, config: Object.freeze(configOf(flow)) });
  } catch (error) {
    throw Object.assign(error as Error, { definedAt: stack });
  }
}

export const flowFacts = (): Facts => facts;

function configOf({ definition, kind, id }: Flow): Config {
  const { config, configSchema, cardinality, isMinted } = definition;
  const where = `Flow "${kind}" instance "${id}"`;
  if (configSchema === undefined) {
    if (config === undefined) return {};
    throw new Error(`${where} has a config, but the flow declares no configSchema: add configSchema: z.object({ … })`);
  }
  if (!isSchema(configSchema)) {
    throw new TypeError(`Flow "${kind}": configSchema must be a zod schema, got ${describeValue(configSchema)}`);
  }
  // Only its instances have settings.
  if (cardinality === 'collection' && isMinted !== true && config === undefined) return {};
  const fields = shapeOf(configSchema);
  const unknown = Object.keys((config ?? {}) as Config).find((key) => fields && !(key in fields));
  if (unknown !== undefined) {
    throw new Error(`${where} has an invalid config: "${unknown}" is none of ${Object.keys(fields ?? {}).join(', ')}`);
  }
  const parsed = parse(configSchema as AnySchema, config ?? {});
  if (parsed.ok) return parsed.data as Config;
  const issues = (parsed.issues ?? []).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  throw new Error(`${where} has an invalid config: ${issues.join('; ')}; give it as flow({ config: { … } })`);
}
