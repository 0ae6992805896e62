// Who an item speaks as, in older words: `agentType: "agent"` and `"sub-agent"` are `"primary"` and `"sub"`, and `emit`
// of a generator is what `itemVisibility` says today.

import { tell } from './known-keys';

const OLDER: Record<string, string> = { agent: 'primary', 'sub-agent': 'sub' };

/** The same with the word of today. The older one is told. */
export function withIdentity<T>(given: T, where: string): T {
  const { agentType } = (given ?? {}) as { agentType?: unknown };
  const today = typeof agentType === 'string' ? OLDER[agentType] : undefined;
  if (today === undefined) return given;
  tell(`${where}: agentType "${agentType as string}" is an older word for "${today}"`);
  return { ...given, agentType: today };
}

interface Speaker {
  emit?: unknown;
  agentType?: unknown;
  itemVisibility?: unknown;
}

/**
 * A generator with `emit` and no identity said its message and its reasoning to everybody, each unless it was `false`.
 * Today both are said or neither, as the message was; the warning names a reasoning that goes the other way.
 */
export function withOlderEmit<T>(config: T, where: string): T {
  const { emit, agentType, itemVisibility } = (config ?? {}) as Speaker;
  if (emit === undefined || agentType !== undefined || itemVisibility !== undefined) return config;
  const { messages, reasoning } = (emit || { messages: emit, reasoning: emit }) as {
    messages?: unknown;
    reasoning?: unknown;
  };
  const isSilent = messages === false;
  const today = isSilent ? 'no identity, and no items' : 'itemVisibility: { client: true, history: true }';
  const apart =
    isSilent === (reasoning === false) ? '' : `; its reasoning is ${isSilent ? 'not shown either' : 'shown too'}`;
  tell(`${where}: "emit" is an older form, read as ${today}${apart}`);
  return { ...config, emit: undefined, itemVisibility: isSilent ? undefined : { client: true, history: true } };
}
