// What the answer of a model cannot be: some providers take a schema only if it names every key of every object.
//
// Must not: import zod. A schema is read by its shape.

import { StrictSchemaError } from './errors';
import { definition, inside, shapeOf, typeOf, type AnySchema } from './schema';

interface StrictViolation {
  path: string;
  typeName: string;
  reason: string;
}

const zodName = (type: string): string =>
  ({ discriminatedunion: 'ZodDiscriminatedUnion' })[type] ?? `Zod${type.charAt(0).toUpperCase()}${type.slice(1)}`;

/** What is inside of a schema; of a lazy one that cannot be made yet, nothing. */
function insideOf(schema: AnySchema): AnySchema | undefined {
  try {
    return inside(schema);
  } catch {
    return undefined;
  }
}

/** `fine` are schemas that were found to be so: a part that many share is looked at once. */
function violations(
  schema: AnySchema,
  path: string,
  fine: Set<AnySchema>,
  around: readonly AnySchema[] = [],
): StrictViolation[] {
  if (fine.has(schema)) return [];
  const wrong = violationsIn(schema, path, fine, around);
  if (wrong.length === 0) fine.add(schema);
  return wrong;
}

function violationsIn(
  schema: AnySchema,
  path: string,
  fine: Set<AnySchema>,
  around: readonly AnySchema[],
): StrictViolation[] {
  const type = typeOf(schema);
  // A schema that contains itself has no end; a lazy one may be another object each time.
  if (around.includes(schema) || (type === 'lazy' && around.some((outer) => typeOf(outer) === 'lazy'))) return [];
  const def = definition(schema);
  const within = (inner: AnySchema, at: string) => violations(inner, at, fine, [...around, schema]);
  const found = (reason: string): StrictViolation[] => [{ path, typeName: zodName(type), reason }];
  switch (type) {
    case 'object':
      return Object.entries(shapeOf(schema) ?? {}).flatMap(([name, field]) => within(field, `${path}.${name}`));
    case 'array':
      return within((def.element ?? def.type) as AnySchema, `${path}[]`);
    case 'record':
      return [
        ...found('additionalProperties=true: keys are not known; use a list of { key, value }'),
        ...within(def.valueType as AnySchema, `${path}[*]`),
      ];
    case 'union':
    case 'discriminatedunion': {
      const options = [...(def.options as AnySchema[] | Map<string, AnySchema>).values()];
      const own = options.every((option) => typeOf(option) === 'literal')
        ? []
        : found('variants that are no literals have different required fields; use one shape with nullable fields');
      return [...own, ...options.flatMap((option, at) => within(option, `${path}|${at}`))];
    }
    default: {
      const inner = insideOf(schema);
      return inner ? within(inner, path) : [];
    }
  }
}

/** Refuses what no strict schema can say; `label` stands before the message. */
export function refuseUnstrict(schema: AnySchema, label?: string): void {
  const wrong = violations(schema, '$', new Set());
  if (wrong.length === 0) return;
  const whose = label === undefined ? 'Output' : `${label} output`;
  const lines = wrong.map(({ path, typeName, reason }) => `  ${path}: ${typeName}: ${reason}`);
  const error = new StrictSchemaError([`${whose} schema is not OpenAI strict-mode compatible:`, ...lines].join('\n'), {
    details: { violations: wrong },
  });
  throw Object.assign(error, { violations: wrong });
}
