/**
 * The module `@flow-state-dev/core/errors/suspension-error`.
 */

export * from "./suspension.js";
