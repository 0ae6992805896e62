// Dialogs and forms over the whole window: where the focus begins, what keys do in them, and what stays in view.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import type { Host, SuspensionRow } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';
import type { SheetName } from './model/window.svelte';

let app: AppModel;

async function open(sheet: SheetName | null, host = new FakeHost(0, 5), hash = 'session=ses-2&request=req-2') {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('session-ses-2');
  if (hash.includes('request=')) await screen.findAllByTestId('timeline-row');
  app.window.sheet = sheet;
  return host;
}

const press = (key: string, more = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
const focused = () => (document.activeElement as HTMLElement | null)?.dataset.testid;
const isIn = (id: string, part: 'sheet-body' | 'sheet-foot') => within(screen.getByTestId(part)).queryByTestId(id);

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test.each([
  ['export', 'export-file'],
  ['import', 'import-file'],
  ['search', 'search-text'],
  ['retry', 'do-retry'],
  ['fork', 'do-fork'],
] as const)('the focus of the dialog %s begins at %s', async (sheet, at) => {
  await open(sheet);
  await waitFor(() => expect(focused()).toBe(at));
});

test('what a fork is given is written at once', async () => {
  await open('fork');
  await fireEvent.click(await screen.findByTestId('fork-state'));
  await waitFor(() => expect(focused()).toBe('fork-place'));
});

test('what is not valid in a fork is said once, with nothing of marked fields', async () => {
  await open('fork');
  await fireEvent.click(await screen.findByTestId('fork-state'));
  await fireEvent.input(screen.getByTestId('fork-place'), { target: { value: 'session.topic' } });
  await fireEvent.input(screen.getByTestId('fork-value'), { target: { value: '{ oops' } });
  const fault = await screen.findByTestId('plan-fault');
  expect(fault.textContent).toContain('The value for session.topic is not JSON');
  expect(fault.textContent).not.toMatch(/marked|run again/);
  const button = () => screen.getByTestId('do-fork') as HTMLButtonElement;
  await waitFor(() => expect(button().disabled).toBe(true));
  await fireEvent.input(screen.getByTestId('fork-value'), { target: { value: '"bees"' } });
  await waitFor(() => expect(button().disabled).toBe(false));
});

test('the page stays until the fork that was started can be read', async () => {
  const host = await open('fork');
  await waitFor(() => expect(app.request.row?.id).toBe('req-2'));
  host.fork = async () => ({ requestId: 'req-3', sessionId: 'ses-2' }) as never;
  const openView = host.openView.bind(host);
  let answer = () => {};
  const isReadable = new Promise<void>((done) => (answer = done));
  host.openView = async (id) => isReadable.then(() => openView(id));
  const button = await screen.findByTestId('do-fork');
  await fireEvent.click(button);
  await waitFor(() => expect(button.textContent).toContain('Starting…'));
  expect(app.request.row?.id, 'the page is still that of the original').toBe('req-2');
  expect(screen.queryByText('Loading the request…')).toBeNull();
  answer();
  await waitFor(() => expect(app.request.row?.id).toBe('req-3'));
  await waitFor(() => expect(screen.queryByTestId('fork-sheet')).toBeNull());
});

test('a tag that is not valid is said in words of its sheet', async () => {
  await open('tag');
  await fireEvent.input(await screen.findByTestId('tag-add'), { target: { value: 'x'.repeat(65) } });
  await fireEvent.click(screen.getByTestId('do-tag'));
  const fault = (await screen.findByTestId('sheet-error')).textContent;
  expect(fault).toContain('Not valid');
  expect(fault).not.toMatch(/marked|run again/);
});

test('Enter in the field exports; its button stands in the foot, its fields in what scrolls', async () => {
  const host = await open('export');
  const write = vi.spyOn(host, 'exportSession').mockResolvedValue({ file: '/x', bytes: 1 } as never);
  await waitFor(() => expect(focused()).toBe('export-file'));
  expect([isIn('do-export', 'sheet-foot'), isIn('export-file', 'sheet-body')]).not.toContain(null);
  await press('Enter');
  await waitFor(() => expect(app.window.sheet).toBeNull());
  expect(write).toHaveBeenCalledOnce();
});

test('a request is shared as a page, for the audience that is chosen, under a name that fits', async () => {
  const host = await open('export');
  const write = vi.spyOn(host, 'exportPage').mockResolvedValue({ file: '/x', bytes: 1 } as never);
  await fireEvent.click(await screen.findByText('HTML page'));
  const file = screen.getByTestId('export-file') as HTMLInputElement;
  await waitFor(() => expect(file.value).toMatch(/\/req-\d\.html$/));
  await fireEvent.click(screen.getByText('As client'));
  await fireEvent.click(screen.getByTestId('do-export'));
  await waitFor(() => expect(app.window.sheet).toBeNull());
  expect(write).toHaveBeenCalledWith(expect.objectContaining({ view: 'client', replace: false, file: file.value }));
});

test('a file is chosen in the dialog of the system, which asks before one is replaced', async () => {
  const host = await open('export');
  vi.spyOn(host, 'pickFile').mockResolvedValue('/home/ada/out.jsonl');
  await fireEvent.click(await screen.findByTestId('export-choose'));
  const file = screen.getByTestId('export-file') as HTMLInputElement;
  const replace = screen.getByTestId('export-replace') as HTMLInputElement;
  await waitFor(() => expect([file.value, replace.checked]).toEqual(['/home/ada/out.jsonl', true]));
  await fireEvent.input(file, { target: { value: '/home/ada/other.jsonl' } });
  expect(replace.checked).toBe(false);
});

test('a file that was chosen to be imported is checked at once', async () => {
  const host = await open('import');
  vi.spyOn(host, 'pickFile').mockResolvedValue('/home/ada/out.jsonl');
  const checked = vi.spyOn(host, 'checkFile');
  await fireEvent.click(await screen.findByTestId('import-choose'));
  await waitFor(() => expect(checked).toHaveBeenCalledWith('/home/ada/out.jsonl'));
  expect((screen.getByTestId('import-file') as HTMLInputElement).value).toBe('/home/ada/out.jsonl');
});

test('a deletion says what goes, and needs Ctrl+Enter', async () => {
  const host = await open('delete');
  const gone = vi.spyOn(host, 'deleteSession').mockResolvedValue({ requests: 2, events: 292 } as never);
  const said = (await screen.findByTestId('delete-about')).textContent;
  for (const words of ['ses-2', 'research', '2 requests, ', ' events', 'last used']) expect(said).toContain(words);
  const button = screen.getByTestId('do-delete');
  expect([button.textContent?.trim(), button.className.includes('bg-bad')]).toEqual(['Delete session', true]);
  await waitFor(() => expect(document.activeElement?.textContent).toContain('Cancel'));
  await press('Enter');
  expect(gone).not.toHaveBeenCalled();
  await press('Enter', { ctrlKey: true });
  await waitFor(() => expect(gone).toHaveBeenCalledWith('ses-2'));
});

const QUESTION = {
  id: 's',
  requestId: 'req-2',
  sessionId: 'ses-2',
  path: 'root/step:approve',
  reason: 'approval',
  message: 'Publish it?',
  allow: ['approve', 'reject'],
  resumeSchema: { type: 'object', properties: { note: { type: 'string' } } },
  createdAt: 1,
} as unknown as SuspensionRow;

async function answer(count: number) {
  const host = new FakeHost(0, 5);
  host.suspensions = async () => [QUESTION, { ...QUESTION, id: 't' }].slice(0, count);
  const resume = vi.fn(async (..._given: unknown[]) => ({ openEffects: [] }));
  host.resume = resume as never;
  await open('resume', host);
  return resume;
}

test('an answer begins in its first field, and its buttons stand in the foot', async () => {
  const resume = await answer(1);
  await waitFor(() => expect(focused()).toBe('field-note'));
  expect([isIn('answer-approve', 'sheet-foot'), isIn('question', 'sheet-body')]).not.toContain(null);
  await press('Enter');
  await waitFor(() => expect(resume.mock.calls[0]?.[1]).toMatchObject({ suspension: 's', reply: 'approve' }));
});

test('Enter after a reason rejects, and without one does nothing', async () => {
  const resume = await answer(1);
  const reason = await screen.findByTestId('question-reason');
  reason.focus();
  await press('Enter');
  expect(resume).not.toHaveBeenCalled();
  await fireEvent.input(reason, { target: { value: 'too early' } });
  await press('Enter');
  await waitFor(() => expect(resume.mock.calls[0]?.[1]).toMatchObject({ reply: 'reject', data: 'too early' }));
});

test('of several questions each is answered by its own keys', async () => {
  const resume = await answer(2);
  const fields = await screen.findAllByTestId('field-note');
  fields[1]?.focus();
  await press('Enter');
  await waitFor(() => expect(resume.mock.calls[0]?.[1]).toMatchObject({ suspension: 't' }));
  expect(screen.queryByTestId('sheet-foot')).toBeNull();
});

test('a form that is opened begins in its first field, and a request in its timeline', async () => {
  await open(null);
  expect(focused()).not.toBe('timeline');
  await fireEvent.click(screen.getByTestId('action-research-plan'));
  await waitFor(() => expect(focused()).toBe('field-topic'));
  (document.activeElement as HTMLElement).blur();
  await fireEvent.click(screen.getByTestId('session-ses-1'));
  await waitFor(() => expect(focused()).toBe('timeline'));
});

test('a request that opens takes the focus from no text', async () => {
  await open(null);
  screen.getByTestId('session-search').focus();
  app.openRequest('ses-1', 'req-1');
  await waitFor(() => expect(app.request.row?.id).toBe('req-1'));
  await new Promise((done) => setTimeout(done, 50));
  expect(focused()).toBe('session-search');
});

test('the chosen command of the palette is kept in view, and a pointer that rests chooses none', async () => {
  const seen: string[] = [];
  vi.spyOn(Element.prototype, 'scrollIntoView').mockImplementation(function (this: Element) {
    seen.push(this.id);
  });
  await open('palette');
  const input = await screen.findByTestId('palette-input');
  for (let n = 0; n < 3; n++) await fireEvent.keyDown(input, { key: 'ArrowDown' });
  expect(seen.at(-1)).toBe('palette-3');
  // The list was scrolled below the pointer.
  const chosen = () => document.querySelector('#palette-list [aria-selected=true]')?.id;
  const row = document.getElementById('palette-9') as HTMLElement;
  const move = (screenX: number) => {
    const event = new MouseEvent('pointermove', { bubbles: true, screenX, screenY: 5 });
    return fireEvent(row, event);
  };
  await move(5);
  await move(5);
  expect(chosen()).toBe('palette-3');
  await move(6);
  expect(chosen()).toBe('palette-9');
});

test('where flows are not trusted the list says so in room enough', async () => {
  const host = new FakeHost(0, 5);
  await host.chooseWorkspace('/home/ada/downloaded');
  await open(null, host, '');
  const zone = (await screen.findByText('Not loaded')).closest<HTMLElement>('[data-zone=flows]');
  expect(Number.parseInt(zone?.style.height ?? '0')).toBeGreaterThanOrEqual(200);
});

test('a replay that had nothing to compare says why, and is no pass', async () => {
  const host = new FakeHost(0, 5);
  const why = 'nothing was compared: it was stopped before its first block ended';
  vi.spyOn(host, 'replay').mockResolvedValue({ identical: false, compared: 0, why });
  await open('replay', host);
  const replayed = await screen.findByTestId('replayed');
  expect(replayed.dataset.identical).toBe('false');
  expect(screen.getByTestId('replay-why').textContent).toContain(why);
  expect(replayed.textContent).not.toContain('diverges');
});

test('secrets that cannot be hidden are named, and what has them is written only if that is accepted', async () => {
  const host = new FakeHost(0, 5);
  host.missingSecrets = async () => ['TOKEN'];
  await open('export', host);
  const write = vi.spyOn(host, 'exportPage').mockResolvedValue({ file: '/x', bytes: 1 } as never);
  await fireEvent.click(await screen.findByText('HTML page'));
  expect((await screen.findByTestId('export-unset')).textContent).toContain('TOKEN is not set here');
  const button = screen.getByTestId('do-export') as HTMLButtonElement;
  expect(button.disabled).toBe(true);
  await fireEvent.click(screen.getByTestId('export-accept'));
  await fireEvent.click(button);
  await waitFor(() => expect(write).toHaveBeenCalledOnce());
});

test('agents run flows once a person has let them', async () => {
  const host = new FakeHost(0, 5);
  const access = await host.agentAccess();
  let mayRun = false;
  host.agentAccess = async () => ({ ...access, mayRun });
  host.trustWorkspace = async () => ((mayRun = true), undefined as never);
  await open('mcp', host);
  await fireEvent.click(await screen.findByTestId('agents-allow'));
  await waitFor(() => expect(screen.queryByTestId('agents-allow')).toBeNull());
  expect(mayRun).toBe(true);
});

test.each([[[]], [['"chat": the script has the first choice']]])(
  'a flow made of a trace lists how its run differs: %j',
  async (differences) => {
    const host: Host = new FakeHost(0, 5);
    host.runnable = async (_, flow) => ({ flow, files: ['flows/w.ts'], modelCalls: 2, tools: [], differences });
    await open('runnable', host as FakeHost);
    await fireEvent.click(await screen.findByTestId('do-runnable'));
    await screen.findByTestId('made-runnable');
    const listed = screen.queryByTestId('runnable-differences')?.querySelectorAll('li') ?? [];
    expect([...listed].map((one) => one.textContent)).toEqual(differences);
  },
);
