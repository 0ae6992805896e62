// Requests the payloads of the focused Call and of its tick. Does not choose them.
import type { AppModel } from './app.svelte';
import type { CallFocus } from './calls';

export function askFocus(app: AppModel, request: string, focus: CallFocus): void {
  const [call, tick] = [focus.block.instanceId, focus.tick.instanceId];
  // The question of a Call is answered after its execution has ended.
  const answers = focus.block.status === 'suspended' ? ` of ${app.request.seq}` : '';
  app.call.ask({ request, block: call, stamp: app.stamp(call) + answers });
  app.tick.ask({ request, block: tick, stamp: app.stamp(tick) });
}
