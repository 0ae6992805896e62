import { expect, test } from 'vitest';
import type { BlockRow, Workspace } from '../host/host';
import { NOWHERE, type Place } from '../place';
import { linkOf } from './link';

const folder = { dir: '/home/ada/flows', dataFile: '/home/ada/flows/.flowglass/flowglass.db' } as Workspace;
const block = (path: string, attempt: number) => ({ path, attempt, instanceId: `r1:${path}:${attempt}` }) as BlockRow;
const blocks = [block('root', 0), block('root/step:try', 0), block('root/step:try', 1)];
const link = (some: Partial<Place>, where = folder) => linkOf({ ...NOWHERE, ...some }, where, blocks);
const OPEN = 'flowglass open /home/ada/flows';

test.each<[string, Partial<Place>, string]>([
  ['home', {}, ''],
  ['a flow', { flow: 'chat' }, ' --flow=chat'],
  ['a form', { flow: 'chat', action: 'send it' }, " --flow=chat '--action=send it'"],
  ['a session', { session: 's1' }, ' --session=s1'],
  ['a request, which knows its session', { session: 's1', request: 'r1' }, ' --request=r1'],
  ['an instant', { request: 'r1', seq: 12 }, ' --request=r1 --at=12'],
  ['a block', { request: 'r1', block: 'r1:root:0' }, ' --request=r1 --block=root'],
  ['the newest attempt', { request: 'r1', block: 'r1:root/step:try:1' }, ' --request=r1 --block=root/step:try'],
  ['an older one', { request: 'r1', block: 'r1:root/step:try:0' }, ' --request=r1 --block=root/step:try --attempt=0'],
  ['a block far away', { request: 'r1', block: 'r1:root/a:b:3' }, ' --request=r1 --block=root/a:b --attempt=3'],
  ['a block of another request', { request: 'r1', block: 'r2:gone:0' }, ' --request=r1'],
  [
    'a tab and an audience',
    { request: 'r1', tab: 'items', audience: 'trace' },
    ' --request=r1 --tab=items --view=trace',
  ],
  ['an id like a flag', { session: '--all' }, ' --session=--all'],
])('%s', (_, some, words) => expect(link(some)).toBe(OPEN + words));

test('a database elsewhere is named', () => {
  expect(link({ session: 's1' }, { ...folder, dataFile: '/tmp/my data.db' })).toBe(
    `${OPEN} '--data=/tmp/my data.db' --session=s1`,
  );
});
