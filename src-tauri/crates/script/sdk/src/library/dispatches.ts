// What is known of a dispatch besides the block that sends it.

import { z } from 'zod';

import { DISPATCH_SEAM, type Address } from '../define/addresses';
import { NoDispatchSeamError } from '../base/errors';
import type { Block, Config } from '../define/blocks';
import { ownEntries } from '../define/entries';
import { isFlow } from '../define/flow';

/** What a dispatcher gives: where the work runs. */
export const dispatchHandleSchema = z.object({
  sessionId: z.string(),
  requestId: z.string(),
  adopted: z.boolean(),
});

/** By what an entry is reached. */
export const DISPATCH_TYPES = ['public', 'internal', 'task', 'chat', 'webhook', 'schedule'] as const;

/** A line that begins with a command, like `/help me`: its name and what follows. */
export const SLASH_COMMAND_PATTERN = /^\/([a-z\d][a-z\d-]{0,63})(?:\s+([^]*))?$/;

export { DISPATCH_SEAM };

type Seam = (spec: object) => Promise<object>;

/** Starts an entry from a block that a package made for it, and answers where it runs or why it was refused. */
export function dispatchThroughSeam(ctx: { [DISPATCH_SEAM]?: Seam }, spec: { from?: unknown }): Promise<object> {
  const seam = ctx[DISPATCH_SEAM];
  if (!seam) throw new NoDispatchSeamError(String(spec.from));
  return seam(spec);
}

/** Says of a block where it sends to, so that a flow which has no such entry is refused. */
export function markDispatcher<B extends Block>(block: B, address: Address): B {
  block.config.dispatch = address;
  return block;
}

/** By what an entry is known that a task board made. */
export const TASK_ENTRY = Symbol.for('@flow-state-dev/task-entry');

export function markTaskEntry(entry: Config, { boardId }: { boardId: string }): Config {
  return { ...entry, [TASK_ENTRY]: { boardId, block: entry.block } };
}

export function isTaskEntry(value: unknown): boolean {
  const mark = typeof value === 'object' && value !== null ? (value as Record<symbol, unknown>)[TASK_ENTRY] : undefined;
  const { boardId, block } = (mark ?? {}) as Config;
  return typeof boardId === 'string' && typeof block === 'object' && block !== null;
}

type DispatchType = (typeof DISPATCH_TYPES)[number];

/** What tells a webhook or a schedule apart, in place of a name. */
interface Coordinate {
  webhook?: { provider?: string; eventType?: string | null };
  schedule?: { scheduleId?: string };
}

const own = (map: unknown, name: unknown): unknown =>
  typeof map === 'object' && map !== null && typeof name === 'string' && Object.hasOwn(map, name)
    ? (map as Config)[name]
    : undefined;

/** The entry of a flow, or of the maps of one, that a dispatch is for: of its own type's map, and of no other. */
export function resolveEntry(flow: unknown, type: DispatchType, name: string, coordinate: Coordinate = {}): unknown {
  const maps = (isFlow(flow) ? flow.definition : flow) as Record<string, Config | undefined>;
  switch (type) {
    case 'public':
      return own(maps.actions, name);
    case 'internal':
    case 'task':
      return own(ownEntries(maps, type), name);
    case 'chat':
      return own(maps.chat?.on, name);
    case 'webhook': {
      const provider = own(maps.webhooks, coordinate.webhook?.provider) as Config | undefined;
      return own(provider?.on, coordinate.webhook?.eventType);
    }
    case 'schedule':
      return own(maps.schedules?.static, coordinate.schedule?.scheduleId);
  }
}
