// Goes to a place that a value comes from: its block is selected, at the instant at which the value was recorded.
import type { WhySpot } from '../../host/host';
import type { AppModel } from '../../model/app.svelte';

export async function goSpot(app: AppModel, request: string, spot: WhySpot): Promise<void> {
  if (spot.requestId !== request) return app.findRequest(spot.requestId);
  const { path, attempt, seq } = spot;
  const query = attempt == null ? { path } : { instanceId: `${request}:${path}:${attempt}` };
  const found = path ? await app.try(() => app.request.rowOf(query)) : null;
  app.route.go({ seq, ...(found?.instanceId && { block: found.instanceId }) });
}
