// node:assert/strict: the legacy comparisons are the strict ones.

import { strict } from '../assert';

export {
  AssertionError,
  deepStrictEqual,
  deepStrictEqual as deepEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  fail,
  ifError,
  match,
  notDeepStrictEqual,
  notDeepStrictEqual as notDeepEqual,
  notStrictEqual,
  notStrictEqual as notEqual,
  ok,
  rejects,
  strict,
  strictEqual,
  strictEqual as equal,
  throws,
} from '../assert';
export default strict;
