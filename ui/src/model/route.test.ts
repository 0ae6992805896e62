import { beforeEach, expect, test, vi } from 'vitest';
import { Router } from './route.svelte';

beforeEach(() => history.replaceState(null, '', '#'));

test('going somewhere changes the address, and back returns', async () => {
  const route = new Router(window);
  route.toRequest('r1', null);
  route.to({ at: 'flow', flow: 'chat' });
  expect([location.hash, route.place.request]).toEqual(['#flow=chat', null]);
  history.back();
  await vi.waitFor(() => expect(route.current).toMatchObject({ at: 'request', request: 'r1' }));
  route.stop();
});

test('a dragged slider writes the address once, and never loses it on the next push', async () => {
  vi.useFakeTimers();
  const written = vi.spyOn(history, 'replaceState');
  const route = new Router(window);
  route.toRequest('r1', null);
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

test('going nowhere new tells nobody, and outside of a request there is nothing to look at', () => {
  const route = new Router(window);
  const told = vi.fn();
  route.onchange(told);
  route.to({ at: 'home' });
  route.go({ tab: 'items', seq: 4 });
  expect(told).not.toHaveBeenCalled();
  expect([location.hash, route.place.tab]).toEqual(['', 'timeline']);
  route.stop();
});

test('the tab and the audience stay from one request to the next, also over other places; the instant does not', () => {
  history.replaceState(null, '', '#request=r1&seq=3&tab=items&audience=trace');
  const route = new Router(window);
  route.to({ at: 'session', session: 's2' });
  expect(location.hash).toBe('#session=s2');
  route.toRequest('r2', 's2');
  expect(location.hash).toBe('#session=s2&request=r2&tab=items&audience=trace');
  route.stop();
});

test('listeners are told both places', () => {
  const route = new Router(window);
  const told = vi.fn();
  route.onchange(told);
  route.toRequest('r1', 's1');
  expect(told.mock.calls[0]?.map((place) => place.request)).toEqual(['r1', null]);
  route.stop();
});
