// Times and durations as short text. All numbers are milliseconds; nothing here reads the clock.

/** A duration with three significant digits at most: `0 ms`, `340 ms`, `1.25 s`, `3 m 07 s`, `2 h 05 m`. */
export function duration(ms: number): string {
  if (ms < 0 || !Number.isFinite(ms)) return '–';
  if (ms < 1) return ms === 0 ? '0 ms' : '<1 ms';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} m`;
}

/** The same without zeros that say nothing: `2 s` and not `2.00 s`. For the round numbers of an axis. */
export const roundDuration = (ms: number) => duration(ms).replace(/\.?0+ s$/, ' s');

/** A distance from the start of a request: always signed, so that it never reads as a time of day. */
export const offset = (ms: number) => `${ms < 0 ? '−' : '+'}${duration(Math.abs(ms))}`;

/** The same to the millisecond, for telling events of a long request apart: `+250 ms`, `+3:07.250`, `+2:16:25.123`. */
export function exactOffset(ms: number): string {
  const whole = Math.abs(Math.round(ms));
  const sign = ms <= -0.5 ? '−' : '+';
  if (whole < 1000) return `${sign}${whole} ms`;
  const rest = `.${String(whole % 1000).padStart(3, '0')}`;
  const seconds = Math.floor(whole / 1000);
  if (seconds < 60) return `${sign}${seconds}${rest} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${sign}${minutes}:${two(seconds % 60)}${rest}`;
  return `${sign}${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}${rest}`;
}

/** The time of day to the millisecond, for "at" labels. */
export function clock(ms: number): string {
  const date = new Date(ms);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** How long ago, in the coarsest unit that still says something; a date once a week has passed. */
export function ago(ms: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 45) return 'just now';
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)} d ago`;
  return day(ms);
}

/** How long something has waited: `40 s`, `14 min`, `2 h 05 m`. Nobody waits to the second for minutes. */
export const waited = (ms: number): string =>
  ms >= 60_000 && ms < 3_570_000 ? `${Math.round(ms / 60_000)} min` : duration(ms);

/** The same with seconds, for what happened just now: `40 s ago`. */
export const secondsAgo = (ms: number, now: number): string => {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  return seconds < 60 ? `${seconds} s ago` : ago(ms, now);
};

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** The day as people name it: today, yesterday, a day of the past week, or a date. */
export function dayName(ms: number, now: number): string {
  const start = (time: number) => new Date(time).setHours(0, 0, 0, 0);
  // Days are not always of 24 hours.
  const back = Math.round((start(now) - start(ms)) / 86_400_000);
  if (back <= 0) return 'Today';
  if (back === 1) return 'Yesterday';
  return back < 7 ? (WEEKDAYS[new Date(ms).getDay()] ?? '') : day(ms);
}

/** How long ago where that is shorter, for the end of a row that stands under its day: `now`, `13 min`, `17:20`. */
export function age(ms: number, now: number): string {
  const minutes = Math.round(Math.max(0, now - ms) / 60_000);
  if (minutes < 1) return 'now';
  return minutes < 60 ? `${minutes} min` : clock(ms).slice(0, 5);
}

/** The same for a row without a day above it: of another day it says which, `Yesterday 17:20`, `2026-11-20 17:20`. */
export function when(ms: number, now: number): string {
  const name = dayName(ms, now);
  return name === 'Today' || now - ms < 3_570_000 ? age(ms, now) : `${name} ${clock(ms).slice(0, 5)}`;
}

/** The time of day to the second; of another day with its name before it: `Yesterday 16:23:49`. */
export function clockOn(ms: number, now: number): string {
  const name = dayName(ms, now);
  return `${name === 'Today' ? '' : `${name} `}${clock(ms).slice(0, 8)}`;
}

/** Date and time for tooltips and headers, in the order that also sorts. */
export function moment(ms: number): string {
  return `${day(ms)} ${clock(ms).slice(0, 8)}`;
}

/** From 2001 to 2100: a whole number in between is most likely a time in milliseconds. */
const TIMES = [1_000_000_000_000, 4_102_444_800_000] as const;

/** The date and time that a value of state or an event is, where it looks like one; null for all other values. */
export function timeIn(value: unknown): string | null {
  return Number.isInteger(value) && (value as number) >= TIMES[0] && (value as number) < TIMES[1]
    ? moment(value as number)
    : null;
}

function day(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

const two = (n: number) => String(n).padStart(2, '0');
