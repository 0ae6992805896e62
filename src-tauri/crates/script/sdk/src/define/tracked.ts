// What is known of a chain's value as it grows, from the schemas of its blocks (SEMANTICS §2.3).
//
// It informs and is compared by `validate()`. Only what an author declares is checked while a flow
// runs. Must not: import zod; a schema that is put together here is told by its parts.

import type { Operation } from './blocks';
import { SequencerSchemaMismatchError } from '../base/errors';
import { definition, inside, shapeOf, typeOf, type AnySchema } from '../base/schema';

/** What an operation makes of the schema before it; nothing where the value can be anything. */
export function after(operation: Operation, before: AnySchema | undefined): AnySchema | undefined {
  const { op, block, arms = [] } = operation;
  switch (op) {
    case 'step':
    case 'stepIf':
    case 'doUntil':
    case 'doWhile':
      return block?.outputSchema;
    case 'parallel':
      return objectOf(Object.fromEntries(arms.map((arm) => [arm.key as string, arm.block.outputSchema ?? anything])));
    case 'forEach':
      return block ? arrayOf(block.outputSchema ?? anything) : undefined;
    case 'branch':
      return arms[0]?.block.outputSchema;
    case 'waitForCondition':
      return objectOf({ timedOut: truth });
    case 'map':
    case 'connectInput':
    case 'stepAll':
    case 'stepAny':
    case 'race':
      return undefined;
    default:
      return before;
  }
}

/** One issue, as zod would tell it. */
const wrong = (message: string) => ({ success: false, error: { issues: [{ path: [], message }] } });

export const anything: AnySchema = { safeParse: (data) => ({ success: true, data }), _def: { typeName: 'ZodAny' } };

const truth: AnySchema = {
  safeParse: (data) => (typeof data === 'boolean' ? { success: true, data } : wrong('Expected boolean')),
  _def: { typeName: 'ZodBoolean' },
};

/** The parts' values under their keys, or the first part's issue with its place. */
function parts(entries: [string | number, AnySchema, unknown][], keep: (key: string | number, value: unknown) => void) {
  for (const [key, schema, value] of entries) {
    const parsed = schema.safeParse(value);
    if (!parsed.success) {
      const issues = (parsed.error?.issues ?? []).map((issue) => ({ ...issue, path: [key, ...issue.path] }));
      return { success: false, error: { issues } };
    }
    keep(key, parsed.data);
  }
  return undefined;
}

function objectOf(shape: Record<string, AnySchema>): AnySchema {
  const safeParse = (value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong('Expected object');
    const data: Record<string, unknown> = {};
    const entries = Object.entries(shape).map(
      ([key, schema]) => [key, schema, (value as typeof data)[key]] as [string, AnySchema, unknown],
    );
    return parts(entries, (key, part) => void (data[key] = part)) ?? { success: true, data };
  };
  const made = { safeParse, shape, _def: { typeName: 'ZodObject', shape: () => shape } };
  return made;
}

function arrayOf(element: AnySchema): AnySchema {
  const safeParse = (value: unknown) => {
    if (!Array.isArray(value)) return wrong('Expected array');
    const data: unknown[] = [];
    const entries = value.map((item, at) => [at, element, item] as [number, AnySchema, unknown]);
    return parts(entries, (_at, part) => void data.push(part)) ?? { success: true, data };
  };
  return { safeParse, _def: { typeName: 'ZodArray', type: element } };
}

/** Says why a chain cannot make what its sequencer declares; silent where nothing is known. */
export function compare(sequencer: string, declared: AnySchema | undefined, made: AnySchema | undefined): void {
  if (!declared || !made || declared === made) return;
  const found = difference(declared, made);
  if (found === undefined) return;
  const { what, declaredKind, inferredKind, types, reason } = found;
  throw new SequencerSchemaMismatchError(
    `Sequencer "${sequencer}" declares ${what} of kind ${declaredKind}, but its chain makes ${inferredKind}: ${reason}`,
    { details: { sequencerName: sequencer, declaredKind: types[0], inferredKind: types[1], reason } },
  );
}

/** Kinds that may let through what another kind makes. */
const OPEN = [
  'any',
  'unknown',
  'lazy',
  'custom',
  'transform',
  'union',
  'discriminatedunion',
  'intersection',
  'nativeenum',
  'record',
];

/** A schema past what only wraps it; of a pipe, what comes out of it. */
function core(schema: AnySchema, depth = 0): AnySchema {
  if (depth > 20) return anything;
  const def = definition(schema);
  const kind = typeOf(schema);
  if (kind === 'effects' && (def.effect as { type?: string } | undefined)?.type === 'transform') return anything;
  const inner = kind === 'pipe' || kind === 'pipeline' ? (def.out as AnySchema) : inside(schema);
  return inner ? core(inner, depth + 1) : schema;
}

function kindOf(schema: AnySchema): string {
  const at = core(schema);
  const kind = typeOf(at);
  if (kind === 'int') return 'number';
  if (kind === 'enum') return 'string';
  if (kind !== 'literal') return kind;
  const { values, value } = definition(at);
  const [literal] = Array.isArray(values) ? (values as unknown[]) : [value];
  return literal === null ? 'null' : typeof literal;
}

/** The class of a schema past its wrappers, like `ZodString`. */
function className(schema: AnySchema): string {
  const kind = typeOf(core(schema));
  const named: Record<string, string> = { discriminatedunion: 'DiscriminatedUnion', nativeenum: 'NativeEnum' };
  return `Zod${named[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1)}`;
}

/** Kinds that cannot be the same value's. */
function unequal(one: AnySchema, two: AnySchema): boolean {
  const kinds = [kindOf(one), kindOf(two)];
  return kinds[0] !== kinds[1] && !kinds.some((kind) => OPEN.includes(kind as string));
}

/** How two schemas differ: the kinds are those of what differs, which may be a field. */
interface Difference {
  what: string;
  declaredKind: string;
  inferredKind: string;
  /** The same as zod's classes of schemas. */
  types: [string, string];
  reason: string;
}

function difference(declared: AnySchema, made: AnySchema): Difference | undefined {
  const between = (what: string, one: AnySchema, two: AnySchema, reason: (kinds: [string, string]) => string) => {
    const kinds: [string, string] = [kindOf(one), kindOf(two)];
    const types: [string, string] = [className(one), className(two)];
    return { what, declaredKind: kinds[0], inferredKind: kinds[1], types, reason: reason(kinds) };
  };
  if (unequal(declared, made)) return between('an output', declared, made, ([one, two]) => `${one} is not ${two}`);
  const [wanted, given] = [shapeOf(core(declared)), shapeOf(core(made))];
  if (wanted && given && kindOf(declared) === 'object') {
    const missing = Object.keys(wanted).filter((key) => !(key in given));
    const more = Object.keys(given).filter((key) => !(key in wanted));
    if (missing.length + more.length > 0) {
      const list = (keys: string[]) => keys.map((key) => JSON.stringify(key)).join(', ');
      const told = [
        missing.length > 0 ? `missing ${list(missing)}` : '',
        more.length > 0 ? `unexpected ${list(more)}` : '',
      ];
      const reason = `key sets differ: ${told.filter((part) => part !== '').join('; ')}`;
      return between('an output', declared, made, () => reason);
    }
    const key = Object.keys(wanted).find((name) => unequal(wanted[name] as AnySchema, given[name] as AnySchema));
    if (key !== undefined) {
      const name = JSON.stringify(key);
      return between(
        `a field ${name}`,
        wanted[key] as AnySchema,
        given[key] as AnySchema,
        ([one, two]) => `key ${name} is declared as ${one}, but is ${two}`,
      );
    }
  }
  if (kindOf(declared) === 'array') {
    const element = (schema: AnySchema) => {
      const { element: newer, type: older } = definition(core(schema));
      return (typeof newer === 'object' ? newer : older) as AnySchema;
    };
    const [one, two] = [element(declared), element(made)];
    if (one && two && unequal(one, two)) {
      return between(
        'an array element',
        one,
        two,
        (kinds) => `array element is declared as ${kinds[0]}, but is ${kinds[1]}`,
      );
    }
  }
  return undefined;
}
