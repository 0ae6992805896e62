import { expect, test } from 'vitest';
import { FakeHost } from '../../host/fake';
import { EarlierInputs } from './earlier.svelte';

test('steps through earlier inputs one by one, and stops at the oldest', async () => {
  const earlier = new EarlierInputs(new FakeHost(0, 0), 'research', 'plan');
  expect(await earlier.step(-1)).toBeNull();
  const topics = [];
  for (const by of [1, 1, 1, -1, -1] as const) {
    const found = await earlier.step(by);
    topics.push((found?.input as { topic?: string } | undefined)?.topic ?? null);
  }
  expect(topics).toEqual(['fail', 'wild bees', null, 'fail', null]);
  expect(earlier.at).toBe(0);
});
