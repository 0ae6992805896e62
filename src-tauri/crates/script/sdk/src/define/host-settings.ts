// `createFlowState`: the settings of a host of the framework, which list the flows that it serves.
//
// Must not: read anything of them but the flows. Where models, stores and keys are is said in flowglass.json.

import { describeValue } from '../base/arguments';
import type { Config } from './blocks';

export class HostSettings {
  constructor(readonly flows: Record<string, unknown>) {}

  /** Hosts take in flows later, too; what is there when the file has been read is what can be run. */
  register(flow: unknown): void {
    this.flows[`registered ${Object.keys(this.flows).length}`] = flow;
  }
}

export function createFlowState(settings: Config): HostSettings {
  const { flows } = (settings ?? {}) as { flows?: unknown };
  if (typeof flows !== 'object' || flows === null) {
    const given = describeValue(flows);
    throw new Error(`createFlowState needs "flows", like createFlowState({ flows: { chat } }), got ${given}`);
  }
  return new HostSettings({ ...flows });
}

/** Where a host keeps its data: here that is the database. */
export const inMemoryStores = (): object => ({});

/** Who calls a host: here whoever runs a flow says so, by --user, and no request has a header. */
const nobody = (): null => null;
export const createBearerSecretPrincipalResolver = (_settings?: unknown): (() => null) => nobody;
export const defaultBodyUserIdPrincipalResolver = nobody;

/** What a file exports, with the flows of its settings in place of them. */
export function withServed(exported: unknown[]): unknown[] {
  return exported.flatMap((one) => (one instanceof HostSettings ? Object.values(one.flows) : [one]));
}
