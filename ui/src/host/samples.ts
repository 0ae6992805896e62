// Sample content for the recorded host: older sessions, of which only the rows are there, so that search and paging have
// something to work on; and how coding agents would reach it.
import type { AgentAccess, ListedSession } from './host';

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

export function agentAccess(isOpen: boolean): AgentAccess {
  const server = { command: 'flowglass', args: ['mcp', '--dir', '/home/ada/flows'] };
  const entry = JSON.stringify({ mcpServers: { flowglass: server } }, null, 2);
  const endpoint = isOpen ? { url: 'http://127.0.0.1:4312/mcp', token: '5f1c'.repeat(12) } : null;
  return { endpoint, mayRun: true, clients: [{ name: 'claudeCode', file: '.mcp.json', entry }] };
}
