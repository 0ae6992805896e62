/**
 * The module `@flow-state-dev/core/types`: all types of the module, and the values that stand among them.
 */

export * from "./core.js";

export declare function validatePattern(pattern: string): void;
export declare function resolveCollectionKey(pattern: string, key: string | Record<string, string>): string;
export declare const resolveNamespaceKey: typeof resolveCollectionKey;
export declare function normalizeResourcePath(path: string): string;
export declare function matchesPattern(pattern: string, key: string): boolean;
export declare function getPatternPrefix(pattern: string): string;
export declare function extractPatternParams(pattern: string): string[];
export declare function extractBareTopic(pattern: string, key: string): string;
export declare function isParameterizedPattern(pattern: string): boolean;
export declare function isDeepWildcard(pattern: string): boolean;
export declare function isSingleWildcard(pattern: string): boolean;
/** The fields of an action's input, for forms. */
export declare function serializeActionSchema(schema: unknown): object;
