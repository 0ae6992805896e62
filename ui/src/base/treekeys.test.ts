import { expect, test } from 'vitest';
import { treeMove } from './treekeys';

const rows = [
  { depth: 0, expandable: true, expanded: true },
  { depth: 1, expandable: true, expanded: false },
  { depth: 1, expandable: false, expanded: false },
];

test.each([
  [0, 'ArrowDown', { do: 'go', to: 1 }],
  [2, 'ArrowDown', { do: 'go', to: 2 }],
  [0, 'ArrowUp', { do: 'go', to: 0 }],
  [1, 'ArrowRight', { do: 'open', at: 1 }],
  [0, 'ArrowRight', { do: 'go', to: 1 }],
  [2, 'ArrowRight', null],
  [0, 'ArrowLeft', { do: 'close', at: 0 }],
  [2, 'ArrowLeft', { do: 'go', to: 0 }],
  [1, 'End', { do: 'go', to: 2 }],
  [1, 'x', null],
  [-1, 'ArrowDown', { do: 'go', to: 0 }],
])('on row %s, %s', (at, key, move) => expect(treeMove(rows, at, key)).toEqual(move));

test('an empty tree has nowhere to go', () => expect(treeMove([], 0, 'ArrowDown')).toBeNull());
