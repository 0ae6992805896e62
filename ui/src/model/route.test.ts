import { beforeEach, expect, test, vi } from 'vitest';
import { NOWHERE } from '../place';
import { Route } from './route.svelte';

beforeEach(() => history.replaceState(null, '', '#'));

test('going somewhere changes the address, and back returns', async () => {
  const route = new Route(window);
  route.go({ request: 'r1' });
  route.go({ request: 'r2' });
  expect(location.hash).toBe('#request=r2');
  history.back();
  await vi.waitFor(() => expect(route.place.request).toBe('r1'));
  route.stop();
});

test('a dragged slider writes the address once, and never loses it on the next push', async () => {
  vi.useFakeTimers();
  const written = vi.spyOn(history, 'replaceState');
  const route = new Route(window);
  route.go({ request: 'r1' });
  for (let seq = 1; seq <= 300; seq++) route.go({ seq }, 'replace');
  expect(route.place.seq).toBe(300);
  expect(written).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(1000);
  expect(written).toHaveBeenCalledTimes(1);
  route.go({ seq: 7 }, 'replace');
  route.go({ tab: 'items' });
  expect(written).toHaveBeenCalledTimes(2);
  expect(location.hash).toBe('#request=r1&seq=7&tab=items');
  route.stop();
  vi.useRealTimers();
});

test('going nowhere new tells nobody', () => {
  const route = new Route(window);
  const told = vi.fn();
  route.onchange(told);
  route.go({ ...NOWHERE });
  expect(told).not.toHaveBeenCalled();
  route.stop();
});
