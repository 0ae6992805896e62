// node:util/types: what a value is, by the runtime's own tags.

import { native } from '../../base/host';

const tag = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);
const isTagged =
  (...tags: string[]) =>
  (value: unknown): boolean =>
    typeof value === 'object' && value !== null && tags.includes(tag(value));
/** Whether a value is an instance of a class of the runtime, whatever tag it gives itself. */
const isA =
  (of: abstract new (...args: never[]) => unknown) =>
  (value: unknown): boolean =>
    value instanceof of;
const isArray = (name: string) => (value: unknown): boolean => ArrayBuffer.isView(value) && tag(value) === name;

export const isProxy = (value: unknown): boolean => native.isProxy(value);
export const isDate = isTagged('Date');
export const isRegExp = isTagged('RegExp');
export const isMap = isA(Map);
export const isSet = isA(Set);
export const isWeakMap = isA(WeakMap);
export const isWeakSet = isA(WeakSet);
export const isPromise = isA(Promise);
export const isNativeError = isA(Error);
export const isArrayBuffer = isA(ArrayBuffer);
export const isAnyArrayBuffer = isTagged('ArrayBuffer', 'SharedArrayBuffer');
export const isArrayBufferView = (value: unknown): boolean => ArrayBuffer.isView(value);
export const isDataView = isTagged('DataView');
export const isTypedArray = (value: unknown): boolean => ArrayBuffer.isView(value) && !isDataView(value);
export const isUint8Array = isArray('Uint8Array');
export const isUint8ClampedArray = isArray('Uint8ClampedArray');
export const isUint16Array = isArray('Uint16Array');
export const isUint32Array = isArray('Uint32Array');
export const isInt8Array = isArray('Int8Array');
export const isInt16Array = isArray('Int16Array');
export const isInt32Array = isArray('Int32Array');
export const isFloat32Array = isArray('Float32Array');
export const isFloat64Array = isArray('Float64Array');
export const isGeneratorFunction = (value: unknown): boolean => typeof value === 'function' && /Generator/.test(tag(value));
export const isGeneratorObject = isTagged('Generator');
// `async` functions are lowered, so that only their sources would tell.
export const isAsyncFunction = (value: unknown): boolean => typeof value === 'function' && /^Async/.test(tag(value));
export const isNumberObject = isTagged('Number');
export const isStringObject = isTagged('String');
export const isBooleanObject = isTagged('Boolean');
export const isSymbolObject = isTagged('Symbol');
export const isBigIntObject = isTagged('BigInt');
export const isBoxedPrimitive = isTagged('Number', 'String', 'Boolean', 'Symbol', 'BigInt');
export const isMapIterator = isTagged('Map Iterator');
export const isSetIterator = isTagged('Set Iterator');
export const isArgumentsObject = isTagged('Arguments');

export default {
  isAnyArrayBuffer,
  isArgumentsObject,
  isArrayBuffer,
  isArrayBufferView,
  isAsyncFunction,
  isBigIntObject,
  isBooleanObject,
  isBoxedPrimitive,
  isDataView,
  isDate,
  isFloat32Array,
  isFloat64Array,
  isGeneratorFunction,
  isGeneratorObject,
  isInt16Array,
  isInt32Array,
  isInt8Array,
  isMap,
  isMapIterator,
  isNativeError,
  isNumberObject,
  isPromise,
  isProxy,
  isRegExp,
  isSet,
  isSetIterator,
  isStringObject,
  isSymbolObject,
  isTypedArray,
  isUint16Array,
  isUint32Array,
  isUint8Array,
  isUint8ClampedArray,
  isWeakMap,
  isWeakSet,
};
