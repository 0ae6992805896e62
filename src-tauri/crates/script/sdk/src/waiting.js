// What waits by the runtime's own `await`: it makes fewer objects than any `then`, but forgets whose code waits.
//
// Evaluated by itself before any bundle, because bundles are lowered to no native async functions. Must not:
// run a line of a flow without having said as which block.

({ currentToken, enter, leave }) => ({
  /** Runs what an `async` function was lowered to, as the block that called it. */
  async drive(body, self, args) {
    const token = currentToken();
    const parts = body.apply(self, args);
    let part = parts.next();
    while (!part.done) {
      let told;
      let isKept = true;
      try {
        told = await part.value;
      } catch (error) {
        told = error;
        isKept = false;
      }
      const before = enter(token);
      try {
        part = isKept ? parts.next(told) : parts.throw(told);
      } finally {
        leave(before);
      }
    }
    return part.value;
  },

  /** Tells how a promise ended, as the block behind `token`; `of` says of what, and comes back first. */
  async tell(token, promise, of, kept, broken) {
    let told;
    let isKept = true;
    try {
      told = await promise;
    } catch (error) {
      told = error;
      isKept = false;
    }
    const before = enter(token);
    try {
      (isKept ? kept : broken)(of, told);
    } finally {
      leave(before);
    }
  },
})
