import { expect, test } from 'vitest';
import type { BlockRow, Item } from '../../host/host';
import { isGrowing, itemsAt } from './instant';

const items = [3, 7, 7, 12].map((seq) => ({ seq }) as Item);

test.each([
  [1, 0],
  [3, 1],
  [6, 1],
  [7, 3],
  [12, 4],
  [99, 4],
])('at #%i there are %i', (seq, count) => expect(itemsAt(items, seq)).toHaveLength(count));

const block = (kind: string, seqEnd: number | null) => ({ kind, seqEnd }) as BlockRow;

test.each<[string, BlockRow | undefined, number, boolean]>([
  ['a model that still answers', block('generator', 20), 15, true],
  ['a model that answered', block('generator', 20), 20, false],
  ['a model without an end: the newest event', block('generator', null), 15, false],
  ['a handler', block('handler', 20), 15, false],
  ['before the item', block('generator', 20), 11, false],
  ['a block that is not known', undefined, 15, false],
])('%s', (_, row, seq, growing) => expect(isGrowing({ seq: 12 } as Item, row, seq)).toBe(growing));
