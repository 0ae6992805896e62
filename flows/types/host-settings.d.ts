/**
 * The settings of a host of the framework, `fsdev.config.ts`, of which only the flows count here.
 */

export interface HostSettings {
  flows: Record<string, unknown>;
  [setting: string]: unknown;
}

/** The flows that a host serves. They are found in `fsdev.config.ts`, where no other file makes them. */
export declare function createFlowState(settings: HostSettings): { flows: Record<string, unknown> };
/** Where a host keeps its data; here that is the database. */
export declare function inMemoryStores(): object;
/** Who calls a host; here whoever runs a flow says so. */
export declare function createBearerSecretPrincipalResolver(settings?: unknown): () => null;
export declare function defaultBodyUserIdPrincipalResolver(): null;
