// `serializeActionSchema`: the fields of an action's input, for forms.

import { describe } from '../base/json-schema';
import { fieldsOf, isSchema, shapeOf, type AnySchema } from '../base/schema';

/** Each field with its JSON Schema; `type: "unknown"` where an input is no object. */
export function serializeActionSchema(schema: unknown): object {
  const shape = isSchema(schema) ? shapeOf(schema) : undefined;
  if (!isSchema(schema) || !shape) return { type: 'unknown' };
  const fields = fieldsOf(schema) ?? [];
  return {
    type: 'object',
    fields: fields.map((field) => {
      const described = describe(shape[field.name] as AnySchema);
      const required = !(shape[field.name] as AnySchema).safeParse(undefined).success;
      return { name: field.name, required, ...described };
    }),
  };
}
