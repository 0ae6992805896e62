// Asks for the payloads of the Call that is looked at, and of the tick around it. It chooses neither.
import type { AppModel } from './app.svelte';
import type { CallFocus } from './calls';

export function askFocus(app: AppModel, request: string, focus: CallFocus): void {
  const [call, tick] = [focus.block.instanceId, focus.tick.instanceId];
  // What a Call asked is answered after the execution that asked it ended.
  const answers = focus.block.status === 'suspended' ? ` of ${app.request.seq}` : '';
  app.call.ask({ request, block: call, stamp: app.stamp(call) + answers });
  app.tick.ask({ request, block: tick, stamp: app.stamp(tick) });
}
