// What a comparison says of two blocks, in a few words. Pure.
import { thousands } from '../../base/thousands';
import { plural } from '../../base/json';
import { duration } from '../../base/time';
import { isRecord } from '../../base/json';
import type { ComparedBlock, ComparedRow, ComparedSide, ComparisonHead, Replay } from '../../host/host';
import { labelOf, nameOf, turnOf } from '../../model/row-name';
import { lookOf } from '../../model/status';
import { valueChanges } from '../../base/value-changes';

type Divergence = NonNullable<Replay['divergence']>;

/** How long both sides took, in one kind of figure. `label` says in which. */
export type Times = { label: string; title: string; left: number; right: number };
type Timed = { lengthMs: number; request: Pick<ComparedSide['request'], 'durationMs' | 'forkedFrom'> };

/**
 * As lists say it. A list has what a fork did itself, so beside a fork both are counted from the first block to the end of
 * the last one, with what the fork keeps of its origin; and so are both where one has not ended.
 */
export function timesOf({ left, right }: { left: Timed; right: Timed }): Times {
  const [one, other] = [left.request.durationMs, right.request.durationMs];
  if (one != null && other != null && !isFork(left) && !isFork(right))
    return { label: 'time', title: 'From the beginning of the run to its end', left: one, right: other };
  const kept = isFork(left) || isFork(right) ? ', with what a fork keeps of its origin' : '';
  return {
    label: 'time of all blocks',
    title: `From the first block to the end of the last one${kept}`,
    left: left.lengthMs,
    right: right.lengthMs,
  };
}

const isFork = ({ request }: { request: Pick<ComparedSide['request'], 'forkedFrom'> }) => request.forkedFrom != null;

/** Whether one of the two keeps blocks of its origin, which all sums of it count. */
export const hasFork = ({ left, right }: Pick<ComparisonHead, 'left' | 'right'>): boolean =>
  isFork(left) || isFork(right);

/** How the blocks of a row are called, and what tells a turn from the others: its index and its words. */
export function namesOf({ path, name, words }: ComparedRow): { name: string; turn: string; words: string } {
  const named = { label: labelOf(path), name };
  const turn = turnOf(named);
  return { name: nameOf(named), turn, words: turn ? (words ?? '') : '' };
}

/** The same in one line, for a sentence. */
export function titleOf(row: ComparedRow): string {
  const { name, turn, words } = namesOf(row);
  return [name, turn, words].filter(Boolean).join(' ');
}

/** In what two blocks differ. */
export function differsIn({ differs, left, right, inside, equal }: ComparedRow): string {
  if (equal > 0) return '';
  const words = differs.map((one) => {
    switch (one) {
      case 'only_left':
        return 'only in A';
      case 'only_right':
        return 'only in B';
      case 'status':
        return left && right ? `${lookOf(left.status).label} → ${lookOf(right.status).label}` : 'status';
      case 'input':
        return 'input';
      case 'output':
        return left?.status === 'failed' ? 'error' : 'output';
      case 'items':
        return `items ${left?.items ?? 0} → ${right?.items ?? 0}`;
      case 'changes':
        return `writes ${left?.changes ?? 0} → ${right?.changes ?? 0}`;
    }
  });
  return words.length > 0 ? words.join(' · ') : inside ? 'inside' : '';
}

/** The sign before a row, with what it means: shape and word, never colour alone. */
export function signOf({ differs, equal, uncompared }: ComparedRow): { sign: string; label: string } {
  if (equal > 0)
    return {
      sign: '⋯',
      label: uncompared
        ? `${plural(equal, 'block', 'blocks')} not compared`
        : plural(equal, 'equal block', 'equal blocks'),
    };
  if (uncompared) return { sign: '⋯', label: 'not compared' };
  if (differs.includes('only_left')) return { sign: '−', label: 'only in A' };
  if (differs.includes('only_right')) return { sign: '+', label: 'only in B' };
  return differs.length > 0 ? { sign: '≠', label: 'differs' } : { sign: '=', label: 'equal' };
}

/** How much longer the right side took; empty where one did not end. */
export function longer(left: number | null | undefined, right: number | null | undefined): string {
  if (left == null || right == null) return '';
  return signed(right - left, duration);
}

/** How many more the right side has. */
export const more = (left: number | undefined, right: number | undefined): string =>
  left === undefined || right === undefined ? '' : signed(right - left, thousands);

function signed(difference: number, words: (n: number) => string): string {
  if (difference === 0) return '0';
  return `${difference < 0 ? '−' : '+'}${words(Math.abs(difference))}`;
}

/** Where a replay first differs from its recording, and in what. `uncompared` counts the blocks that it did not reach
 * because it stopped there; null if it went on to its end. */
export type Diverged = Divergence & { name: string; what: string; uncompared: number | null };

export function divergedAt({ replay, uncompared }: ComparisonHead): Diverged | null {
  const divergence = replay?.divergence;
  if (!divergence) return null;
  const last = divergence.path.split('/').at(-1) ?? divergence.path;
  const name = last.slice(last.indexOf(':') + 1).replace(/[~[].*$/, '') || last;
  return { ...divergence, name, what: whatDiffers(divergence), uncompared: uncompared ?? null };
}

/** In what a recorded event and today's differ, in a word or two. */
function whatDiffers({ recorded, found }: Divergence): string {
  if (found === 'nothing more') return 'it does less than was recorded';
  if (found === 'did not run') return 'it does not run any more';
  if (recorded === 'did not run' || recorded === 'no such call') return 'it does something that was not recorded';
  if (!isRecord(recorded) || !isRecord(found)) return 'it does something else';
  const [place] = valueChanges('', recorded, found);
  // Of a model call the first key says only that; places inside of what it was asked are written out in one key.
  const all = place?.path.split(/[.[]/).map((key) => key.replace(/["\]]/g, '')) ?? [];
  const keys = all[0] === 'model' && all.length > 1 ? all.slice(1) : all;
  if (keys.some((key) => key === 'messages' || key === 'prompt' || key === 'system')) return 'the prompt differs';
  return keys[0] ? `${keys[0].replaceAll('_', ' ')} differs` : 'it does something else';
}

/** `PATH#ATTEMPT` of a block, whose instance is `requestId:path:attempt`. Paths have colons of their own. */
export function executionOf({ instanceId }: Pick<ComparedBlock, 'instanceId'>): string {
  const [first, last] = [instanceId.indexOf(':'), instanceId.lastIndexOf(':')];
  return `${instanceId.slice(first + 1, last)}#${instanceId.slice(last + 1)}`;
}
