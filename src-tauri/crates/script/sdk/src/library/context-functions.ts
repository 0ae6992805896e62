// `contextFn`, `providerTool` and `resource`: parts of a generator's settings that are made elsewhere.

import { describeValue, needFunction } from '../base/arguments';
import { defineResource } from '../define/resources';

interface Scope {
  state?: unknown;
}

/** A function for `context` that gets the states it names. The schemas say their types. */
export function contextFn(schemas: object, fn: unknown) {
  if (typeof schemas !== 'object' || schemas === null) {
    throw new TypeError(`contextFn needs schemas, like { session: z.object({ … }) }, got ${describeValue(schemas)}`);
  }
  const make = needFunction(fn, 'contextFn') as unknown as (states: object, ctx: unknown) => string;
  return (_input: unknown, ctx: { session?: Scope; user?: Scope; org?: Scope; project?: Scope; request?: Scope }) => {
    const { session, user, org, project, request } = ctx;
    const states = { session, user, org, project, request };
    return make(Object.fromEntries(Object.entries(states).map(([name, scope]) => [name, scope?.state])), ctx);
  };
}

/** A tool that a provider runs itself, by the name it has there. */
export function providerTool(name: string, tool: unknown) {
  if (typeof name !== 'string' || name.trim() === '') {
    throw new TypeError(`providerTool needs the tool's name, got ${describeValue(name)}`);
  }
  return { __providerTool: true as const, name, tool };
}

/** A declared resource; of a path alone, an entry of `context` that tells the model of the resource by its path. */
export function resource(given: unknown, options?: object): unknown {
  if (typeof given !== 'string') return defineResource(given);
  return () => ({ role: 'system', content: JSON.stringify({ ref: given, options }) });
}
