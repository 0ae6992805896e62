// The blocks around a block, as `ctx.sequencer`, `ctx.parent` and `ctx.self` show them.
//
// Facts are asked for when they are looked at: a handle is made for every call that writes a state.

import { native } from './host';
import { StateHandle } from './state';

export type Relation = 'sequencer' | 'self' | 'parent';

interface Facts {
  name: string;
  kind: string;
  instanceId: string;
}

/** Of which call, and which of its relatives. */
const WHICH = Symbol('which');

type Asked = { [WHICH]: { token: number; relation: Relation; facts?: Facts } };

function factsOf(of: Asked): Facts {
  const which = of[WHICH];
  return (which.facts ??= JSON.parse(native.sync('relative.facts', which.token, which.relation) as string) as Facts);
}

const FACTS: PropertyDescriptorMap & ThisType<Asked> = {
  name: { get() { return factsOf(this).name; } },
  kind: { get() { return factsOf(this).kind; } },
  instanceId: { get() { return factsOf(this).instanceId; } },
  /** What it was called with; it may be large. */
  input: {
    get() {
      const { token, relation } = this[WHICH];
      const input = native.sync('relative.input', token, relation);
      return input === undefined ? undefined : (JSON.parse(input) as unknown);
    },
  },
  /** As it is logged. */
  toJSON: { value() { return { ...factsOf(this), input: (this as unknown as { input: unknown }).input }; } },
};

export class Relative {
  declare readonly [WHICH]: Asked[typeof WHICH];

  constructor(token: number, relation: Relation) {
    this[WHICH] = { token, relation };
  }
}

export class StatefulRelative extends StateHandle {
  declare readonly [WHICH]: Asked[typeof WHICH];

  constructor(token: number, relation: Relation) {
    super(token, relation, `ctx.${relation}`);
    this[WHICH] = { token, relation };
  }
}

for (const made of [Relative, StatefulRelative]) Object.defineProperties(made.prototype, FACTS);
