// What the built-ins of Node ask of the engine.
//
// Must not: record anything that is the same for the same question, as hashes are; chance is recorded by the engine.

import { fromBase64, toBase64 } from '../base/bytes';
import { currentToken, native } from '../base/host';

/** Random bytes, recorded with the block that runs. */
export function randomBytes(count: number): Uint8Array {
  return fromBase64(native.sync('bytes', currentToken(), String(count)) as string);
}

export function randomUUID(): string {
  return native.sync('uuid', currentToken(), '') as string;
}

/** The hash of these bytes; with a key the keyed hash. `undefined` where there is no such algorithm. */
export function digest(algorithm: string, bytes: Uint8Array, key?: Uint8Array): Uint8Array | undefined {
  const asked = JSON.stringify([algorithm, toBase64(bytes), key ? toBase64(key) : null]);
  const answer = native.sync('digest', currentToken(), asked);
  return answer === undefined ? undefined : fromBase64(answer);
}

/** The environment that flowglass.json names, and the folder that is open. */
export function surroundings(): { env: Record<string, string>; cwd: string } {
  return JSON.parse(native.sync('process', currentToken(), '') as string) as {
    env: Record<string, string>;
    cwd: string;
  };
}

/** Milliseconds since the epoch by the precise clock, recorded with the block that runs. */
export function preciseNow(): number {
  return Number(native.sync('clock', currentToken(), ''));
}

/** What is known of a language, as JSON; `zone` is the run's time zone, `zones` the rules of all. */
export function localeData(name: string): string | undefined {
  return native.sync('locale', currentToken(), name);
}

/** The change of a time zone that holds at an instant, as JSON; nothing if no zone has this name. */
export function zoneChange(name: string, ms: number): string | undefined {
  return native.sync('zone_change', currentToken(), `${ms} ${name}`);
}

/** The changes of a time zone until 2100, as JSON; nothing if no zone has this name. */
export function zoneChanges(name: string): string | undefined {
  return native.sync('zone_changes', currentToken(), name);
}
