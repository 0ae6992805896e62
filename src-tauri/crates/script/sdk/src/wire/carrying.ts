// What a block's function carries beside its token, between the functions that the engine calls one by one.
//
// `AsyncLocalStorage.enterWith` before the first `await` of a function is seen by whoever called it, which for a block
// is the chain around it: its steps that follow, and all below them. Must not: cost anything where no flow does that.

import { carried, codeThat, currentCode, native } from '../base/host';

/** By request and path of the chain. */
const published = new Map<string, unknown>();

interface Place {
  requestId: string;
  path: string;
  kind: string;
}

function placeOf(token: number): Place | undefined {
  try {
    return JSON.parse(native.sync('info', token, '') as string) as Place;
  } catch {
    // A block that ended while its function ran: nobody comes after it.
    return undefined;
  }
}

const around = (path: string): string | undefined => /^(.*)\/[^/]*$/s.exec(path)?.[1];

/** The code that a function of the block behind `token` starts as. */
export function codeFor(token: number): number {
  if (published.size === 0) return token;
  const place = placeOf(token);
  for (let path = place?.path; path !== undefined; path = around(path)) {
    const carries = published.get(`${place?.requestId} ${path}`);
    if (carries !== undefined) return codeThat(carries, token);
  }
  return token;
}

/** Told when the first part of a function ran that started as `code`. */
export function publish(code: number, token: number): void {
  if (currentCode() === code) return;
  const place = placeOf(token);
  if (!place) return;
  // The functions between the steps of a chain are the chain's own.
  const chain = place.kind === 'sequencer' ? place.path : (around(place.path) ?? place.path);
  published.set(`${place.requestId} ${chain}`, carried());
}
