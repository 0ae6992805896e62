// Each case throws. Node.js and the flow beside this file run the same lines.

const cost = 42;
const shop = { items: [1, 2], n: 1, name: 'shop', find: () => 1, none: undefined };
const key = 'total';
const nothing = null;
const missing = undefined;
const same = (value) => value;
class Basket {
  #total = 1;
  constructor(size) {
    this.size = size;
  }
  get sum() {
    return this.size.add();
  }
  count() {
    return this.lines.length;
  }
  static make() {
    return new this.Missing();
  }
  static total(of) {
    return of.#total;
  }
  static put(into) {
    into.#total = 1;
  }
}
class Derived extends Basket {
  count() {
    return super.nope(1);
  }
}
class Locked {
  #open() {
    return 1;
  }
  get #key() {
    return 1;
  }
  static call(of) {
    return of.#open();
  }
  static get(of) {
    return of.#key;
  }
}
const rows = [{ id: 1 }, { id: null }];
const call = (text, handler) => handler(text);
const failure = (message, options) => Object.assign(new Error(message), options);
const failAt = (text, at) => {
  throw new Error(`${text} at ${at}`, { cause: same(at) });
};
function* counting() {
  yield 1;
  cost.next();
}

export const cases = {
  // Calls.
  memberCall: () => cost.split(' '),
  memberCallStatement: () => {
    cost.split(' ');
  },
  nestedOuter: () => {
    const parts = cost.split(String(shop.find(1)));
    return parts;
  },
  nestedInner: () => {
    const parts = String(same(cost.split(shop.find(1))));
    return parts;
  },
  nestedZero: () => same(shop.find().first()),
  twice: () => shop.find()(),
  twiceWithArguments: () => shop.find(1)(2),
  nameCall: () => cost(),
  nameCallArguments: () => cost(1, shop.items),
  deep: () => shop.items.first.second(),
  deepCall: () => shop.items.first(),
  computed: () => shop[key](),
  computedText: () => shop['total'](1),
  computedNumber: () => shop.items[7](),
  computedCall: () => shop[same(key)](shop),
  onText: () => 'a text'.nope(),
  onNumber: () => (1).nope(),
  onList: () => [].nope(),
  onObject: () => ({}).nope(),
  onNew: () => new Basket().nope(),
  onThis: () => new Basket(1).count(),
  inGetter: () => new Basket(1).sum,
  inSuper: () => new Derived().count(),
  staticThis: () => Basket.make(),
  sequence: () => (0, shop.n)(),
  either: () => (shop.none || shop.n)(),
  optional: () => shop?.nope(),
  optionalCall: () => shop.n?.(),
  optionalDeep: () => shop.items?.first.second(),
  inCallback: () => shop.items.map((item) => item.toUpper()),
  inCallbackOf: () => {
    shop.items.forEach(function each(item) {
      cost.push(item);
    });
  },
  inCondition: () => {
    if (shop.none === undefined && shop.ready()) return 1;
    return 2;
  },
  inTemplate: () => `costs ${cost.toFixd(2)} euros`,
  inArgument: () => Math.max(1, shop.size(), 3),
  inObject: () => ({ a: 1, b: shop.total(), c: 2 }),
  lastOfChain: () => shop.items.map(same).filter(Boolean).last(),
  manyLines: () =>
    shop.items
      .map((item) => item + 1)
      .filter(Boolean)
      .first(),
  generatorBody: () => [...counting()],
  tagged: () => shop.n`text ${shop.find()}`,
  construct: () => new cost(),
  constructMember: () => new shop.Missing(shop.find(1)),
  constructArrow: () => new same(1),
  classCalled: () => Basket(1),
  nativeCallback: () => shop.items.map(3),
  sortBy: () => shop.items.sort(3),
  promiseOfNothing: () => new Promise(),
  async afterAwait() {
    await Promise.resolve(1);
    cost.split(' ');
  },
  async awaited() {
    return await same(await cost.load(await same(1)));
  },
  async asyncCallback() {
    await Promise.all(shop.items.map(async (item) => {
      await null;
      return item.nope();
    }));
  },
  // Reads and writes.
  readUndefined: () => shop.none.length,
  readNull: () => nothing.length,
  readDeep: () => shop.first.second.third,
  readComputed: () => shop.none[key],
  readIndex: () => shop.none[0],
  readOfCall: () => same(missing).name,
  readOfCallee: () => shop.none.run(1),
  readInArgument: () => same(shop.none.length),
  writeUndefined: () => {
    shop.none.length = 1;
  },
  writeNull: () => {
    nothing.x = same(1);
  },
  frozen: () => {
    Object.freeze(shop.items.slice().concat({})).x = 1;
  },
  async readAfterAwait() {
    const found = await Promise.resolve(undefined);
    return found.name;
  },
  readAfterCall: () => shop.find(1).first.second,
  readCallOfCall: () => shop.items.map(same)[9].name,
  async readInAsync() {
    const { rows } = await Promise.resolve({});
    return rows.map((row) => row.id);
  },
  // Iteration and taking apart.
  spreadList: () => [...cost],
  spreadMember: () => [0, ...shop.n],
  spreadCall: () => Math.max(...cost),
  spreadNothing: () => Math.max(1, ...shop.none),
  loop: () => {
    for (const one of cost) same(one);
  },
  loopMember: () => {
    for (const one of shop.none) same(one);
  },
  takeList: () => {
    const [first] = cost;
    return first;
  },
  takeListNothing: () => {
    const [first] = shop.none;
    return first;
  },
  takeListParameter: () => (([first]) => first)(),
  takeNull: () => {
    const { a } = null;
    return a;
  },
  takeUndefined: () => {
    const { a } = undefined;
    return a;
  },
  takeParameter: () => (({ a }) => a)(),
  newMap: () => new Map(5),
  takeListInner: () => rows.map(({ a: [x] }) => x),
  takeRest: () => {
    const { a, ...rest } = null;
    return [a, rest];
  },
  readIteratorNothing: () => shop.none[Symbol.iterator],
  readComputedSymbol: () => {
    const iterator = Symbol.iterator;
    return shop.none[iterator];
  },
  callOfArrow: () => call('x', () => (() => 1)()()),
  // Operators.
  inNumber: () => 'a' in 42,
  instanceofNumber: () => shop instanceof 42,
  instanceofObject: () => shop instanceof shop,
  bigMix: () => 1n + shop.n,
  bigDivision: () => 1n / 0n,
  bigMath: () => Math.max(1n),
  symbolText: () => Symbol('a') + '',
  tdz: () => {
    const read = () => same(later);
    read();
    const later = same(shop);
  },
  tooLong: () => {
    let text = 'x'.repeat(1 << 20);
    for (;;) text += text;
  },
  frozenWrite: () => {
    const one = Object.freeze({ a: 1 });
    one.a = 2;
  },
  foreignMember: () => Basket.total({}),
  foreignWrite: () => Basket.put({}),
  async loopAwait() {
    for await (const one of cost) same(one);
  },
  unknown: () => unknownName,
  unknownCall: () => unknownName(1),
  extendsNumber: () => {
    class Child extends null.parent {}
    return Child;
  },
  // Built-in functions.
  json: () => JSON.parse('{"a":1,}'),
  jsonEmpty: () => JSON.parse(''),
  jsonWord: () => JSON.parse('hello'),
  jsonUndefined: () => JSON.parse(undefined),
  jsonLong: () => JSON.parse('{"a":1,"bbbbbbbbbbbbbbbbbbbbbbbb":oops,"cccccccccccccccccccccc":1}'),
  circular: () => {
    const own = { a: {} };
    own.a.own = own;
    JSON.stringify(own);
  },
  bigJson: () => JSON.stringify({ a: 1n }),
  regex: () => new RegExp('('),
  regexClass: () => new RegExp('[a'),
  regexFlags: () => new RegExp('a', 'zz'),
  repeat: () => 'a'.repeat(-1),
  listLength: () => new Array(-1),
  fixed: () => (1).toFixed(101),
  radix: () => (1).toString(1),
  date: () => new Date(NaN).toISOString(),
  uri: () => decodeURIComponent('%'),
  reduce: () => [].reduce((a) => a),
  keys: () => Object.keys(undefined),
  bigText: () => BigInt('z'),
  generics: () => new Map([[1, 2]]).get(1).nope(3),
  negated: () => !cost.isFree(),
  inReturnOfCall: () => same(1) + cost.add(2),
  inElse: () => (shop.none ? 1 : shop.n.call(1, 2)),
  inSwitch: () => {
    switch (shop.kind()) {
      default:
        return 1;
    }
  },
  inWhile: () => {
    while (shop.next(1)) same(1);
  },
  inFinally: () => {
    try {
      same(1);
    } finally {
      shop.close(1);
    }
  },
  caughtAndThrown: () => {
    try {
      cost.split(',');
    } catch (error) {
      throw error;
    }
  },
  defaultArgument: () => ((a = cost.first()) => a)(),
  field: () => new (class {
    value = shop.valueOf2(1);
  })(),
  privateMethod: () => new (class {
    #part() {
      return cost.part(1);
    }
    run() {
      return this.#part();
    }
  })().run(),
  immediate: () => (function named() {
    return cost.immediately(1);
  })(),
  // Characters of more than one byte before the place.
  umlauts: () => [same('äöü — 日本'), cost.grüße(1)],
  emoji: () => same('🎉🎉', shop.party('🎉'), 1),
  emojiRead: () => same('🎉', shop.none.ünder),
  // The author's own errors stay, at their own places.
  own: () => {
    throw new TypeError('not a function');
  },
  ownLines: () => {
    throw new Error(
      same('on') +
        key +
        same(' lines'),
    );
  },
  ownMade: () => {
    throw failure('made', {
      by: same(1),
    });
  },
  ownMoved: () => {
    const error = new RangeError('moved');
    const text = 'not here';
    void text;
    throw error;
  },
  movedNative: () => {
    const map = new Map(5);
    void 0;
    return map;
  },
  movedCall: () => {
    const found = shop.found(1);
    void 0;
    return found;
  },
  ownWithout: () => {
    throw new Error();
  },
  ownCode: () => {
    throw Object.assign(new Error('with a code'), { code: same('mine') });
  },
  ownCause: () => {
    throw new Error('outer', { cause: new TypeError(same('inner')) });
  },
  ownInCall: () => same(
    1,
    shop.items.map((item) => {
      if (item === 1) throw new RangeError(`${item} of ${shop.items.join()}`);
      return item;
    }),
  ),
  ownEmoji: () => same('🎉ä', failAt('🎉', 1)),
  async ownLater() {
    await same(null);
    throw new Error(await same('later'));
  },
  ownRejected: () => Promise.reject(new Error(same('rejected'))),
  loopAfterObject: () => {
    const own = {};
    for (const item of own.list) same(item);
  },
  loopAfterNumber: () => {
    const own = 5;
    for (const item of own) same(item);
  },
  spreadAfterObject: () => {
    const own = {};
    return [...own.list];
  },
  spreadAfterNumber: async () => {
    const own = 5;
    const copy = [...own];
    return copy;
  },
  uriEncoded: () => encodeURIComponent('\ud800'),
  trimOfNothing: () => String.prototype.trim.call(nothing),
  restOfNothing: () => {
    const { ...rest } = shop.nothing;
    const items = shop.items;
    return [rest, items];
  },
  frozenDelete: () => {
    const one = Object.freeze({ a: 1 });
    delete one.a;
  },
  mapOfNumbers: () => new Map([1]),
  entriesOfNumbers: () => Object.fromEntries([1]),
  weakMapOfNumbers: () => new WeakMap([1]),
  keysOfNumber: () => Reflect.ownKeys(1),
  prototypeOfNumber: () => Reflect.getPrototypeOf(1),
  bareBranch: () => {
    const [first] = shop.items;
    let second;
    if (first) [second] = shop.none;
    return second;
  },
  bareLoop: () => {
    const { items } = shop;
    let copy;
    for (const item of items) copy = [item, ...nothing];
    return copy;
  },
  labelledLoop: () => {
    const [first] = shop.items;
    outer: for (const item of shop.none) {
      for (;;) if (item === first) continue outer;
    }
  },
  foreignMethod: () => Locked.call({}),
  foreignGetter: () => Locked.get({}),
};
