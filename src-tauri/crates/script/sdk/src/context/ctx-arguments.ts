// What the methods of `ctx` take, checked where the author called them.
//
// Must not: change an argument. Each check answers or throws, with what was given and what is right.

import { describeValue } from '../base/arguments';
import { isBlock } from '../define/blocks';
import { checkIdentity } from '../define/checks';

type Json = Record<string, unknown>;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isPlain(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The name of a block, given by itself or by its name. */
export function nameOf(method: string, block: unknown): string {
  const name = isBlock(block) || isPlain(block) ? (block as { name?: unknown }).name : block;
  if (isText(name)) return name;
  throw new TypeError(`ctx.${method} needs a block or the name of one, got ${describeValue(block)}`);
}

/** The name of a field of a state, or of an entry in a record. */
export function needName(value: unknown, where: string, what: string): string {
  if (typeof value === 'number' && what === 'key') return String(value);
  if (typeof value === 'string' && (value !== '' || what === 'key')) return value;
  throw new TypeError(`${where} needs the ${what} as a text, got ${describeValue(value)}`);
}

const PARTS: Record<string, string> = { output_text: 'text', reasoning_text: 'text', output_audio: 'audio' };

export function checkContent(content: unknown, where = 'ctx.emit.message', needs = 'needs'): void {
  const like = 'a text, or a list of parts like { type: "output_text", text: "…" }';
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) throw new TypeError(`${where} ${needs} ${like}, got ${describeValue(content)}`);
  content.forEach((part: unknown, at) => {
    const type = isPlain(part) ? part.type : undefined;
    const holds = PARTS[String(type)];
    if (holds === undefined) {
      const given = isPlain(part) ? `type ${describeValue(type)}` : describeValue(part);
      throw new TypeError(`${where}: part [${at}] is of a type ${Object.keys(PARTS).join(', ')}, got ${given}`);
    }
    if (typeof (part as Json)[holds] !== 'string') {
      throw new TypeError(
        `${where}: part [${at}] (${String(type)}) needs a text in "${holds}", got ${describeValue((part as Json)[holds])}`,
      );
    }
  });
}

export function checkComponent(name: unknown): void {
  if (!isText(name)) throw new TypeError(`ctx.emit.component needs the component's name, got ${describeValue(name)}`);
}

export function checkStatus(message: unknown): void {
  if (message === undefined || message === null || typeof message === 'string') return;
  throw new TypeError(`ctx.emit.status needs a text, or nothing, got ${describeValue(message)}`);
}

/** Options of every emit: who speaks, and how long it lasts. */
export function checkEmitOptions(options: unknown, where: string): void {
  if (options === undefined) return;
  checkIdentity(options, where);
  const { transient, key, blocked, backgroundTasks } = options as Json;
  for (const [name, value] of Object.entries({ transient, blocked })) {
    if (value !== undefined && typeof value !== 'boolean')
      throw new TypeError(`${where}: ${name} must be true or false, got ${describeValue(value)}`);
  }
  if (key !== undefined && typeof key !== 'string')
    throw new TypeError(`${where}: key must be a text, got ${describeValue(key)}`);
  needCount(backgroundTasks, `${where}: backgroundTasks`);
}

function needCount(value: unknown, where: string): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= 0)) return;
  throw new TypeError(`${where} must be a whole number from 0 on, got ${describeValue(value)}`);
}

function checkNote(note: Json, texts: string[], where: string): void {
  for (const name of texts) {
    const value = note[name];
    if (value !== undefined && typeof value !== 'string')
      throw new TypeError(`${where}: ${name} must be a text, got ${describeValue(value)}`);
  }
  const { tags, metadata } = note;
  if (tags !== undefined && (!Array.isArray(tags) || tags.some((tag) => typeof tag !== 'string'))) {
    throw new TypeError(`${where}: tags must be a list of texts, got ${describeValue(tags)}`);
  }
  if (metadata !== undefined && !isPlain(metadata))
    throw new TypeError(`${where}: metadata must be an object, got ${describeValue(metadata)}`);
}

export function checkEntry(entry: unknown): void {
  const where = 'ctx.session.appendJournal';
  if (!isPlain(entry) || typeof entry.text !== 'string')
    throw new TypeError(`${where} needs { text: string }, got ${describeValue(entry)}`);
  checkNote(entry, ['source'], where);
}

export function checkJournalQuery(query: unknown): void {
  const where = 'ctx.session.getJournal';
  if (!isPlain(query)) throw new TypeError(`${where} takes { limit?, offset? }, got ${describeValue(query)}`);
  needCount(query.limit, `${where}: limit`);
  needCount(query.offset, `${where}: offset`);
}

export function checkMetadata(metadata: unknown): void {
  const where = 'ctx.session.setMetadata';
  if (!isPlain(metadata))
    throw new TypeError(`${where} needs an object like { title: "…" }, got ${describeValue(metadata)}`);
  checkNote(metadata, ['title', 'description'], where);
}
