// Where a value comes from, in the inspector of the whole window: by a click, by the menu, and by the key.
import { cleanup, fireEvent, render, screen, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import type { WhyQuery, WhyView } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;
let asked: WhyQuery[];

class Answering extends FakeHost {
  override async why(requestId: string, query: WhyQuery): Promise<WhyView> {
    asked.push(query);
    const spot = { where: 'prompt' as const, requestId, seq: 5 };
    const of = { where: 'request_input' as const, requestId, seq: 1, pointer: '/question' };
    return {
      requestId,
      at: query.at,
      seq: 5,
      asked: { in: 'prompt' },
      answer: 'The same text is in the input of the request.',
      edges: [
        { kind: 'copied', depth: 0, in: spot, of, proven: false },
        { kind: 'recorded', depth: 1, in: of, proven: true },
      ],
      truncated: false,
    };
  }
}

beforeEach(async () => {
  localStorage.clear();
  asked = [];
  history.replaceState(null, '', '#session=ses-1&request=req-1');
  app = new AppModel(new Answering(0, 0), new Router(window));
  render(App, { props: { app } });
  await screen.findAllByTestId('timeline-row');
});
afterEach(cleanup);

async function choose(path: string): Promise<HTMLElement> {
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows.find((row) => row.dataset.path?.endsWith(path)) as HTMLElement);
  return screen.getByTestId('inspector');
}

/** The others were asked by the page itself. */
const byPerson = () => asked.filter((query) => query.limit === null);

const generator = () => {
  const { rows } = app.request;
  return rows.get(rows.indexOf((one) => one.kind === 'generator'))?.path ?? 'none';
};

test('a click on a message shows where it comes from, and an edge leads there', async () => {
  const inspector = await choose(generator());
  const [first] = await within(inspector).findAllByTestId('ask-origin');
  await fireEvent.click(first as HTMLElement);
  const origin = await within(inspector).findByTestId('origin');
  expect((await within(origin).findByTestId('origin-answer')).textContent).toContain('input of the request');
  const query = { at: `${generator()}#0`, value: 'prompt#1:/messages/0/content', text: null };
  expect(byPerson()).toEqual([{ ...query, limit: null }]);
  const edges = within(origin).getAllByTestId('origin-edge');
  expect(edges.map((edge) => edge.dataset.kind)).toEqual(['copied', 'recorded']);
  await fireEvent.click(edges[1] as HTMLElement);
  expect(app.route.place.seq).toBe(1);
});

test('the command asks about the value of the open tab', async () => {
  const inspector = await choose(generator());
  await within(inspector).findAllByTestId('ask-origin');
  expect(app.window.explain).not.toBeNull();
  await fireEvent.keyDown(document.body, { key: 'o' });
  await within(inspector).findByTestId('origin');
  expect(byPerson().map((query) => query.value)).toEqual(['prompt#1:']);
  await fireEvent.click(within(inspector).getByRole('button', { name: 'Close the origin' }));
  expect(within(inspector).queryByTestId('origin')).toBeNull();
});

test('a message says where it comes from without a click, and leads there', async () => {
  const inspector = await choose(generator());
  const [first] = await within(inspector).findAllByTestId('message-origin');
  expect(first?.textContent).toBe('request → input.question');
  expect(first?.title).toContain('Same content as: input of the request /question');
  // Each message is asked about once, and not those that say it themselves.
  const messages = within(inspector).getAllByTestId('message');
  const unsaid = messages.filter((one) => !['history', 'answer', 'tool'].includes(one.dataset.from ?? ''));
  expect(asked.map((query) => query.value)).toEqual(unsaid.map((one) => one.dataset.place));
  await fireEvent.click(first as HTMLElement);
  expect(app.route.place.seq).toBe(1);
});
