// A session as a conversation, over a recorded host: what is brought into view, and how the line below goes on with it.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import type { RunOptions } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;

async function open(hash: string, host = new FakeHost(0, 0)) {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findAllByTestId('turn', {}, { timeout: 10_000 });
  return host;
}

const rect = (top: number) => ({ top, bottom: top + 10, height: 10, left: 0, right: 0, width: 0 }) as DOMRect;

beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

test('a request that is shown scrolls its list and nothing around it', async () => {
  const into = vi.spyOn(Element.prototype, 'scrollIntoView');
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(function (this: Element) {
    return rect(
      this.getAttribute('data-turn') === 'req-3' ? 700 : this.getAttribute('data-testid') === 'turns' ? 80 : 0,
    );
  });
  await open('session=ses-2&conversation=req-3');
  await waitFor(() => expect(screen.getByTestId('turns').scrollTop).toBe(700 - 80 - 12));
  expect(into.mock.contexts.filter((one) => (one as Element).closest('[data-testid=turns]'))).toEqual([]);
});

test('what is sent is brought into view, wherever the list was scrolled to', async () => {
  await open('session=ses-1&conversation=');
  const turns = screen.getByTestId('turns');
  vi.spyOn(turns, 'scrollHeight', 'get').mockReturnValue(5_000);
  vi.spyOn(turns, 'clientHeight', 'get').mockReturnValue(500);
  turns.scrollTop = 100;
  await fireEvent.scroll(turns);
  await fireEvent.input(screen.getByTestId('chat-text'), { target: { value: 'And now?' } });
  await fireEvent.click(screen.getByTestId('chat-send'));
  await waitFor(() => expect(screen.getAllByTestId('turn')).toHaveLength(2));
  await waitFor(() => expect(turns.scrollTop).toBe(5_000));
});

test('a session that was deleted elsewhere cannot go on', async () => {
  const host = await open('session=ses-1&conversation=');
  expect(screen.getByTestId('chat-send')).toBeTruthy();
  const gone = { kind: 'notFound', message: 'unknown session ses-1' };
  host.conversation = () => Promise.reject(gone);
  app.window.conversation?.changed();
  expect((await screen.findByTestId('conversation-fault')).textContent).toContain('This session was deleted');
  expect(screen.queryByTestId('chat-box')).toBeNull();
});

test('a message is answered as the last one was, whatever another action did after it', async () => {
  const host = new FakeHost(0, 0);
  const { conversation, flows } = host;
  const sent: RunOptions[] = [];
  host.startRun = async (options) => (sent.push(options), { requestId: 'req-9', sessionId: 'ses-1' });
  host.flows = async () => {
    const found = await flows.call(host);
    const chat = found.find((one) => one.kind === 'chat');
    const [send] = chat?.actions ?? [];
    if (chat && send) chat.actions = [{ ...send, name: 'recall', inputSchema: { type: 'object' } }, send];
    return found;
  };
  host.conversation = async (...query) => {
    const found = await conversation(...query);
    const [turn] = found.turns;
    if (!turn) return found;
    const run = (id: string, action: string, mock: boolean) => ({ ...turn, run: { ...turn.run, id, action, mock } });
    const turns = [run('req-1', 'send', true), run('req-8', 'recall', false)];
    return { ...found, total: 2, turns };
  };
  await open('session=ses-1&conversation=', host);
  expect((screen.getByTestId('chat-action') as HTMLSelectElement).value).toBe('send');
  expect((screen.getByTestId('chat-mock') as HTMLInputElement).checked).toBe(true);
  await fireEvent.input(screen.getByTestId('chat-text'), { target: { value: 'Hello' } });
  await fireEvent.click(screen.getByTestId('chat-send'));
  await waitFor(() => expect(sent.map(({ action, mock }) => [action, mock])).toEqual([['send', true]]));
});
