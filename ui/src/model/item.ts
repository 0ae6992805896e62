// What an item says, whatever its type: the text of a message, the call of a tool, the words of a status.
// Content comes from flows and models, so it is only ever handed on as text.
import { isRecord } from '../base/json';
import type { Item } from '../host/host';

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
  for (const parts of [item.content, item.summary]) {
    if (typeof parts === 'string') return parts;
    if (Array.isArray(parts)) {
      const found = parts.map((part) => (isRecord(part) ? word(part.text) || word(part.transcript) : word(part)));
      if (found.some((text) => text)) return found.filter((text) => text).join('\n');
    }
  }
  return word(item.message) || word(item.title) || word(item.url) || null;
}

/** What is particular to this item: its payload without the fields that every item has. */
export function payloadOf(item: Item): Record<string, unknown> {
  const payload: Record<string, unknown> = {};
  for (const key in item) if (!BASE.has(key)) payload[key] = item[key];
  return payload;
}

/** The part of the payload that its text does not already say; null when nothing is left. */
export function restOf(item: Item): Record<string, unknown> | null {
  const { content: _content, summary: _summary, role: _role, message: _message, ...rest } = payloadOf(item);
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
