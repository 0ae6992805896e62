// What a message to an agent is: `{ content, silent? }`, as a schema that is read as zod's are. Anything else is
// refused: what was said with it would be lost.
//
// Must not: import zod; a flow may have a copy of its own.

import { describeValue } from '../base/arguments';
import type { AnySchema } from '../base/schema';

/** What messages have elsewhere. */
const NOT_THERE: Record<string, string> = {
  attachments: 'messages have texts only',
  role: 'a message is what the person says; tools and hooks use injectMessage or queueMessage for other roles',
};

function leaf(typeName: string, kind: 'string' | 'boolean', description: string): AnySchema {
  return {
    _def: { typeName },
    description,
    safeParse: (value) =>
      typeof value === kind
        ? { success: true, data: value }
        : {
            success: false,
            error: { issues: [{ path: [], message: `a ${kind} is needed, not ${describeValue(value)}` }] },
          },
  };
}

/** The schema of the action's input. */
export function messageInput(): AnySchema {
  const content = leaf('ZodString', 'string', 'What the user says');
  const silent = leaf('ZodBoolean', 'boolean', 'Whether people do not see it');
  const optional: AnySchema = {
    _def: { typeName: 'ZodOptional', innerType: silent },
    safeParse: (value) => (value === undefined ? { success: true, data: undefined } : silent.safeParse(value)),
  };
  const shape: Record<string, AnySchema> = { content, silent: optional };
  return {
    _def: { typeName: 'ZodObject', shape: () => shape, unknownKeys: 'strict' },
    safeParse(value) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        const message = `a message is needed, like { "content": "Hello" }, not ${describeValue(value)}`;
        return { success: false, error: { issues: [{ path: [], message }] } };
      }
      const given = value as Record<string, unknown>;
      const issues = Object.entries(shape).flatMap(([field, schema]) =>
        (schema.safeParse(given[field]).error?.issues ?? []).map((issue) => ({ ...issue, path: [field] })),
      );
      for (const field of Object.keys(given).filter((name) => !(name in shape) && given[name] !== undefined)) {
        const why = NOT_THERE[field] ?? 'a message is { content, silent? }';
        issues.push({ path: [field], message: `is not there: ${why}` });
      }
      if (issues.length > 0) return { success: false, error: { issues } };
      const data: Record<string, unknown> = { content: given.content };
      if (given.silent !== undefined) data.silent = given.silent;
      return { success: true, data };
    },
  };
}
