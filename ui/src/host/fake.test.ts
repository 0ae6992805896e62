import { expect, test, vi } from 'vitest';
import { FakeHost } from './fake';
import { asFault } from './host';

test('a recorded run answers every question about itself', async () => {
  const host = new FakeHost(0, 0);
  const [request] = await host.requests({ session: 'ses-2', limit: 1, offset: 1 });
  const { view, seq } = await host.openView(request?.id ?? '');
  await host.viewFold(view, { node: null, folded: false });
  const blocks = (await host.viewRows(view, { offset: 0, limit: 1000 })).page;
  expect(request?.status).toBe('completed');
  expect(blocks.find((block) => block.path === 'root/forEach:section[1]/step:check')?.depth).toBe(3);
  const state = await host.stateAt(request?.id ?? '', seq);
  expect(state.session).toMatchObject({ words: 81 });
  const diff = await host.diff(request?.id ?? '', 0, seq);
  expect(diff.find((change) => change.path === 'lastReport' || change.scope === 'project')?.by).toBe(
    'root/step:report',
  );
  const detail = await host.block(request?.id ?? '', blocks[0]?.instanceId ?? '');
  expect(detail.input).toMatchObject({ topic: 'wild bees' });
  expect((await host.items({ request: request?.id, view: 'all' })).length).toBeGreaterThan(
    (await host.items({ request: request?.id, view: 'history' })).length,
  );
});

test('a run that is played says so while it happens', async () => {
  const host = new FakeHost(0.01, 0);
  const seqs: number[] = [];
  await host.watch((notice) => notice.kind === 'request' && seqs.push(notice.seq));
  const { requestId } = await host.startRun({ flow: 'chat', action: 'send', userId: 'ada', input: 'hi', mock: true });
  await vi.waitFor(async () => expect((await host.openView(requestId)).request.status).toBe('completed'), 5000);
  expect(seqs.length).toBeGreaterThan(3);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
});

test('what goes wrong is always a Fault', async () => {
  await expect(new FakeHost(0, 0).openView('gone')).rejects.toMatchObject({ kind: 'notFound' });
  expect(asFault({ kind: 'refused', message: 'no' })).toEqual({ kind: 'refused', message: 'no' });
  expect(asFault(new Error('gone'))).toEqual({ kind: 'internal', message: 'gone' });
  expect(asFault('text')).toEqual({ kind: 'internal', message: 'text' });
  expect(asFault({ kind: 'unknown' }).kind).toBe('internal');
});
