import { expect, test } from 'vitest';
import { Watches } from './watches.svelte';

test('what is watched is kept for its flow', () => {
  localStorage.clear();
  const total = { scope: 'session', of: '', path: 'total' };
  const watches = new Watches();
  watches.open('chat');
  watches.turn(total);
  watches.open('team');
  expect(watches.list).toEqual([]);
  const later = new Watches();
  later.open('chat');
  expect(later.has({ ...total })).toBe(true);
  later.turn(total);
  expect(later.list).toEqual([]);
});

test('what was kept and is no watch is passed by', () => {
  localStorage.setItem('flowglass.watch.chat', '[1,{"scope":"session"}]');
  const watches = new Watches();
  watches.open('chat');
  expect(watches.list).toEqual([]);
});
