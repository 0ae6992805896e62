/**
 * Errors that refuse a flow before any block runs.
 */

import type { FlowError } from "./errors.js";

/** A definition and its instance claim different identities. */
export declare class FlowIdentityConflictError extends FlowError {}
