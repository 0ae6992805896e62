// The whole context of a Call beside what it saw of it, message by message.
// Pure. What was left out and why is taken from what the engine recorded, and never worked out a second time.
import { isRecord } from '../../base/json';

export type ContextRow = {
  /** Its place in the whole context. */
  at: number;
  kind: string;
  instance: string | null;
  message: unknown;
  /** A result of the same tick, which the Call waited for. */
  isEarlier: boolean;
  /** As it was handed over; absent where it was left out. */
  seen?: unknown;
  /** Why it was left out. */
  because: string | null;
};
export type Comparison = {
  rows: ContextRow[];
  seen: number;
  leftOut: number;
  /** How many messages it saw besides: results of the same tick that are too many to be written down with it. */
  missing: number;
  /** Whether every message that was handed over was found in the whole context. */
  isWhole: boolean;
};
export type LeftOut = { kind: string; instance: string | null; instances: number | null; because: string };

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The kind that scopes name: a `data` message has one of its own. */
export function kindOfMessage(message: unknown): string {
  if (!isRecord(message)) return '';
  const type = text(message.type) ?? '';
  return type === 'data' ? (text(message.kind) ?? 'data') : type;
}

export const instanceOf = (message: unknown): string | null => (isRecord(message) ? text(message._instance) : null);

/** What a message says, without what is shown beside it. */
export function bodyOf(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const type = text(message.type) ?? '';
  const key = type === 'system' ? 'message' : type === 'text' ? 'text' : type;
  const hidden = ['type', '_instance', '_call', ...(type === 'data' ? ['kind'] : [])];
  const own = Object.keys(message).filter((one) => !hidden.includes(one));
  if (own.length === 1 && own[0] === key) return message[key];
  return Object.fromEntries(own.map((one) => [one, message[one]]));
}

export function leftOutOf(plan: Record<string, unknown>): LeftOut[] {
  return listOf(plan.leftOut).flatMap((entry) =>
    isRecord(entry)
      ? {
          kind: text(entry.kind) ?? '',
          instance: text(entry.instance),
          instances: typeof entry.instances === 'number' ? entry.instances : null,
          because: text(entry.because) ?? 'left out',
        }
      : [],
  );
}

const countOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** The whole context of a Call: where it needed a person the plan has it, else it is the tick's and what came of it. */
function wholeContext(plan: Record<string, unknown>, tick: unknown): { messages: readonly unknown[]; earlier: number } {
  const earlier = listOf(plan.earlier);
  if (!Array.isArray(plan.context)) {
    return { messages: [...listOf(isRecord(tick) ? tick.context : null), ...earlier], earlier: earlier.length };
  }
  return { messages: plan.context, earlier: earlier.length + countOf(plan.moreEarlier) };
}

export function compare(plan: Record<string, unknown>, tick: unknown): Comparison {
  const { messages, earlier } = wholeContext(plan, tick);
  const own = text(plan.instance);
  const scopes = listOf(isRecord(plan.scopes) ? plan.scopes.kinds : null);
  const reasons = new Map<string, string>();
  for (const { kind, instance, instances, because } of leftOutOf(plan)) {
    reasons.set(JSON.stringify([kind, instances === null ? instance : '*']), because);
  }
  const reason = (kind: string, instance: string | null) => reasons.get(JSON.stringify([kind, instance])) ?? null;
  const rows = messages.map((message, at): ContextRow => {
    const kind = kindOfMessage(message);
    const instance = instanceOf(message);
    // Where a kind has many instances they are counted; its own is among them only where the kind is not in scope.
    const isCounted = instance !== null && (instance !== own || !scopes.includes(kind));
    const because = reason(kind, instance) ?? (isCounted ? reason(kind, '*') : null);
    return { at, kind, instance, message, isEarlier: at >= messages.length - earlier, because };
  });
  const handed = listOf(plan.messages);
  const visible = rows.filter((row) => row.because === null);
  // Of many results of the same tick only the newest are written down: those before them are missing in the rows.
  const missing = Math.max(0, handed.length - visible.length);
  const first = visible.findIndex((row) => row.isEarlier);
  visible.forEach((row, n) => {
    const from = first >= 0 && n >= first ? n + missing : n;
    if (from < handed.length) row.seen = handed[from];
  });
  const seen = rows.filter((row) => 'seen' in row).length;
  const leftOut = rows.length - visible.length;
  return { rows, seen, leftOut, missing, isWhole: missing === 0 && seen === visible.length };
}

export type Side = 'all' | 'seen' | 'left';

export function rowsOf(comparison: Comparison, side: Side): readonly ContextRow[] {
  if (side === 'all') return comparison.rows;
  return comparison.rows.filter((row) => 'seen' in row === (side === 'seen'));
}
