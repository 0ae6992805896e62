// Conditions on items for `waitForCondition` (SEMANTICS §3.6), of what is waited for most often.
//
// Must not: throw at an item that looks odd. A condition is asked about every item of the request.

import { describeValue, needFunction } from '../base/arguments';

interface Item {
  type?: unknown;
  scope?: unknown;
  resourcePath?: unknown;
  changeType?: unknown;
}

type Condition = (items: readonly Item[]) => boolean;

/** Whether any item passes. */
export function whenAnyItem(passes: unknown): Condition {
  const test = needFunction(passes, 'whenAnyItem') as unknown as (item: Item) => unknown;
  return (items) => items.some((item) => Boolean(test(item)));
}

/** Whether the resource at `path` was changed. */
export function whenResourceChanged(options: unknown): Condition {
  const { scope, path, changeType } = optionsOf(options, 'whenResourceChanged', 'path');
  return (items) =>
    items.some(
      (item) =>
        item?.type === 'resource_change' &&
        isScope(item.scope, scope) &&
        item.resourcePath === path &&
        (changeType === undefined || item.changeType === changeType),
    );
}

/** Whether a resource was changed whose path fits: `*` is one segment, `**` any number of them. */
export function whenResourceMatching(options: unknown): Condition {
  const { scope, pattern } = optionsOf(options, 'whenResourceMatching', 'pattern');
  const fits = globOf(pattern as string);
  return (items) =>
    items.some(
      (item) =>
        item?.type === 'resource_change' &&
        isScope(item.scope, scope) &&
        typeof item.resourcePath === 'string' &&
        fits.test(item.resourcePath),
    );
}

function optionsOf(options: unknown, where: string, needed: string): Record<string, unknown> {
  const given = (options ?? {}) as Record<string, unknown>;
  if (typeof given[needed] !== 'string') {
    const like = `{ scope: "session", ${needed}: "…" }`;
    throw new TypeError(`${where} needs ${like}, got ${describeValue(options)}`);
  }
  return given;
}

/** `org` is another word for a project. */
function isScope(is: unknown, wanted: unknown): boolean {
  const plain = (scope: unknown) => (scope === 'org' ? 'project' : scope);
  return wanted === undefined || plain(is) === plain(wanted);
}

function globOf(pattern: string): RegExp {
  const parts = pattern.split(/(\*\*|\*)/).map((part) => {
    if (part === '**') return '.*';
    return part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}
