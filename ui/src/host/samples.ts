// Older sessions for the recorded host, of which only the rows are there, so that search and paging have something to
// work on. Sample content only.
import type { ListedSession } from './host';

const STATUSES = ['completed', 'completed', 'failed', 'completed', 'suspended', 'interrupted', 'aborted'] as const;

export function olderSessions(total: number, now: number): ListedSession[] {
  return Array.from({ length: total }, (_, n) => ({
    id: `ses-old-${String(total - n).padStart(3, '0')}`,
    flow: n % 3 ? 'chat' : 'research',
    userId: n % 4 ? 'ada' : 'grace',
    projectId: null,
    title: n % 3 ? `Question ${total - n}` : null,
    requests: 0,
    items: n % 9,
    lastStatus: STATUSES[n % 7] ?? 'completed',
    createdAt: now - (n + 2) * 5_400_000,
    updatedAt: now - (n + 1) * 5_400_000,
    forkedFrom: null,
    lastRequest: '',
    lastAction: n % 3 ? 'send' : 'plan',
    words: n % 2 ? `What is the ${total - n}. thing to know?` : null,
  }));
}
