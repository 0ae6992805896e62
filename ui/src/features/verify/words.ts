// What the Verify page says of groups and runs, and where keys lead in its lists. Pure.
import { plural } from '../../base/json';
import { thousands } from '../../base/thousands';
import type { DifferingField, VerifiedRun, VerifyProgress } from '../../host/host';
import { blockName } from '../../model/block-name';
import { VERDICT_LOOKS, type Counts, type RunGroup } from '../../model/verdicts';

const FIELDS: Record<DifferingField, string> = {
  input: 'input',
  output: 'output',
  state: 'state',
  items: 'items',
  route: 'route',
  error: 'error',
  effect: 'effect',
};

/** What a group is called: its block and what of it differs, or else its verdict. */
export function titleOf({ path, field, verdict }: Pick<RunGroup, 'path' | 'field' | 'verdict'>): string {
  if (path === null) return VERDICT_LOOKS[verdict].label;
  return field === null ? blockName(path) : `${blockName(path)} › ${FIELDS[field]}`;
}

/** Where inside of a block a run differs: `output.total`. */
export function placeOf({ field, place }: VerifiedRun): string {
  if (!field) return '';
  if (!place) return FIELDS[field];
  // The place of a write begins with its scope.
  if (field === 'state') return place;
  return `${field}${place.startsWith('[') ? '' : '.'}${place}`;
}

/** One side of a difference. Of a long value only a part is known, which stands as a text. */
export function sideOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('$cut' in value)) return value;
  const { $cut: part, bytes, from } = value as Record<string, unknown>;
  if (typeof part !== 'string' || typeof bytes !== 'number' || typeof from !== 'number') return value;
  const end = from + new TextEncoder().encode(part).length;
  return `${from > 0 ? '…' : ''}${part}${end < bytes ? '…' : ''} (${thousands(bytes)} bytes)`;
}

/** What a cancelled verification left out, by some of the names. */
export function missingWords(missing: readonly string[]): string {
  const NAMED = 5;
  const more = missing.length - NAMED;
  const names = missing.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${thousands(more)} more` : '');
  return `What has a verdict is shown.${names ? ` Not verified: ${names}.` : ''}`;
}

export const runName = ({ flow, action }: VerifiedRun): string => [flow, action].filter(Boolean).join('.');

export function progressWords(progress: VerifyProgress | null): string {
  if (!progress) return 'Finding the runs whose code has changed…';
  const { done, of, bad } = progress;
  return `${thousands(done)} of ${plural(of, 'run', 'runs')} verified${bad > 0 ? `, ${thousands(bad)} not as recorded` : ''}`;
}

/** What a page without a group says: nothing recorded, nothing affected, or nothing that differs. */
export type Rest = 'nothing' | 'unaffected' | 'same' | 'cancelled';

export function restOf(counts: Counts, notRun: number): Rest {
  if (notRun > 0) return 'cancelled';
  if (counts.same > 0) return 'same';
  return counts.unaffected > 0 ? 'unaffected' : 'nothing';
}

/** What happened, for a screen reader. */
export function summaryWords(counts: Counts, notRun: number): string {
  const bad = counts.differs + counts.asks_new + counts.does_not_load + counts.not_comparable;
  const total = bad + counts.same + counts.unaffected;
  const rest = notRun > 0 ? `, ${thousands(notRun)} not run` : '';
  return `${plural(total, 'run', 'runs')} verified: ${thousands(counts.differs)} differ, ${thousands(bad)} not as recorded${rest}.`;
}

/** The row that a key leads to in a list; null for any other key. */
export function rowAfter(key: string, at: number, count: number, page: number): number | null {
  const steps: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: count - 1,
    PageDown: at + page,
    PageUp: at - page,
  };
  const next = steps[key];
  return next === undefined ? null : Math.max(0, Math.min(count - 1, next));
}

/** The file that a request is kept in unless a person names another: `tests/cart-pay-6fa2c1.run`. */
export function proposedFile(flow: string, action: string, request: string): string {
  const safe = (text: string) => text.replace(/[^\p{L}\p{N}_.-]+/gu, '-').replace(/^[.-]+|-+$/g, '') || 'run';
  return `tests/${safe(flow)}-${safe(action)}-${safe(request.slice(-6))}.run`;
}
