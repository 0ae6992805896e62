// What waits by the runtime's own `await`: it makes fewer objects than any `then`, but forgets whose code waits.
//
// Evaluated by itself before any bundle, because bundles are lowered to no native async functions. Must not:
// run a line of a flow without having said as which block.

({ currentCode, enter, leave, askedAsNow, promised, isAside }) => {
  const { Promise } = globalThis;

  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

  /** The next part of a lowered function, with all that is looked up of what it waits for or returns. */
  function step(parts, isKept, told) {
    const part = isKept ? parts.next(told) : parts.throw(told);
    const { value } = part;
    if (isObject(value)) part.value = part.done ? askedAsNow(value) : promised(Promise, value);
    return part;
  }

  return {
    /** Runs what an `async` function was lowered to, as the block that called it. */
    async drive(body, self, args) {
      const parts = body.apply(self, args);
      let part = step(parts, true, undefined);
      // What a part began to carry is carried by the parts after it, and of the first one by its caller, too.
      let code = currentCode();
      while (!part.done) {
        let told;
        let isKept = true;
        try {
          told = await part.value;
        } catch (error) {
          told = error;
          isKept = false;
        }
        // An expression of a question goes no further: what it did later would change what the statements after see.
        if (isAside(code)) await new Promise(() => {});
        const before = enter(code);
        try {
          part = step(parts, isKept, told);
          code = currentCode();
        } finally {
          leave(before);
        }
      }
      return part.value;
    },

    /** Tells how a promise ended, as the block behind `token`; `of` says of what. */
    async tell(token, promise, of, kept, broken) {
      let told;
      let isKept = true;
      try {
        told = await promise;
      } catch (error) {
        told = error;
        isKept = false;
      }
      if (isAside(token)) return;
      const before = enter(token);
      try {
        (isKept ? kept : broken)(of, told);
      } finally {
        leave(before);
      }
    },
  };
};
