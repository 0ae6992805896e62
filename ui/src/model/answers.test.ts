import { expect, test } from 'vitest';
import type { Host, PlanRow, ResumeOptions } from '../host/host';
import { giveAnswer } from './answers';

const plan: PlanRow = { fromLog: 2, runsAgain: 0, modelsAsked: 0, mayHaveHappened: [], again: [] };

function hostOf(error: PlanRow['error']) {
  const calls: [string, ResumeOptions][] = [];
  const host = {
    planResume: async (_: string, options: ResumeOptions) => (calls.push(['plan', options]), { ...plan, error }),
    resume: async (_: string, options: ResumeOptions) => (calls.push(['resume', options]), { requestId: 'r' }),
  } as unknown as Host;
  return { host, calls };
}

test('an answer that the flow refuses is told why and is not given', async () => {
  const { host, calls } = hostOf({ name: 'FlowError', message: 'a call names its tool in _tool' });
  const given = giveAnswer(host, 'r', { suspension: 's', reply: 'submit', data: { amount: 45 } });
  await expect(given).rejects.toEqual({ kind: 'refused', message: 'a call names its tool in _tool' });
  expect(calls.map(([what]) => what)).toEqual(['plan']);
});

test('an answer that fits is given', async () => {
  const { host, calls } = hostOf(null);
  const answer: ResumeOptions = { suspension: 's', reply: 'submit', data: { _tool: 'pay', amount: 45 } };
  await giveAnswer(host, 'r', answer);
  expect(calls).toEqual([
    ['plan', answer],
    ['resume', answer],
  ]);
});

test('an answer without data is given at once', async () => {
  const { host, calls } = hostOf(null);
  await giveAnswer(host, 'r', { suspension: 's', reply: 'approve' });
  expect(calls.map(([what]) => what)).toEqual(['resume']);
});

test('an answer that cannot be planned is given: the request may still run', async () => {
  const { host, calls } = hostOf(null);
  const running = { ...host, planResume: () => Promise.reject(new Error('it runs')) } as Host;
  await giveAnswer(running, 'r', { suspension: 's', reply: 'submit', data: 1 });
  expect(calls.map(([what]) => what)).toEqual(['resume']);
});
