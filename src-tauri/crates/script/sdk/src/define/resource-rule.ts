// `resourceVisibility` of a flow: what the tools for resources may do with each of its resources now (SEMANTICS §4.9).
//
// Must not: narrow what a block reaches by name. That is the author's own code.

import { describeValue, needFunction } from '../base/arguments';
import type { Config } from './blocks';

const ANSWERS = ['visible', 'read-only', 'hidden'] as const;
export type Visibility = (typeof ANSWERS)[number];

/** The rule of the flow that runs, and how an error names it. */
let rule: { says: (ctx: unknown, resource: object) => unknown; where: string } | undefined;

export function checkRule(definition: Config, where: string): void {
  if (definition.resourceVisibility !== undefined) {
    needFunction(definition.resourceVisibility, `${where}: resourceVisibility`);
  }
}

export function narrowBy(definition: Config): void {
  const says = definition.resourceVisibility as ((ctx: unknown, resource: object) => unknown) | undefined;
  rule = says && { says, where: `Flow "${definition.kind as string}": resourceVisibility` };
}

/** What the rule says of a resource or a collection, by the name that blocks know it by. */
export function visibilityOf(ctx: unknown, name: string, ref: unknown): Visibility {
  if (!rule) return 'visible';
  const answer = rule.says(ctx, { name, ref }) as Visibility;
  if (ANSWERS.includes(answer)) return answer;
  throw new TypeError(
    `${rule.where} must return "visible", "read-only" or "hidden" for "${name}", got ${describeValue(answer)}`,
  );
}
