// The inspector of the whole window over a recording: its tabs, what a model did, the foot of a request, and plans.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;

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
  expect(plan.textContent).toMatch(/resume would take \d+ from the log, run \d+ again/);
  await fireEvent.click(plan);
  await waitFor(() => expect(screen.getByTestId('plan-from-log').textContent?.trim()).toMatch(/^\d+$/));
  expect(screen.getByTestId('plan-runs-again').textContent?.trim()).not.toBe('0');
});
