// What a comparison says of two blocks, in a few words. Pure.
import { thousands } from '../../base/thousands';
import { plural } from '../../base/json';
import { duration } from '../../base/time';
import type { ComparedRow } from '../../host/host';
import { lookOf } from '../../model/status';

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
export function signOf({ differs, equal }: ComparedRow): { sign: string; label: string } {
  if (equal > 0) return { sign: '⋯', label: plural(equal, 'equal block', 'equal blocks') };
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
