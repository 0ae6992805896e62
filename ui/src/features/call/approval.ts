// The question that a Call asks a person, how it stands at an instant, and the command lines that answer it.
// Pure.
import { isRecord } from '../../base/json';
import { commandLine } from '../../base/shell';
import type { SuspensionRow } from '../../host/host';

export type Question = {
  id: string;
  status: string;
  message: string;
  data: unknown;
  by: string;
  answer: unknown;
};
export type Place = { request: string; dir: string; dataFile: string };

/** The questions that were asked before an instant, newest first. An answer that came later is not told. */
export function questionsAt(asked: readonly SuspensionRow[], seq: number, at: number | null): Question[] {
  return asked
    .filter((row) => row.seq <= seq)
    .map((row) => {
      const isOpen = row.status === 'pending' || (at !== null && (row.resolvedAt ?? 0) > at);
      return {
        id: row.id,
        status: isOpen ? 'pending' : row.status,
        message: row.message ?? row.reason,
        data: row.data,
        by: isOpen ? '' : (row.resolvedBy ?? ''),
        answer: isOpen ? undefined : (row.resumeData ?? undefined),
      };
    })
    .reverse();
}

const VERDICTS: Record<string, string> = {
  pending: 'Waits for a person',
  approved: 'Approved',
  rejected: 'Rejected',
  submitted: 'Edited',
  skipped: 'Skipped',
  expired: 'Expired without an answer',
};

export const verdictOf = (status: string): string => VERDICTS[status] ?? status;

const MOST_OF_CALL = 300;

/** A line for each answer. The edited Call starts as the Call itself; a long one is better kept in a file. */
export function answersOf(question: Question, place: Place): { name: string; line: string }[] {
  const standard = `${place.dir}/.flowglass/flowglass.db`;
  const which = ['--suspension', question.id, '--dir', place.dir];
  if (place.dataFile && place.dataFile !== standard) which.push(`--data=${place.dataFile}`);
  const line = (...answer: string[]) => commandLine(['flowglass', 'resume', place.request, ...answer, ...which]);
  const call = isRecord(question.data) ? question.data.call : undefined;
  const json = JSON.stringify(call ?? {});
  return [
    { name: 'Approve', line: line('--approve') },
    { name: 'Reject', line: line('--reject', '--reason', 'why not') },
    { name: 'Edit', line: line('--submit', json.length > MOST_OF_CALL ? '@call.json' : json) },
  ];
}
