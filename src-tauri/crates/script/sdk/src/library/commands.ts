// Small things that the framework's other packages take of its core.

import type { Block } from '../define/blocks';

declare const console: { warn(text: string): void };
const told = new Set<string>();

/** Warns, of each matter once. */
export function warnOnceDev(matter: string, message: string = matter): void {
  if (told.has(matter)) return;
  told.add(matter);
  console.warn(message);
}

/** The signal of work beside a chain, which outlives whoever asked for it: all that may stop it. */
export const composeSideChainSignal = <S>(_ctx: unknown, signal: S): S => signal;

/** A block as what runs: every block has its `run`. */
export const asRuntime = (block: Block): Block => block;
