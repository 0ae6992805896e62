// Which part of an action's input a person types when they talk to a flow. Pure.
import { startOf } from './check';
import { fieldOf, type Field } from './schema';

/** The one text that an action asks for: its whole input, or a field of it by its name. */
export type ChatText = { name: string | null; label: string };

/** What a field with the text of a message is usually called. */
const USUAL = ['message', 'content', 'text', 'prompt', 'question', 'query', 'input', 'topic'];

const isText = (field: Field) => field.kind === 'text' && !field.format;

/** Null where an action asks for more than a text, or for something else. */
export function chatTextOf(field: Field): ChatText | null {
  if (isText(field)) return { name: null, label: field.label };
  if (field.kind !== 'group') return null;
  const fields = field.fields ?? [];
  const needed = fields.filter((one) => one.field.required && one.field.fallback === undefined);
  const [only] = needed;
  if (needed.length > 1 || (only && !isText(only.field))) return null;
  const usual = USUAL.map((name) => fields.find((one) => one.name === name && isText(one.field))).find(Boolean);
  const found = only ?? usual;
  return found ? { name: found.name, label: found.field.label } : null;
}

/** The input that says a text. */
export function inputOf(field: Field, { name }: ChatText, text: string): unknown {
  if (name === null) return text;
  const start = startOf(field);
  return { ...(start !== null && typeof start === 'object' ? start : {}), [name]: text };
}

/** The text that an earlier input said; null where it said none. */
export function textIn(input: unknown, { name }: ChatText): string | null {
  const said = name === null ? input : (input as Record<string, unknown> | null | undefined)?.[name];
  return typeof said === 'string' ? said : null;
}

type Action = { name: string; inputSchema?: unknown };

/** The action that goes on with a session: the one that a person chose; otherwise the last one that was talked to, also
 *  if another action ran after it. */
export function chatAction<A extends Action>(
  actions: readonly A[],
  chosen: string | null,
  newest: readonly { action: string }[],
): A | null {
  const named = (name: string | null | undefined) => actions.find((one) => one.name === name);
  const talks = actions.filter((one) => chatTextOf(fieldOf(one.inputSchema)) !== null);
  const talked = newest.findLast((run) => talks.some(({ name }) => name === run.action));
  const last = newest[newest.length - 1];
  return named(chosen) ?? named(talked?.action) ?? named(last?.action) ?? talks[0] ?? actions[0] ?? null;
}
