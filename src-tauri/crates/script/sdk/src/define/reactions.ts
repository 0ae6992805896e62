// `reactTo` of a resource: blocks that run when it changes (SEMANTICS §4.10), and the schemas of what they get.
//
// Must not: watch anything. The engine knows what was written, and when it is in force.

import { describeValue } from '../base/arguments';
import { z } from 'zod';
import { isBlock, type Block, type Config, type Fn } from './blocks';
import { nearest } from './known-keys';
import { isSchema, parse, type AnySchema } from '../base/schema';

/** A block that runs on one kind of change. */
export interface Reaction {
  kind: string;
  block: Block;
  when?: Fn;
}

/** What may happen to an instance of a collection. `updated` is an older spelling of `stateUpdated`. */
const KINDS = ['created', 'stateUpdated', 'updated', 'contentUpdated', 'deleted'];
/** A single resource is always there. */
const OF_SINGLE = ['stateUpdated', 'updated', 'contentUpdated'];

/** `reactTo` of a definition, checked where the author wrote it. */
export function reactionsOf(reactTo: unknown, isCollection: boolean, where: string): Reaction[] {
  if (reactTo === undefined || reactTo === null) return [];
  if (typeof reactTo !== 'object' || Array.isArray(reactTo) || isBlock(reactTo)) {
    throw new TypeError(
      `${where}: reactTo must be an object like { stateUpdated: block }, got ${describeValue(reactTo)}`,
    );
  }
  const known = isCollection ? KINDS : OF_SINGLE;
  return Object.entries(reactTo as Config)
    .filter(([, binding]) => binding !== undefined)
    .map(([kind, binding]) => {
      const at = `${where} reactTo.${kind}`;
      if (!known.includes(kind)) throw new Error(`${at}: ${unknown(kind, known)}`);
      const { block, when } = isBlock(binding) ? { block: binding, when: undefined } : ((binding ?? {}) as Config);
      if (!isBlock(block)) throw new Error(`${at} must be a block (got ${describeValue(block ?? binding)})`);
      if (when !== undefined && typeof when !== 'function') throw new Error(`${at}.when must be a function`);
      return { kind, block: block as Block, when: when as Fn | undefined };
    });
}

function unknown(kind: string, known: string[]): string {
  if (KINDS.includes(kind)) {
    return `a single resource is neither created nor deleted; it has ${OF_SINGLE.filter((one) => one !== 'updated').join(' and ')}`;
  }
  const meant = nearest(kind, known);
  return `it is one of ${known.filter((one) => one !== 'updated').join(', ')}${meant ? `; did you mean "${meant}"?` : ''}`;
}

/** One form for a binding: `{ block, when? }`. */
export function normalizeReactiveBinding(binding: unknown): { block: Block; when?: Fn } {
  if (isBlock(binding)) return { block: binding };
  const { block, when } = (binding ?? {}) as { block: Block; when?: Fn };
  return when === undefined ? { block } : { block, when };
}

/** A schema of the workspace's own zod, or of another generation, as one of ours. */
function adopted(schema: AnySchema): z.ZodTypeAny {
  if (typeof (schema as { _parse?: unknown })._parse === 'function') return schema as unknown as z.ZodTypeAny;
  return z.any().transform((value, ctx) => {
    const answer = parse(schema, value);
    for (const { path, message } of answer.issues ?? []) {
      ctx.addIssue({ code: z.ZodIssueCode.custom, message, path: path === '' ? [] : path.split('.') });
    }
    return answer.data;
  });
}

/** What a reaction to a changed state gets. */
export function resourceChangeSchema(stateSchema: unknown): z.ZodTypeAny {
  if (!isSchema(stateSchema)) {
    throw new TypeError(
      `resourceChangeSchema needs the state schema of the resource, got ${describeValue(stateSchema)}`,
    );
  }
  const state = adopted(stateSchema).nullable();
  return z.object({
    key: z.string(),
    ref: z.string(),
    kind: z.enum(['created', 'stateUpdated', 'updated', 'deleted']),
    state,
    prevState: state,
    evicted: z.boolean(),
  });
}

/** What a reaction to a changed text gets; the text itself is read from the resource. */
export function resourceContentChangeSchema(): z.ZodTypeAny {
  return z.object({ key: z.string(), ref: z.string(), kind: z.literal('contentUpdated') });
}
