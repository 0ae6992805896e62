import { expect, test } from 'vitest';
import type { BlockRow, Workspace } from '../host/host';
import { HOME, VIEW, type Route, type View } from '../place';
import { linkOf } from './link';

const folder = { dir: '/home/ada/flows', dataFile: '/home/ada/flows/.flowglass/flowglass.db' } as Workspace;
const block = (path: string, attempt: number) => ({ path, attempt, instanceId: `r1:${path}:${attempt}` }) as BlockRow;
const blocks = [block('root', 0), block('root/step:try', 0), block('root/step:try', 1)];
const link = (route: Route, where = folder) => linkOf(route, where, blocks);
const request = (view: Partial<View> = {}): Route => ({
  at: 'request',
  request: 'r1',
  session: 's1',
  ...VIEW,
  ...view,
});
const OPEN = 'flowglass open /home/ada/flows';

test.each<[string, Route, string]>([
  ['home', HOME, ''],
  ['a flow', { at: 'flow', flow: 'chat' }, ' --flow=chat'],
  ['a form', { at: 'run', flow: 'chat', action: 'send it' }, " --flow=chat '--action=send it'"],
  ['a session', { at: 'session', session: 's1' }, ' --session=s1'],
  ['a request, which knows its session', request(), ' --request=r1'],
  ['an instant', request({ seq: 12 }), ' --request=r1 --at=12'],
  ['a block', request({ block: 'r1:root:0' }), ' --request=r1 --block=root'],
  ['the newest attempt', request({ block: 'r1:root/step:try:1' }), ' --request=r1 --block=root/step:try'],
  ['an older one', request({ block: 'r1:root/step:try:0' }), ' --request=r1 --block=root/step:try --attempt=0'],
  ['a block far away', request({ block: 'r1:root/a:b:3' }), ' --request=r1 --block=root/a:b --attempt=3'],
  ['a block of another request', request({ block: 'r2:gone:0' }), ' --request=r1'],
  ['a tab and an audience', request({ tab: 'items', audience: 'trace' }), ' --request=r1 --tab=items --view=trace'],
  ['an id like a flag', { at: 'session', session: '--all' }, ' --session=--all'],
])('%s', (_, route, words) => expect(link(route)).toBe(OPEN + words));

test('two requests are compared by the terminal', () => {
  expect(link({ at: 'compare', left: 'r1', right: 'r 2' })).toBe(
    "flowglass diff r1 '--with=r 2' --dir=/home/ada/flows",
  );
});

test('recorded runs are verified by the terminal', () => {
  expect(link({ at: 'verify', only: null })).toBe('flowglass verify --dir=/home/ada/flows');
  expect(link({ at: 'verify', only: 'cart' })).toBe('flowglass verify --dir=/home/ada/flows --flow=cart');
});

test('experiments are listed by the terminal, or one is shown', () => {
  expect(link({ at: 'experiments', experiment: null })).toBe('flowglass experiments --dir=/home/ada/flows');
  expect(link({ at: 'experiments', experiment: 'exp_1' })).toBe('flowglass experiments exp_1 --dir=/home/ada/flows');
});

test('runs are listed by the terminal, in an order that it has', () => {
  const runs = { at: 'runs', runs: 'status:failed -tag:x', sort: 'cost', descending: true } as const;
  const words = "flowglass requests '--filter=status:failed -tag:x'";
  expect(link(runs)).toBe(`${words} --order=cost --dir=/home/ada/flows`);
  expect(link({ ...runs, sort: 'user' })).toBe(`${words} --dir=/home/ada/flows`);
});

test('a database elsewhere is named', () => {
  expect(link({ at: 'session', session: 's1' }, { ...folder, dataFile: '/tmp/my data.db' })).toBe(
    `${OPEN} '--data=/tmp/my data.db' --session=s1`,
  );
});
