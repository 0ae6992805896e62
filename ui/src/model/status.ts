// How a status looks and reads, in one table: the word, the shape and the tone always come together,
// because colour alone tells nothing to many people.
import type { BlockKind, BlockStatus, RequestStatus } from '../host/host';

export type Tone = 'good' | 'bad' | 'busy' | 'hold' | 'warn' | 'idle';
export type Look = { label: string; tone: Tone; icon: string };

const LOOKS: Record<RequestStatus | BlockStatus, Look> = {
  queued: { label: 'Queued', tone: 'idle', icon: 'clock' },
  in_progress: { label: 'Running', tone: 'busy', icon: 'running' },
  running: { label: 'Running', tone: 'busy', icon: 'running' },
  completed: { label: 'Completed', tone: 'good', icon: 'check' },
  incomplete: { label: 'Incomplete', tone: 'warn', icon: 'half' },
  failed: { label: 'Failed', tone: 'bad', icon: 'cross' },
  returned_error: { label: 'Returned an error', tone: 'bad', icon: 'cross' },
  timed_out: { label: 'Timed out, ended later', tone: 'bad', icon: 'cross' },
  suspended: { label: 'Suspended', tone: 'hold', icon: 'pause' },
  interrupted: { label: 'Interrupted', tone: 'warn', icon: 'bolt' },
  aborted: { label: 'Aborted', tone: 'idle', icon: 'stop' },
  abandoned: { label: 'Abandoned', tone: 'idle', icon: 'dashed' },
};

/** As of an instant that has passed: what ran then runs no more, and does not turn. */
export const lookThen = (status: string): Look => {
  const look = lookOf(status);
  return look.tone === 'busy' ? { label: 'Was running', tone: 'idle', icon: 'half' } : look;
};

/** A status this window does not know yet is shown by its own name rather than hidden. */
export const lookOf = (status: string): Look =>
  LOOKS[status as RequestStatus] ?? { label: status, tone: 'idle', icon: 'dashed' };

export const kindIcon = (kind: BlockKind): string => kind;

export const isOver = (status: RequestStatus) => status !== 'in_progress' && status !== 'queued';

export const REQUEST_STATUSES: readonly RequestStatus[] = [
  'in_progress',
  'completed',
  'failed',
  'suspended',
  'interrupted',
  'incomplete',
  'aborted',
  'queued',
];
