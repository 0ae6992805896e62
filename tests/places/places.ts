/**
 * One action for each way to fail. A comment with the action's name marks the line that the error must name.
 */

import { defineFlow, handler } from "@flow-state-dev/core";
import { far, farThrow } from "./lib/far";

const u = (x?: any): any => x;
class Own extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Own';
  }
}
interface Thing { a: number }
type Fn = (input: any, ctx: any) => unknown;
const snippets: Record<string, Fn> = {
  readInObject: () => {
    const value = u();
    return {
      a: 1,
      b: 2,
      c: value.deep, // @readInObject
    };
  },
  readInCall: () => {
    const value = u();
    return Math.max(
      1,
      value.deep, // @readInCall
      2,
    );
  },
  readInTemplate: () => {
    const value = u();
    return `one
    two ${value.deep} three`; // @readInTemplate
  },
  readInChain: () => {
    const value = u([1, 2]);
    return value
      .map((x: number) => x)
      .find((x: number) => x > 5)
      .deep; // @readInChain
  },
  callUndefined: () => {
    const value = u({});
    return [
      1,
      value.nothing(), // @callUndefined
    ];
  },
  callMultiline: () => {
    const value = u({});
    value.nothing( // @callMultiline
      1,
      2,
    );
  },
  ternary: () => {
    const value = u();
    return value === null
      ? 1
      : value.deep; // @ternary
  },
  binary: () => {
    const value = u();
    const sum = 1 +
      2 +
      value.deep + // @binary
      3;
    return sum;
  },
  ifCondition: () => {
    const value = u();
    if (
      value !== null &&
      value.deep // @ifCondition
    ) {
      return 1;
    }
    return 2;
  },
  assignTarget: () => {
    const value = u();
    const other = 1;
    value.deep = // @assignTarget
      other;
  },
  throwNew: () => {
    const message = 'm';
    throw new Error( // @throwNew
      message,
    );
  },
  throwOwn: () => {
    throw new Own('own'); // @throwOwn
  },
  throwMade: () => {
    const made = new RangeError('made'); // @throwMade
    const x = 1;
    void x;
    throw made;
  },
  callback: () => {
    return [1, 2].map(
      (x) => {
        const y = u();
        return y.deep + x; // @callback
      },
    );
  },
  asyncAfter: async () => {
    await Promise.resolve();
    const value = u();
    const a = 1;
    return value.deep + a; // @asyncAfter
  },
  asyncObject: async () => {
    const value = u();
    return {
      a: await Promise.resolve(1),
      b: value.deep, // @asyncObject
      c: await Promise.resolve(2),
    };
  },
  asyncTry: async () => {
    try {
      await Promise.resolve();
    } finally {
      await Promise.resolve();
    }
    throw new Error('after try'); // @asyncTry
  },
  asyncLoop: async () => {
    for (const x of [1, 2]) {
      await Promise.resolve(x);
      if (x === 2) {
        throw new Error('loop'); // @asyncLoop
      }
    }
  },
  asyncThen: () => Promise.resolve(u()).then((value) => {
    const z = 1;
    return value.deep + z; // @asyncThen
  }),
  asyncInner: async () => {
    const inner = async () => {
      await Promise.resolve();
      throw new Error('inner'); // @asyncInner
    };
    await inner();
  },
  awaitInArgs: async () => {
    const value = u();
    return Math.max(
      await Promise.resolve(1),
      value.deep, // @awaitInArgs
    );
  },
  optional: () => {
    const value = u({ a: null });
    return value?.a
      .deep; // @optional
  },
  nullish: () => {
    const value = u();
    return (value?.x ?? undefined as any)
      .deep; // @nullish
  },
  arrowExpr: () => u()
    .deep, // @arrowExpr
  json: () => JSON.parse( // @json
    '{bad',
  ),
  nestedFn: () => {
    function deeper(v: any) {
      return v.a.b; // @nestedFn
    }
    const r = deeper({});
    return r;
  },
  generatorFn: () => {
    function* g() {
      yield 1;
      yield u().deep; // @generatorFn
    }
    return [...g()];
  },
  classMethod: () => {
    class A {
      x = 1;
      go() {
        return this.x +
          u().deep; // @classMethod
      }
    }
    return new A().go();
  },
  classField: () => {
    class A {
      y = 2;
      x = u().deep; // @classField
    }
    return new A();
  },
  switchCase: () => {
    const v = u();
    switch (1 as number) {
      case 2:
        return 1;
      case 1:
        return v.deep; // @switchCase
    }
    return 0;
  },
  typed: () => {
    const t = u() as Thing;
    const n: number =
      t.a; // @typed
    return n;
  },
  notDefined: () => {
    const list = [
      1,
      nowhere, // @notDefined
    ];
    return list;
  },
  constAssign: () => {
    const o = Object.freeze({ a: 1 });
    const b = 1;
    (o as any).a = b; // @constAssign
  },
  defaultArg: () => {
    const f = (
      a: any,
      b = a.deep.x, // @defaultArg
    ) => b;
    return f({});
  },
  ctxState: async (_i, ctx) => {
    await Promise.resolve();
    ctx.session.state.x = 1; // @ctxState
  },
  incBad: async (_i, ctx) => {
    const a = 1;
    await ctx.session.incState({ // @incBad
      n: 'x',
    });
    return a;
  },
  literal: () => {
    const value: any = undefined;
    return {
      a: 1,
      b: value.unheardOf, // @literal
    };
  },
  farPlain: (input) => far.plain(input),
  farLater: (input) => far.later(input),
  farThrow: () => farThrow(),
};
const actions: Record<string, any> = {};
for (const [name, execute] of Object.entries(snippets)) {
  actions[name] = { block: handler({ name, execute: execute as any }) };
}
export default defineFlow({ kind: 'places', actions });
