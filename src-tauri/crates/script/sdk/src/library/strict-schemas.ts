// `makeSchemaStrict`: a schema in which every field is required, as some providers want the schema of an answer.
//
// Must not: import zod. A schema is made anew by its own class, of whichever copy it comes from.

import { definition, inside, shapeOf, typeOf, type AnySchema } from '../base/schema';
import { refuseUnstrict } from '../base/unstrict';

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

/** `validate` refuses what no strict schema can say; `label` stands before that message. */
export function makeSchemaStrict(schema: AnySchema, options: { validate?: boolean; label?: string } = {}): AnySchema {
  if (options.validate) refuseUnstrict(schema, options.label);
  return strict(schema);
}

export function assertStrictCompatible(schema: AnySchema, label?: string): void {
  refuseUnstrict(schema, label);
}
