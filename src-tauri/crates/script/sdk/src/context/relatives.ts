// The blocks around a block, as `ctx.sequencer`, `ctx.parent` and `ctx.self` show them.
//
// Facts are asked for when they are looked at: a handle is made for every call that writes a state.

import { atEnd, native } from '../base/host';
import { StateHandle, WHOSE } from './state';

export type Relation = 'sequencer' | 'self' | 'parent';

/** What errors call them. */
const LABELS: Record<Relation, string> = { sequencer: 'ctx.sequencer', self: 'ctx.self', parent: 'ctx.parent' };

interface Facts {
  name: string;
  kind: string;
  instanceId: string;
}

/** Of which call, and which of its relatives. */
type Asked = { [WHOSE]: { token: number; target: string; facts?: Facts } };

function factsOf(of: Asked): Facts {
  const whose = of[WHOSE];
  return (whose.facts ??= JSON.parse(native.sync('relative.facts', whose.token, whose.target) as string) as Facts);
}

const FACTS: PropertyDescriptorMap & ThisType<Asked> = {
  name: {
    get() {
      return factsOf(this).name;
    },
  },
  kind: {
    get() {
      return factsOf(this).kind;
    },
  },
  instanceId: {
    get() {
      return factsOf(this).instanceId;
    },
  },
  /** What it was called with; it may be large. */
  input: {
    get() {
      const { token, target } = this[WHOSE];
      const input = native.sync('relative.input', token, target);
      return input === undefined ? undefined : (JSON.parse(input) as unknown);
    },
  },
  /** As it is logged. */
  toJSON: {
    value() {
      return { ...factsOf(this), input: (this as unknown as { input: unknown }).input };
    },
  },
};

export class Relative {
  declare readonly [WHOSE]: Asked[typeof WHOSE];

  constructor(token: number, relation: Relation) {
    this[WHOSE] = { token, target: relation };
  }
}

/** From here on a handle names its block itself: what it was relative to has ended, and another block may have it. */
function byInstance(handle: StatefulRelative): void {
  try {
    const { instanceId } = factsOf(handle as unknown as Asked);
    handle[WHOSE].target = `target:${instanceId.slice(instanceId.indexOf(':') + 1)}`;
  } catch {
    // The block was given up while its function ran: nobody comes after it.
  }
}

export class StatefulRelative extends StateHandle {
  constructor(token: number, relation: Relation) {
    super(token, relation, LABELS[relation]);
    atEnd(token, () => byInstance(this));
  }
}

for (const made of [Relative, StatefulRelative]) Object.defineProperties(made.prototype, FACTS);
