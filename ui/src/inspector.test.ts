// The inspector of the whole window over a recording: its tabs, what a model did, the foot of a request, and plans.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;
const PLAN = { fromLog: 0, runsAgain: 0, modelsAsked: 0, mayHaveHappened: [], again: [] };

async function open(hash: string, host = new FakeHost(0, 0)) {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findAllByTestId('timeline-row');
}

beforeEach(() => localStorage.clear());
afterEach(cleanup);

async function choose(path: string): Promise<HTMLElement> {
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows.find((row) => row.dataset.path?.endsWith(path)) as HTMLElement);
  return screen.getByTestId('inspector');
}

const generator = () => {
  const { rows } = app.request;
  return rows.get(rows.indexOf((one) => one.kind === 'generator'))?.path ?? 'none';
};

test('a model call says who was asked, with what, and what that cost', async () => {
  await open('session=ses-1&request=req-1');
  const inspector = await choose(generator());
  // What asks models is first looked at for that.
  const tab = await within(inspector).findByTestId('model-tab');
  expect(tab.textContent).toContain('gpt-5-mini-2025-08-07');
  const messages = within(tab).getAllByTestId('message');
  expect(messages.map((one) => one.dataset.from)).toEqual(['system', 'history', 'user']);
  expect(within(tab).getByTestId('call-facts').textContent).toMatch(/cost\s*\$0\.000/);
  expect(within(tab).getByTestId('model-reply').textContent).toMatch(/first token \d+ ms/);
});

test('the tabs are walked by keys, and the chosen one stays', async () => {
  await open('session=ses-2&request=req-2');
  const inspector = await choose('root/step:report');
  const input = await within(inspector).findByTestId('block-tab-input');
  input.focus();
  await fireEvent.keyDown(input, { key: 'ArrowRight' });
  expect(document.activeElement).toBe(within(inspector).getByTestId('block-tab-output'));
  await fireEvent.click(within(inspector).getByTestId('block-tab-changes'));
  expect((await within(inspector).findByTestId('change-tally')).textContent).toMatch(/\+\d+ added/);
  await choose('root');
  await waitFor(() =>
    expect(within(inspector).getByTestId('block-tab-changes').getAttribute('aria-selected')).toBe('true'),
  );
});

const openTabOf = (inspector: HTMLElement) =>
  within(inspector)
    .getAllByRole('tab')
    .find((one) => one.getAttribute('aria-selected') === 'true')?.dataset.testid;

test('a failed block opens at the line that threw, each time', async () => {
  const host = new FakeHost(0, 0);
  const source = { file: 'flows/research.ts', hash: '', text: 'code();\n'.repeat(120), from: 100, to: 110 };
  host.blockSource = async () => source;
  await open('session=ses-2&request=req-3', host);
  const inspector = await choose('section[1]/step:check');
  expect((await within(inspector).findByTestId('source-error')).textContent).toContain('expected');
  await fireEvent.click(within(inspector).getByTestId('block-tab-output'));
  expect(openTabOf(inspector)).toBe('block-tab-output');
  // Neither what was chosen for it nor Source stays for a block that did not fail.
  await choose('root/tap:begin');
  await waitFor(() => expect(openTabOf(inspector)).toBe('block-tab-output'));
  await choose('root/step:outline');
  await waitFor(() => expect(openTabOf(inspector)).toBe('block-tab-model'));
});

test('input and output are shown together, and who is led to a tab sees it', async () => {
  await open('session=ses-2&request=req-2');
  const inspector = await choose('root/step:report');
  await waitFor(() => expect(within(inspector).getByTestId('block-output').textContent).toContain('About wild bees'));
  expect(within(inspector).getByTestId('block-given').textContent).toContain('Habitat');
  await choose('root/step:outline');
  app.window.inspectorTab = 'input';
  await waitFor(() => expect(openTabOf(inspector)).toBe('block-tab-input'));
  await choose('root/step:report');
  await waitFor(() => expect(openTabOf(inspector)).toBe('block-tab-output'));
});

test('a block that waits for a person shows first what it asks', async () => {
  await open('session=ses-large&request=req-4', new FakeHost(0, 0, true));
  const inspector = await choose('root/step:approve');
  const question = await within(inspector).findByTestId('block-question');
  expect(question.textContent).toMatch(/\?/);
  expect(within(inspector).getByTestId('block-output').textContent).toContain('until it is answered');
  await fireEvent.click(within(question).getByRole('button', { name: 'Answer…' }));
  expect(app.window.sheet).toBe('resume');
});

test('a change leads to who else wrote there', async () => {
  await open('session=ses-2&request=req-2');
  const inspector = await choose('root/step:report');
  await fireEvent.click(await within(inspector).findByTestId('block-tab-changes'));
  const [row] = await within(inspector).findAllByTestId('change-row');
  await fireEvent.click(within(row as HTMLElement).getAllByRole('button')[0] as HTMLElement);
  await fireEvent.click(within(row as HTMLElement).getByTestId('who-wrote'));
  expect(((await screen.findByTestId('history-place')) as HTMLInputElement).value).toBe(`user.${row?.dataset.path}`);
});

test('the foot of a request sums up, and says what a resume would do', async () => {
  await open('session=ses-2&request=req-3');
  await waitFor(() => expect(screen.getByTestId('totals').textContent).toMatch(/^\d+ blocks · .* failed$/));
  const plan = await screen.findByTestId('resume-plan');
  expect(plan.textContent).toMatch(/Resume: reuse \d+, re-run \d+/);
  await fireEvent.click(plan);
  await waitFor(() => expect(screen.getByTestId('plan-from-log').textContent?.trim()).toMatch(/^\d+$/));
  expect(screen.getByTestId('plan-runs-again').textContent?.trim()).not.toBe('0');
});

test('editors of a fork begin with what was there, and say so until it is changed', async () => {
  await open('session=ses-2&request=req-2');
  await choose('root/step:report');
  await waitFor(() => expect(app.detail.answer?.block.path).toBe('root/step:report'));
  const asked: unknown[] = [];
  app.host.planFork = async (_, options) => (asked.push(options), { ...PLAN });
  app.window.sheet = 'fork';
  await fireEvent.click(await screen.findByTestId('fork-input'));
  const value = () => screen.getByTestId('fork-value') as HTMLTextAreaElement;
  await waitFor(() => expect(JSON.parse(value().value)).toMatchObject([{ title: 'Habitat' }, {}, {}]));
  // The plan stays in view below editors of any length.
  expect(within(screen.getByTestId('sheet-foot')).getByTestId('plan')).toBeTruthy();
  // An edit makes the other one void; what is unchanged makes room for it.
  expect(screen.getByTestId('fork-output')).toBeTruthy();
  expect(screen.getByTestId('fork-note').textContent).toContain('unchanged');
  await waitFor(() => expect(asked.at(-1)).toMatchObject({ path: 'root/step:report' }), { timeout: 2000 });
  expect(asked.at(-1)).not.toHaveProperty('input');
  expect(screen.queryByTestId('plan-fault')).toBeNull();
  await fireEvent.input(value(), { target: { value: '{"topic":"ants"}' } });
  await waitFor(() => expect(asked.at(-1)).toMatchObject({ input: { topic: 'ants' } }), { timeout: 2000 });
  expect(screen.queryByTestId('fork-output')).toBeNull();

  await fireEvent.click(screen.getByTestId('fork-state'));
  const last = () => screen.getAllByTestId('fork-value').at(-1) as HTMLTextAreaElement;
  expect(last().value).toBe('');
  await fireEvent.input(screen.getByTestId('fork-place'), { target: { value: 'project.lastReport' } });
  await waitFor(() => expect(last().value).not.toBe(''));
  expect(screen.getAllByTestId('fork-note').at(-1)?.textContent).toContain('unchanged');
  expect(asked.at(-1)).toMatchObject({ set: [] });
});
