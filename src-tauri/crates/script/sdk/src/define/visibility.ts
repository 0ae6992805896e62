// `resolveItemVisibility`: which audiences see an item.
//
// Must not: know the table. The engine has it, and answers wherever it is asked, also while a file loads.

import { describeValue } from '../base/arguments';
import { checkIdentity } from './checks';
import { currentToken, native } from '../base/host';

export function resolveItemVisibility(item: unknown): unknown {
  checkIdentity(item, 'resolveItemVisibility');
  const { type, agentType, itemVisibility } = item as Record<string, unknown>;
  if (typeof type !== 'string')
    throw new TypeError(`resolveItemVisibility needs an item with a type, got ${describeValue(type)}`);
  return JSON.parse(
    native.sync('visibility', currentToken(), JSON.stringify({ type, agentType, itemVisibility })) as string,
  ) as unknown;
}
