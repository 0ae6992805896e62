// Whether a suspended or interrupted request could be resumed with the current code, in words. Pure.
import type { RequestRow } from '../host/host';
import type { Look } from './status';

type Judged = Pick<RequestRow, 'resumable' | 'resumableWhy'>;

/** Null while it is not known, as in a folder that is not trusted. */
export function resumeLook({ resumable }: Judged): Look | null {
  switch (resumable) {
    case 'yes':
      return { label: 'Safe to resume', tone: 'good', icon: 'check' };
    case 'asks_again':
      return { label: 'Will ask again', tone: 'warn', icon: 'again' };
    case 'no':
      return { label: 'Cannot resume', tone: 'bad', icon: 'cross' };
    default:
      return null;
  }
}

/** The same with its reason: `Will ask again: 1 model call is asked again, in root/step:words`. */
export function resumeWords(row: Judged): string {
  const look = resumeLook(row);
  if (!look) return '';
  if (row.resumable === 'yes') return `${look.label}: what ended is reused, and nothing is asked or done a second time`;
  return row.resumableWhy ? `${look.label}: ${row.resumableWhy}` : look.label;
}
