import { expect, test } from 'vitest';
import { lanesOf, speaker, verdict } from './lanes';

test('a message stands in the lane of the side that said it', () => {
  const rows = [
    { id: '1', role: 'user', content: 'hi', status: 'completed' },
    { id: '2', role: 'assistant', content: null, tool_calls: '[]', status: 'pending' },
    { id: '3', role: 'tool', name: 'look', content: 'found' },
    { id: '4', role: 'system', content: 'note' },
  ];
  expect(lanesOf(rows).map(({ side, label, text }) => [side, label, text])).toEqual([
    ['b', '', 'hi'],
    ['a', 'pending', 'calls tools'],
    ['a', 'tool look', 'found'],
    ['none', 'system', 'note'],
  ]);
  expect(lanesOf(undefined)).toEqual([]);
});

test('a turn says how it ended', () => {
  const turn = { turn: 0, side: 'a', path: 'p', prompt: 'x', status: 'running', toolCalls: [] };
  expect(verdict(turn)).toBe('running');
  expect(verdict({ ...turn, next: 'b' })).toBe('next: side b');
  expect(verdict({ ...turn, stoppedBy: 'a', stopReason: 'stop_tool' })).toBe('stopped by a: stop_tool');
  expect(speaker(['x', null], 1)).toBe('a person');
});
