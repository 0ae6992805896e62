/**
 * Errors that refuse a run or a flow before any block runs: wrong owners, wrong bindings, flows that cannot stand together.
 *
 * A flow cannot cause most of them. They are named so that code which handles errors can tell them apart.
 */

import type { FlowError } from "./errors.js";

/** A session cannot be made as asked. */
export declare class SessionCreateRefusedError extends FlowError {
  readonly status: 400 | 403 | 404;
  readonly field?: string;
}
/** A write to a session field that only its creation may set. */
export declare class ReadonlySessionStateError extends FlowError {}

/** The session belongs to another user. */
export declare class UserBindingMismatchError extends FlowError {}
/** The session belongs to another project. */
export declare class OrgBindingMismatchError extends FlowError {}
export declare class TenantBindingMismatchError extends FlowError {}
/** The session belongs to another flow. */
export declare class FlowInstanceBindingMismatchError extends FlowError {}
/** The request belongs to another user. */
export declare class RequestOwnerMismatchError extends FlowError {}
/** Thrown by `authentication.resolvePrincipal`. */
export declare class PrincipalResolutionError extends FlowError {
  readonly status: number;
}

/** Two flows claim one identity. */
export declare class FlowIdentityConflictError extends FlowError {}
/** Two flows declare one field of user or project state, or one shared resource, in ways that cannot both hold. */
export declare class CrossFlowSchemaConflictError extends FlowError {
  readonly details?: { flows: string[]; scope: string; path: string; reason: string };
}
/** An entry could not be started from within a flow. */
export declare class DispatchRefusedError extends FlowError {
  readonly reason:
    | "no-entry"
    | "session-not-found"
    | "session-not-addressable"
    | "key-occupied"
    | "no-dispatch-operation"
    | "dispatch-rejected"
    | "external-dispatcher";
}
export declare class StaleTaskClaimError extends FlowError {}
/** The host of the flow is set up wrongly. */
export declare class FlowStateConfigError extends FlowError {}
/** The host of the flow has shut down. */
export declare class FlowStateDisposedError extends FlowError {}
