import { beforeEach, expect, test, vi } from 'vitest';
import { NOWHERE } from '../place';
import { Here } from './here.svelte';

beforeEach(() => history.replaceState(null, '', '#'));

test('going somewhere changes the address, and back returns', async () => {
  const here = new Here(window);
  here.go({ request: 'r1' });
  here.go({ request: 'r2' });
  expect(location.hash).toBe('#request=r2');
  history.back();
  await vi.waitFor(() => expect(here.place.request).toBe('r1'));
  here.stop();
});

test('a dragged slider writes the address once, and never loses it on the next push', async () => {
  vi.useFakeTimers();
  const written = vi.spyOn(history, 'replaceState');
  const here = new Here(window);
  here.go({ request: 'r1' });
  for (let seq = 1; seq <= 300; seq++) here.go({ seq }, 'replace');
  expect(here.place.seq).toBe(300);
  expect(written).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(1000);
  expect(written).toHaveBeenCalledTimes(1);
  here.go({ seq: 7 }, 'replace');
  here.go({ tab: 'items' });
  expect(written).toHaveBeenCalledTimes(2);
  expect(location.hash).toBe('#request=r1&seq=7&tab=items');
  here.stop();
  vi.useRealTimers();
});

test('going nowhere new tells nobody', () => {
  const here = new Here(window);
  const told = vi.fn();
  here.onchange(told);
  here.go({ ...NOWHERE });
  expect(told).not.toHaveBeenCalled();
  here.stop();
});
