// What an item says, whatever its type: the text of a message, the call of a tool, the words of a status.
// Content comes from flows and models, so it is only ever handed on as text.
import { isRecord, preview } from '../base/json';
import { formatPath } from '../base/path';
import type { Item } from '../host/host';
import { questionWords } from './question';

const BASE = new Set([
  'id',
  'type',
  'status',
  'requestId',
  'itemIndex',
  'ts',
  'seq',
  'transient',
  'agentType',
  'agentName',
  'provenance',
  'visibility',
  'itemVisibility',
]);

/** Who speaks: the role of a message, the name of a tool, or simply the type in words. */
export function speaker(item: Item): string {
  if (item.type === 'message') return item.agentName || word(item.role) || 'message';
  if (item.type === 'block_tool_output' || item.type === 'tool_output') {
    const call = isRecord(item.toolCall) ? item.toolCall : {};
    return word(call.alias) || word(call.name) || word(item.blockName) || 'tool';
  }
  if (item.type === 'component') return word(item.component) || 'component';
  return item.type.replaceAll('_', ' ');
}

/** The text of an item, or null when it has none and its payload says it all. */
export function textOf(item: Item): string | null {
  if (isQuestion(item)) return questionOf(item);
  for (const parts of [item.content, item.summary]) {
    if (typeof parts === 'string') return parts;
    if (Array.isArray(parts)) {
      const found = parts.map((part) => (isRecord(part) ? word(part.text) || word(part.transcript) : word(part)));
      if (found.some((text) => text)) return found.filter((text) => text).join('\n');
    }
  }
  return word(item.message) || word(item.title) || word(item.url) || null;
}

/** Whether it asks a person. Its text is the question; what is recorded of it beside that is folded. */
export const isQuestion = (item: Item): boolean => item.type === 'suspension';

const questionOf = (item: Item): string =>
  questionWords({
    reason: word(item.reason) || 'approval',
    message: word(item.message) || null,
    data: item.data,
    path: item.provenance.path,
  });

/** How much of a value a line shows. */
const LONGEST = 120;

/** A call of a tool, a write or an output in a line: what is said where an item has no text. Null for the other types. */
export function lineOf(item: Item): string | null {
  switch (item.type) {
    case 'block_tool_output':
    case 'tool_output': {
      const call = isRecord(item.toolCall) ? item.toolCall : {};
      const failure = failureOf(item);
      const result = failure ? `✗ ${shortened(failure)}` : item.output === undefined ? '…' : plain(item.output);
      return `${speaker(item)}(${argumentsOf(word(call.arguments))}) → ${result}`;
    }
    case 'state_change': {
      return changeLine(item);
    }
    case 'resource_change':
      return `${word(item.scope)}/${word(item.resourcePath)} ${word(item.changeType)} ${plain(item.delta)}`.trim();
    case 'block_output': {
      const failure = failureOf(item);
      if (failure) return `✗ ${shortened(failure)}`;
      return item.output === undefined ? null : `→ ${plain(item.output)}`;
    }
    case 'router_decision':
      return `→ ${word(item.selectedRoute)}`;
    default:
      return null;
  }
}

/** The message of the error that it ended with; empty if there is none. */
export const failureOf = ({ error }: Item): string => (isRecord(error) ? word(error.message) : '');

/** How many places of a write a line names. */
const MOST_PLACES = 3;

/** `sequencer.step: 1 → 2` of an increment, `session.topic → "bees"` of a patch; any other write by its operation. */
function changeLine(item: Item): string {
  const scope = word(item.scope);
  const leaves = isRecord(item.value) ? leavesOf(item.value, []) : [];
  if (!['patch', 'increment', 'set'].includes(word(item.operation)) || leaves.length === 0) {
    const place = [scope, word(item.path)].filter(Boolean).join('.');
    return `${place} ${word(item.operation)} ${plain(item.delta ?? item.value)}`.trim();
  }
  const deltas = new Map(isRecord(item.delta) ? leavesOf(item.delta, []) : []);
  const said = leaves.slice(0, MOST_PLACES).map(([path, value]) => {
    const by = deltas.get(path);
    const isCounted = item.operation === 'increment' && typeof value === 'number' && typeof by === 'number';
    const old = isCounted ? `: ${value - by}` : '';
    return `${scope}.${path}${old} → ${plain(value)}`;
  });
  const left = leaves.length - said.length;
  return said.join('; ') + (left > 0 ? `; ${left} more` : '');
}

/** The places of a value that hold no record with fields, each with its path. */
function leavesOf(value: Record<string, unknown>, above: readonly string[]): [string, unknown][] {
  return Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    const steps = [...above, key];
    return isRecord(inner) && Object.keys(inner).length > 0 ? leavesOf(inner, steps) : [[formatPath(steps), inner]];
  });
}

/** The arguments of a call are JSON text; what is none is shown as it is. */
function argumentsOf(text: string): string {
  if (text === '' || text === '{}') return '';
  try {
    return plain(JSON.parse(text));
  } catch {
    return shortened(text);
  }
}

const plain = (value: unknown) =>
  value === undefined ? '' : typeof value === 'string' ? shortened(value) : preview(value, LONGEST);
const shortened = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** What is particular to this item: its payload without the fields that every item has. */
export function payloadOf(item: Item): Record<string, unknown> {
  const payload: Record<string, unknown> = {};
  for (const key in item) if (!BASE.has(key)) payload[key] = item[key];
  return payload;
}

/** The model that said it, with the one that was asked for where that is another; null if no model did. */
export function modelOf({ model }: Item): string | null {
  if (!isRecord(model)) return null;
  const { requested, actual, ...others } = model;
  const said = word(actual) || word(requested);
  if (!said || Object.keys(others).length > 0) return null;
  return word(requested) && requested !== said ? `${said}, asked for ${word(requested)}` : said;
}

/** The part of the payload that its text and its head do not already say; null when nothing is left. */
export function restOf(item: Item): Record<string, unknown> | null {
  const { content: _content, summary: _summary, role: _role, message: _message, ...rest } = payloadOf(item);
  if (modelOf(item) !== null) delete rest.model;
  return Object.keys(rest).length > 0 ? rest : null;
}

/** Why each audience does or does not see it, in words. */
export function seenBy(item: Item): string {
  if (item.transient) return 'Transient: streamed to the client, never stored for it';
  const { client, history } = item.visibility;
  if (client && history) return 'Seen by client and history';
  if (client) return 'Seen by the client only';
  return history ? 'Seen by history only' : 'Trace: seen only here';
}

const word = (value: unknown) => (typeof value === 'string' ? value : '');
