// Whether a request is still there: its session may have been deleted, in this window or by another process.
import { asFault, type Fault, type Host, type RequestRow } from '../host/host';

/** What a person is told of a request that is gone; null of one that is there. */
export async function goneFault(host: Host, { id, sessionId }: RequestRow): Promise<Fault | null> {
  const isGone = await host.requests({ session: sessionId, limit: 1, offset: 0 }).then(
    (rows) => rows.length === 0,
    (thrown) => asFault(thrown).kind === 'notFound',
  );
  const message = `Request ${id} was deleted with its session; this is what was read of it.`;
  return isGone ? { kind: 'notFound', message } : null;
}
