import { expect, test } from 'vitest';
import { lanesOf, speaker, summary, verdict } from './lanes';

test('a message stands in the lane of the side that said it', () => {
  const rows = [
    { id: '1', role: 'user', content: 'hi', status: 'completed' },
    { id: '2', role: 'assistant', content: null, tool_calls: '[{"function":{"name":"look"}},{}]', status: 'pending' },
    { id: '3', role: 'tool', name: 'look', content: 'found' },
    { id: '4', role: 'system', content: 'note' },
  ];
  expect(lanesOf(rows).map(({ side, label, text }) => [side, label, text])).toEqual([
    ['b', '', 'hi'],
    ['a', 'pending', 'calls look, ?'],
    ['a', 'tool look', 'found'],
    ['none', 'system', 'note'],
  ]);
  expect(lanesOf([{ role: 'user', content: 'hm', tool_calls: '{' }])[0]?.text).toBe('hm\ncalls what is no JSON');
  expect(lanesOf(undefined)).toEqual([]);
});

test('a turn says how it ended', () => {
  const turn = { turn: 0, side: 'a', path: 'p', prompt: 'x', status: 'running', toolCalls: [] };
  expect(verdict(turn)).toBe('running');
  expect(verdict({ ...turn, next: 'b' })).toBe('next: side b');
  expect(verdict({ ...turn, stoppedBy: 'a', stopReason: 'stop_tool' })).toBe('stopped by a: stop_tool');
});

test('a side is named by its label, its prompt, or as a person', () => {
  const agentConfig = { sideA: { prompt: 'x', label: 'Ann' }, sideB: {} };
  expect([speaker({ agentConfig }, 'a'), speaker({ agentConfig }, 'b')]).toEqual(['Ann', 'a person']);
  expect(speaker({ agentConfig: { sideA: { prompt: 'x' } } }, 'a')).toBe('x');
  expect(speaker({ isChildPrompt: true }, 'b')).toBe('the prompt that called it');
});

test('a line says where an agent is', () => {
  const flow = { turnCount: 1, currentSide: 'b', stopped: false, agentConfig: { sideB: { prompt: 'bob' } } };
  expect(summary(flow, { awaitingHuman: false })).toBe('1 turn so far; side b has the turn: bob');
  const stopped = { ...flow, turnCount: 2, stopped: true, stoppedBy: 'a' };
  expect(summary(stopped, { stopReason: 'stop_tool', awaitingHuman: true })).toBe(
    '2 turns; stopped by side a: stop_tool; a person speaks next',
  );
  expect(summary({ ...stopped, isChildPrompt: true }, { stopReason: 'x', awaitingHuman: true })).toBe(
    'In a sub-prompt: 2 turns; stopped by side a',
  );
});
