// `relay` of a flow: messages that its sessions take from each other (SEMANTICS §1.8). Each kind is an internal entry.
//
// Must not: send anything.

import { describeValue, needFunction } from '../base/arguments';
import type { Config } from './blocks';

export interface RelayMessage {
  kind: string;
  payload: unknown;
  /** The session that sent it. */
  from: string;
}

/** Entries, by the names that dispatchers know them by. */
const PREFIX = 'relay/';
export const relayTarget = (kind: string): string => PREFIX + kind;

/** What the flow that runs takes. */
let taken: Config = {};

export function receiveBy(definition: Config): void {
  taken = bindingsOf(definition);
}

export const takesMessages = (): boolean => Object.keys(taken).length > 0;

/** What makes the input of a message's block; nothing where the flow takes no such message. */
export function mappingOf(kind: string): ((message: RelayMessage) => unknown) | undefined {
  return Object.hasOwn(taken, kind) ? ((taken[kind] as Config).input as never) : undefined;
}

const entries = new WeakMap<object, Config>();

/** The bindings as entries. What a message says is told to the conversation, as what a user says is. */
export function relayEntries(definition: Config): [name: string, action: Config | null][] {
  return Object.entries(bindingsOf(definition)).map(([kind, given]) => {
    const binding = given as Config | null;
    if (typeof binding !== 'object' || binding === null) return [relayTarget(kind), binding];
    let action = entries.get(binding);
    if (!action) {
      const { input: _input, ...own } = binding;
      action = { userMessage: (input: unknown) => `${kind}: ${textOf(input)}`, ...own };
      entries.set(binding, action);
    }
    return [relayTarget(kind), action];
  });
}

const textOf = (input: unknown): string => (typeof input === 'string' ? input : (JSON.stringify(input) ?? ''));

/** Refuses what could take no message. */
export function checkRelay(relay: unknown, flow: string): void {
  if (relay === undefined) return;
  const { on } = (relay ?? {}) as Config;
  if (typeof on !== 'object' || on === null || Array.isArray(on)) {
    throw new TypeError(`Flow "${flow}": "relay" must be { on: { … } }, got ${describeValue(relay)}`);
  }
  for (const [kind, given] of Object.entries(on)) {
    const where = `Flow "${flow}": relay "${kind}"`;
    const binding = given as Config | null;
    if (typeof binding !== 'object' || binding === null) {
      throw new TypeError(`${where} must be { block, input }, got ${describeValue(given)}`);
    }
    needFunction(binding.input, `${where}: input`);
    if (binding.durable === true) throw new Error(`${where} cannot be durable: nobody waits for what it answers`);
  }
}

function bindingsOf(definition: Config): Config {
  const on = (definition.relay as Config | null | undefined)?.on;
  return typeof on === 'object' && on !== null ? (on as Config) : {};
}
