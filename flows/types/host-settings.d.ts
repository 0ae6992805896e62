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
/** A caller that is not let in. */
export declare class PrincipalResolutionError extends Error {
  constructor(message: string, options?: { status?: number });
  readonly status: number;
}
/** Verifiers of requests, which nothing sends here: they can be made, and fail when they are called. */
export declare function createHmacVerifier(
  settings: unknown,
): (rawBody: string, signature: string | null | undefined) => boolean;
export declare function createHs256JwtVerifier(
  settings: unknown,
): (token: string | null | undefined) => Record<string, unknown> | null;
/** The token of an `Authorization` header. */
export declare function extractBearerToken(header: string | null | undefined): string | null;

/** The organisation of requests that name none. */
export declare const DEFAULT_ORG_ID = "__fsd_default_org__";
/** A text that is not blank. */
export declare function isValidOrgId(value: unknown): value is string;
