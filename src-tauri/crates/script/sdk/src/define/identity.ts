// Who an item speaks as, in older words: `agentType: "agent"` and `"sub-agent"` are `"primary"` and `"sub"`.

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
