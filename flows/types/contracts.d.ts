/**
 * `@flow-state-dev/contracts`: the core's types, and what works on items and plain values.
 */

export * from "./core.js";
export * from "./item-functions.js";
export * from "./value-functions.js";
