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

/** A caller that is not let in; the author throws it, and nobody asks here who calls. */
export class PrincipalResolutionError extends Error {
  readonly status: number;

  constructor(message: string, { status = 401 }: { status?: number } = {}) {
    super(message);
    this.name = 'PrincipalResolutionError';
    this.status = status;
  }
}

/** A verifier may be made where a file loads; what it verifies comes with requests of a server. */
const verifier = (name: string) => (_settings?: unknown) => (): never => {
  throw new Error(`${name} verifies requests of a server, and none comes here; node:crypto has createHmac`);
};
export const createHmacVerifier = verifier('createHmacVerifier');
export const createHs256JwtVerifier = verifier('createHs256JwtVerifier');

/** The token of an `Authorization` header; null where there is none. */
export function extractBearerToken(header: unknown): string | null {
  return typeof header === 'string' ? (/^bearer +(\S+) *$/i.exec(header)?.[1] ?? null) : null;
}

/** What a file exports, with the flows of its settings in place of them. */
export function withServed(exported: unknown[]): unknown[] {
  return exported.flatMap((one) => (one instanceof HostSettings ? Object.values(one.flows) : [one]));
}
