// What a run form asks for: an action or an internal entry is run, any other entry fired.
import type { FlowRow, Host, Started } from '../../host/host';
import { isFired, type Runnable } from '../../model/runnables';

export type Wanted = { user: string; session: string; project: string; input: unknown; mock: boolean };

export function send(host: Host, flow: FlowRow, action: Runnable, wanted: Wanted): Promise<Started> {
  const named = (text: string) => text.trim() || null;
  const common = {
    flow: flow.kind,
    sessionId: named(wanted.session),
    projectId: named(wanted.project),
    mock: wanted.mock,
    // Left out is no input; `null` is one.
    ...(wanted.input !== undefined && { input: wanted.input }),
  };
  if (isFired(action)) return host.trigger({ ...common, entry: action.name, userId: named(wanted.user) });
  const internal = action.entry !== undefined;
  return host.startRun({ ...common, action: action.name, internal, userId: wanted.user.trim() });
}

/** What an entry takes, in words for its form. */
export function hint({ entry }: Runnable): string {
  if (entry?.type === 'webhook') {
    return 'The event: its payload, or { "payload": …, "headers": …, "deliveryId": … }. The binding makes the input of it.';
  }
  if (entry?.type === 'chat') return 'The event, as the bot hands it over. The binding makes the input of it.';
  if (entry?.type === 'schedule') {
    return 'Nothing, for the schedule’s own input; another input in its place; or { "nominalFireTime": "…" }.';
  }
  return '';
}
