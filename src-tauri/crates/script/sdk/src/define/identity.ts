// Who an item speaks as, in older words: `agentType: "agent"` and `"sub-agent"` are `"primary"` and `"sub"`.

import { currentToken, LOAD, native } from '../base/host';
import { warn } from './known-keys';

const OLDER: Record<string, string> = { agent: 'primary', 'sub-agent': 'sub' };

/** What was told already while blocks run: once for each place. */
const told = new Set<string>();

/** The same with the word of today. The older one is told once: of the file while it loads, else in the block's log. */
export function withIdentity<T>(given: T, where: string): T {
  const { agentType } = (given ?? {}) as { agentType?: unknown };
  const today = typeof agentType === 'string' ? OLDER[agentType] : undefined;
  if (today === undefined) return given;
  const message = `${where}: agentType "${agentType as string}" is an older word for "${today}"`;
  if (currentToken() === LOAD) warn(message);
  else if (!told.has(message)) native.sync('log', currentToken(), JSON.stringify(['warn', message]));
  told.add(message);
  return { ...given, agentType: today };
}
