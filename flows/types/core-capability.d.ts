/**
 * The module `@flow-state-dev/core/capability`.
 */

export * from "./capabilities.js";
