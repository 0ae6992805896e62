// `makeSchemaStrict`: a schema in which every field is required, as some providers want the schema of an answer.
//
// Must not: import zod. A schema is made anew by its own class, of whichever copy it comes from.

import { StrictSchemaError } from '../base/errors';
import { definition, inside, shapeOf, typeOf, type AnySchema } from '../base/schema';

export interface StrictViolation {
  path: string;
  typeName: string;
  reason: string;
}

type Changes = Record<string, unknown>;
type Made = new (definition: Changes) => AnySchema;

function rebuilt(schema: AnySchema, changes: Changes): AnySchema {
  const { clone } = schema as AnySchema & { clone?: (definition: Changes) => AnySchema };
  if (schema._zod && clone) return clone.call(schema, { ...schema._zod.def, ...changes });
  return new (schema.constructor as Made)({ ...schema._def, ...changes });
}

const WRAPPERS = ['optional', 'nullable', 'default', 'prefault', 'effects', 'pipe', 'pipeline', 'readonly', 'catch'];

function strict(schema: AnySchema): AnySchema {
  const type = typeOf(schema);
  if (WRAPPERS.includes(type)) return strict(inside(schema) as AnySchema);
  if (type === 'object') {
    const fields = Object.entries(shapeOf(schema) ?? {}).map(([name, field]) => [name, strict(field)] as const);
    const shape = Object.fromEntries(fields);
    return rebuilt(schema, { shape: schema._zod ? shape : () => shape });
  }
  if (type === 'array') {
    const { element, type: kind } = definition(schema) as { element?: AnySchema; type?: AnySchema };
    return rebuilt(
      schema,
      schema._zod ? { element: strict(element as AnySchema) } : { type: strict(kind as AnySchema) },
    );
  }
  return schema;
}

const zodName = (type: string): string =>
  ({ discriminatedunion: 'ZodDiscriminatedUnion' })[type] ?? `Zod${type.charAt(0).toUpperCase()}${type.slice(1)}`;

function violations(schema: AnySchema, path: string): StrictViolation[] {
  const type = typeOf(schema);
  const def = definition(schema);
  const found = (reason: string): StrictViolation[] => [{ path, typeName: zodName(type), reason }];
  switch (type) {
    case 'object':
      return Object.entries(shapeOf(schema) ?? {}).flatMap(([name, field]) => violations(field, `${path}.${name}`));
    case 'array':
      return violations((def.element ?? def.type) as AnySchema, `${path}[]`);
    case 'record':
      return [
        ...found('additionalProperties=true: keys are not known; use a list of { key, value }'),
        ...violations(def.valueType as AnySchema, `${path}[*]`),
      ];
    case 'union':
    case 'discriminatedunion': {
      const options = [...(def.options as AnySchema[] | Map<string, AnySchema>).values()];
      const own = options.every((option) => typeOf(option) === 'literal')
        ? []
        : found('variants that are no literals have different required fields; use one shape with nullable fields');
      return [...own, ...options.flatMap((option, at) => violations(option, `${path}|${at}`))];
    }
    default: {
      const inner = inside(schema);
      return inner ? violations(inner, path) : [];
    }
  }
}

/** `validate` refuses what no strict schema can say; `label` stands before that message. */
export function makeSchemaStrict(schema: AnySchema, options: { validate?: boolean; label?: string } = {}): AnySchema {
  const made = strict(schema);
  const wrong = options.validate ? violations(made, '$') : [];
  if (wrong.length === 0) return made;
  const whose = options.label === undefined ? 'Output' : `${options.label} output`;
  const lines = wrong.map(({ path, typeName, reason }) => `  ${path}: ${typeName}: ${reason}`);
  const error = new StrictSchemaError([`${whose} schema is not OpenAI strict-mode compatible:`, ...lines].join('\n'), {
    details: { violations: wrong },
  });
  throw Object.assign(error, { violations: wrong });
}

export function assertStrictCompatible(schema: AnySchema, label?: string): void {
  makeSchemaStrict(schema, { validate: true, label });
}
