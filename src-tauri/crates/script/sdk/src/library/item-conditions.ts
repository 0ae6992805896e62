// Conditions on the items of a request, for `waitForCondition`.
//
// Must not: throw at an item that it does not understand; such an item does not match.

interface Item {
  type?: unknown;
  scope?: unknown;
  resourcePath?: unknown;
  changeType?: unknown;
}

export type ItemCondition = (items: readonly unknown[]) => boolean;

const SCOPES: Record<string, string> = { org: 'project' };

function sameScope(item: Item, scope: string | undefined): boolean {
  return scope === undefined || item.scope === scope || item.scope === SCOPES[scope];
}

export function whenAnyItem(predicate: (item: never) => boolean): ItemCondition {
  return (items) => items.some((item) => predicate(item as never));
}

function whenResource(scope: string | undefined, isMeant: (path: string) => boolean, changeType?: string) {
  return whenAnyItem((item: Item) => {
    const { type, resourcePath } = item ?? {};
    if (type !== 'resource_change' || typeof resourcePath !== 'string' || !sameScope(item, scope)) return false;
    return isMeant(resourcePath) && (changeType === undefined || item.changeType === changeType);
  });
}

/** Whether a resource was changed: the one at `path`. */
export function whenResourceChanged(of: { scope?: string; path: string; changeType?: string }): ItemCondition {
  return whenResource(of.scope, (path) => path === of.path, of.changeType);
}

/** Whether one of several was changed: `*` stands for a part of a path, `**` for any number of them. */
export function whenResourceMatching(of: { scope?: string; pattern: string; changeType?: string }): ItemCondition {
  const pattern = globOf(of.pattern);
  return whenResource(of.scope, (path) => pattern.test(path), of.changeType);
}

/** `*` within a part, `**` across parts, `?` one letter. Everything else stands for itself. */
export function globOf(pattern: string): RegExp {
  const source = pattern.replace(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (found) => {
    if (found === '**/') return '(?:.*/)?';
    if (found === '**') return '.*';
    if (found === '*') return '[^/]*';
    if (found === '?') return '[^/]';
    return `\\${found}`;
  });
  return new RegExp(`^${source}$`);
}

export const isSuspensionItem = (item: { type?: unknown }): boolean => item.type === 'suspension';
export const isSuspensionResumeItem = (item: { type?: unknown }): boolean => item.type === 'suspension_resume';
