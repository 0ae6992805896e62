// Patterns of collections and their keys: `files/*`, `files/**`, `[topic]/notes`.

import { describeValue } from '../base/arguments';
import { currentToken, native } from '../base/host';

const isParameter = (part: string): boolean => /^\[\w+\]$/.test(part);

/** Refuses what is no pattern, in the engine's words. */
export function validatePattern(pattern: string): void {
  if (typeof pattern !== 'string') throw new TypeError(`A pattern is a text, got ${describeValue(pattern)}`);
  native.sync('pattern', currentToken(), pattern);
}

export const isParameterizedPattern = (pattern: string): boolean => pattern.split('/').some(isParameter);
export const isDeepWildcard = (pattern: string): boolean => pattern.endsWith('/**');
export const isSingleWildcard = (pattern: string): boolean => pattern.includes('*') && !pattern.includes('**');

export function extractPatternParams(pattern: string): string[] {
  return pattern
    .split('/')
    .filter(isParameter)
    .map((part) => part.slice(1, -1));
}

/** What stands before the first part that varies. */
export function getPatternPrefix(pattern: string): string {
  const parts = pattern.split('/');
  const varies = parts.findIndex((part) => part.includes('*') || isParameter(part));
  return parts.slice(0, varies < 0 ? parts.length : varies).join('/');
}

/** A key without what its pattern begins with. */
export function extractBareTopic(pattern: string, key: string): string {
  const prefix = getPatternPrefix(pattern);
  if (prefix === '') return key;
  if (key === prefix) return '';
  return key.startsWith(`${prefix}/`) ? key.slice(prefix.length + 1) : key;
}

/** A path with `/` between its parts and none around it. What leads elsewhere is refused. */
export function normalizeResourcePath(path: string): string {
  if (typeof path !== 'string' || path === '') throw new Error('Resource key must be a non-empty string');
  if (/[\u0000-\u001f]/.test(path)) throw new Error('Resource key must not contain control characters');
  const parts = path.split(/[\\/]+/).filter((part) => part !== '');
  if (parts.length === 0) throw new Error('Resource key resolves to empty after normalization');
  if (parts.includes('..')) throw new Error('Resource key must not contain path traversal (..)');
  return parts.join('/');
}

export function matchesPattern(pattern: string, key: string): boolean {
  const [wanted, given] = [pattern.split('/'), key.split('/')];
  for (const [at, part] of wanted.entries()) {
    if (part === '**') return given.length > at && given[at] !== '';
    if (!given[at]) return false;
    if (part !== '*' && !isParameter(part) && part !== given[at]) return false;
  }
  return wanted.length === given.length;
}

/** Where an instance lies: `files/*` and `a.md` give `files/a.md`, `[topic]/notes` and `{ topic }` the named parts. */
export function resolveCollectionKey(pattern: string, key: string | Record<string, string>): string {
  const names = extractPatternParams(pattern);
  if (typeof key === 'string') {
    if (names.length > 0) {
      throw new Error(`Pattern "${pattern}" requires an object key with parameters, not a string`);
    }
    return [getPatternPrefix(pattern), normalizeResourcePath(key)].filter((part) => part !== '').join('/');
  }
  if (names.length === 0) throw new Error(`Pattern "${pattern}" has no parameters but received an object key`);
  const parts = pattern.split('/').map((part) => {
    if (!isParameter(part)) return part;
    const name = part.slice(1, -1);
    const value = key[name];
    if (value === undefined) throw new Error(`Missing parameter "${name}" for pattern "${pattern}"`);
    if (/[\\/]/.test(value) || value === '..') throw new Error('Path segment must not contain separators');
    return value;
  });
  return parts.join('/');
}

/** Why no instance can have a key; nothing where one can. An app is not asked for what cannot be. */
export function keyMismatch(pattern: string, key: string): string | undefined {
  try {
    if (matchesPattern(pattern, resolveCollectionKey(pattern, key))) return undefined;
  } catch (error) {
    return (error as Error).message;
  }
  return `the key ${JSON.stringify(key)} does not match the pattern "${pattern}"`;
}
