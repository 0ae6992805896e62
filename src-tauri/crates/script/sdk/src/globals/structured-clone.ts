// `structuredClone`, with what Node copies and refuses.

const { toString } = Object.prototype;

/** An error as a browser's, which are told apart by their names. */
export function domError(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

function refused(what: string): Error {
  return domError('DataCloneError', `${what} could not be cloned.`);
}

const ERRORS = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
/** Objects whose content no copy can have. */
const REFUSED = [WeakMap, WeakSet, WeakRef, Promise];

/** The whole of an array's memory is copied once, so that arrays that share it share the copy. */
function copyOfView(view: ArrayBufferView, copy: (value: unknown) => unknown): ArrayBufferView {
  const buffer = copy(view.buffer) as ArrayBuffer;
  if (view instanceof DataView) return new DataView(buffer, view.byteOffset, view.byteLength);
  // Of `Buffer` and other classes of the flow, the array below.
  let proto = Object.getPrototypeOf(view) as { constructor: unknown };
  const arrays = Object.getPrototypeOf(Uint8Array.prototype) as object;
  while (Object.getPrototypeOf(proto) !== arrays) proto = Object.getPrototypeOf(proto) as typeof proto;
  const Kind = proto.constructor as new (buffer: ArrayBuffer, at: number, length: number) => ArrayBufferView;
  return new Kind(buffer, view.byteOffset, (view as Uint8Array).length);
}

function copyOfError(error: Error, copy: (value: unknown) => unknown, seen: Map<unknown, unknown>): Error {
  const Kind = ERRORS.find((one) => one.name === error.name) ?? Error;
  const made = Object.create(Kind.prototype) as Error;
  seen.set(error, made);
  for (const field of ['stack', 'message', 'cause'] as const) {
    if (!Object.hasOwn(error, field)) continue;
    const value = field === 'cause' ? copy(error.cause) : String(error[field]);
    Object.defineProperty(made, field, { value, writable: true, configurable: true });
  }
  return made;
}

export function structuredCloneOf<T>(value: T): T {
  const seen = new Map<unknown, unknown>();
  const known = <V>(original: unknown, made: V): V => {
    seen.set(original, made);
    return made;
  };
  const copy = (original: unknown): unknown => {
    if (typeof original === 'symbol' || typeof original === 'function') throw refused(String(original));
    if (typeof original !== 'object' || original === null) return original;
    if (seen.has(original)) return seen.get(original);
    if (original instanceof Date) return known(original, new Date(original.getTime()));
    if (original instanceof Map) {
      const map = known(original, new Map());
      original.forEach((v, k) => map.set(copy(k), copy(v)));
      return map;
    }
    if (original instanceof Set) {
      const set = known(original, new Set());
      original.forEach((v) => set.add(copy(v)));
      return set;
    }
    if (original instanceof ArrayBuffer) return known(original, original.slice(0));
    if (ArrayBuffer.isView(original)) return known(original, copyOfView(original, copy));
    if (original instanceof RegExp) return known(original, new RegExp(original.source, original.flags));
    if (original instanceof Error) return copyOfError(original, copy, seen);
    if (/^\[object (Boolean|Number|String|BigInt)\]$/.test(toString.call(original))) {
      const isBoxed = [Boolean, Number, String, BigInt].some(
        (one) => original instanceof (one as unknown as typeof Number),
      );
      if (isBoxed) return known(original, Object((original as unknown as number).valueOf()));
    }
    const kind = REFUSED.find((one) => original instanceof one);
    if (kind) throw refused(`#<${kind.name}>`);
    const target = known(original, (Array.isArray(original) ? [] : {}) as Record<string, unknown>);
    // Its last places may be empty.
    if (Array.isArray(original)) target.length = original.length;
    for (const key of Object.keys(original)) target[key] = copy((original as Record<string, unknown>)[key]);
    return target;
  };
  return copy(value) as T;
}
