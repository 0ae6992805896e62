// The overview strip under the pointer; its keys and its numbers are tested with the timeline.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeHost } from '../../host/fake';
import { AppModel } from '../../model/app.svelte';
import { Router } from '../../model/route.svelte';
import Overview from './Overview.svelte';
import { TimeRange } from './range.svelte';

const WIDTH = 1000;
let app: AppModel;

beforeEach(() => {
  localStorage.clear();
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(WIDTH);
  Element.prototype.setPointerCapture ??= () => {};
});
afterEach(() => {
  app.stop();
  cleanup();
  vi.restoreAllMocks();
});

async function open(hash: string) {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(new FakeHost(0, 0, true), new Router(window));
  await app.start();
  await vi.waitFor(() => expect(app.request.seq).toBeGreaterThan(0));
  const range = new TimeRange(app.request);
  render(Overview, { props: { app, range } });
  return range;
}

const xOf = (time: number) => ((time - app.request.from) / (app.request.to - app.request.from)) * WIDTH;
const pointer = (type: string, clientX: number, buttons: number, clientY = 35) =>
  fireEvent(
    screen.getByTestId('overview'),
    new MouseEvent(`pointer${type}`, { clientX, clientY, buttons, button: 0, bubbles: true }),
  );

test('the line of the instant is drawn to another instant in the lower half as well, and zooms nothing', async () => {
  const range = await open('session=ses-1&request=req-1&seq=40');
  const strip = screen.getByTestId('overview');
  await waitFor(() => expect(screen.getByTestId('instant').textContent).toContain('#40 · +'));
  const line = xOf(app.time.at ?? 0);
  await pointer('move', line + 100, 0);
  expect(strip.style.cursor).toBe('crosshair');
  await pointer('move', line + 5, 0);
  expect(strip.style.cursor).toBe('ew-resize');
  await pointer('down', line + 5, 1);
  const events = await app.host.events('req-1', 1, 200);
  const inside = events.findLast((event, n) => n > 45 && n < 60 && event.at < (events[n + 1]?.at ?? 0));
  await pointer('move', xOf((inside?.at ?? 0) + 0.2), 1);
  await waitFor(() => expect(app.cursor).toBe(inside?.seq));
  await pointer('up', xOf(inside?.at ?? 0), 0);
  expect(range.zoom).toBeNull();
});

test('elsewhere in the lower half a drag shows a part of the time', async () => {
  const range = await open('session=ses-1&request=req-1&seq=40');
  await waitFor(() => expect(screen.getByTestId('instant').textContent).toContain('#40 · +'));
  const line = xOf(app.time.at ?? 0);
  await pointer('down', line + 50, 1);
  await pointer('move', line + 150, 1);
  await pointer('up', line + 150, 0);
  expect(range.zoom).not.toBeNull();
  expect(app.cursor).toBe(40);
});
