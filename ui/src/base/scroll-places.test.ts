import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => vi.useRealTimers());

/** As another window, or the same after a restart. */
async function started() {
  vi.resetModules();
  return import('./scroll-places');
}

test('each list begins where it was left, and old ones are forgotten', async () => {
  localStorage.clear();
  const { keepTop, topWhenLeft } = await started();
  expect(topWhenLeft('a')).toBe(0);
  keepTop('a', 120);
  keepTop('b', 7);
  expect([topWhenLeft('a'), topWhenLeft('b')]).toEqual([120, 7]);
  keepTop('a', 0);
  expect(topWhenLeft('a')).toBe(0);
  for (let n = 0; n < 300; n++) keepTop(`list ${n}`, 1);
  expect([topWhenLeft('b'), topWhenLeft('list 99'), topWhenLeft('list 100')]).toEqual([0, 0, 1]);
});

test('a list begins there after a restart, and two windows keep each their own', async () => {
  localStorage.clear();
  vi.useFakeTimers();
  const [one, other] = [await started(), await started()];
  one.keepTop('a', 120);
  other.keepTop('b', 7);
  vi.runAllTimers();
  const later = await started();
  expect([later.topWhenLeft('a'), later.topWhenLeft('b')]).toEqual([120, 7]);
  localStorage.setItem('flowglass.scrolled', '[["a", "far"], 3]');
  expect((await started()).topWhenLeft('a')).toBe(0);
});
