// Runs of any size, for looking at how the window behaves when there is a lot of everything. Sample content only.
import type { Beat } from './recording';
import { Script } from './scripts';

/** Parallel parts with a handler in each. */
export function fan(requestId: string, input: { blocks?: number; characters?: number }): Beat[] {
  const total = input.blocks ?? 10_000;
  const run = new Script().start(1, 'root', 'sequencer', 'fan', { input });
  run.set('root', 'session', 'text', 'x'.repeat(input.characters ?? 1_000_000));
  for (let n = 0; n < total / 2 - 1; n++) {
    const path = `root/forEach:part[${n}]`;
    const failed = n % 997 === 500 ? { status: 'failed', error: { name: 'Error', message: `Part ${n} is odd.` } } : {};
    run
      .start(1, path, 'sequencer', 'part', { input: n })
      .start(1, `${path}/step:work`, 'handler', 'work', { input: n });
    if (n % 50 === 0) run.set(`${path}/step:work`, 'sequencer', 'count', n, undefined, `${requestId}:root:0`);
    run.end(3 + (n % 7), `${path}/step:work`, n * 2, failed).end(1, path, n * 2, failed);
  }
  return run.end(2, 'root', { parts: total }).add(1, 'request.completed').beats;
}

const TOOLS = ['fetch-page', 'read-notes', 'search-library', 'check-quote'];

/** Loops, fan-outs, retries, failures and two pauses, of about so many blocks; its last blocks still run or wait. */
export function mixture(total: number): Beat[] {
  const run = new Script().start(1, 'root', 'sequencer', 'research-pipeline', { input: { total } });
  run.start(20, 'root/step:plan', 'generator', 'planning-model').set('root/step:plan', 'session', 'plan', ['a', 'b']);
  run.end(312, 'root/step:plan', 'Three angles').start(4, 'root/step:keep', 'handler', 'keep-plan');
  run.set('root/step:keep', 'user', 'plans', 1).end(1, 'root/step:keep');
  const turns = Math.max(10, Math.floor(total / 60));
  for (let turn = 0; turn < turns; turn++) {
    const angle = `root/loop[${turn}]`;
    run.start(8, angle, 'sequencer', 'one-angle').start(2, `${angle}/step:investigate`, 'generator', 'investigator');
    const tool = TOOLS[turn % TOOLS.length] ?? '';
    const path = `${angle}/step:investigate/tool:${tool}`;
    run.start(60, path, 'handler', tool);
    if (turn % 9 === 4) {
      const error = { name: 'TimeoutError', message: 'No answer within 300 ms.', path };
      run.end(300, path, undefined, { status: 'failed', error }).start(80, path, 'handler', tool, {}, 1);
      run.end(50, path, 'found', {}, 1);
    } else run.end(30 + (turn % 5) * 20, path, 'found');
    run.set(`${angle}/step:investigate`, 'session', `angles[${turn}]`, turn);
    run.end(40, `${angle}/step:investigate`, 'An angle').start(1, `${angle}/forEach`, 'sequencer', 'sources');
    for (let source = 0; source < 54; source++) {
      const one = `${angle}/forEach/source[${source}]`;
      const failed = turn % 7 === 3 && source % 20 === 19;
      const more = failed ? { status: 'failed', error: { name: 'Error', message: `Source ${source} is gone.` } } : {};
      run.start(1, one, 'handler', 'read-source').end(2 + (source % 6), one, source, more);
    }
    run.end(2, `${angle}/forEach`).start(1, `${angle}/step:record`, 'handler', 'record');
    if (turn % 3 === 0) run.set(`${angle}/step:record`, 'session', 'records', turn);
    run.end(2, `${angle}/step:record`).end(1, angle);
    if (turn === Math.floor(turns / 3)) run.add(8_040_000, 'resumed', 'root');
    if (turn === Math.floor(turns / 2)) run.add(95_000, 'resumed', 'root');
  }
  run.start(3, 'root/step:notes', 'handler', 'read-notes', { memoized: true }).end(12, 'root/step:notes', 'kept');
  run.start(3, 'root/step:write', 'generator', 'writer').end(3400, 'root/step:write', 'A report');
  run.start(5, 'root/step:approve', 'handler', 'approve-publication');
  run.end(2, 'root/step:approve', undefined, { status: 'suspended' });
  return run.end(1, 'root', undefined, { status: 'suspended' }).add(1, 'request.suspended').beats;
}
