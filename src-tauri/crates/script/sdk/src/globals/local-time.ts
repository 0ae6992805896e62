// Local time: the local members of `Date`, in the zone of the run, which may not be that of this machine.
//
// QuickJS asks the C library, whose zone is that of the whole process, where requests of different zones may run at
// once. It also knows offsets only to the minute, and has its own rule for an hour that a change of the clock
// leaves out or repeats. Here the local members are made of the UTC ones, by the rules of ECMAScript.

import { LOAD, native } from '../base/host';

const MINUTE = 60_000;
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const FIELDS = ['FullYear', 'Month', 'Date', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'];

/** A text that is a day alone is in UTC; one with a zone or an offset is not local, either. */
const DAY_ALONE = /^\s*[+-]?\d{4,6}(-\d\d){0,2}\s*$/;
const WITH_ZONE = /\d:\d\d.*[+-]\d\d:?\d\d|\d\s*Z\b|\b(GMT|UTC|UT|[ECMP][SD]T)\b/i;

type Method = (this: Date, ...args: number[]) => unknown;

/** From `from` on, and before `until`, local time is `ahead` of UTC; all in milliseconds. */
interface Offset {
  ahead: number;
  from: number;
  until: number;
}

/** The offset that was asked for last: most times that a flow reads are near each other. */
let known: Offset = { ahead: 0, from: Infinity, until: -Infinity };

/** Milliseconds that local time is ahead of UTC. */
function ahead(ms: number): number {
  if (Number.isNaN(ms)) return NaN;
  if (ms < known.from || ms >= known.until) {
    const told = JSON.parse(native.sync('zone_offset', LOAD, String(ms)) as string) as (number | null)[];
    known = { ahead: told[0] as number, from: told[1] ?? -Infinity, until: told[2] ?? Infinity };
  }
  return known.ahead;
}

/**
 * The instant at which a clock in the zone shows `wall`, which is counted as if it were UTC. What the clock shows twice
 * is the earlier instant; what it never shows is counted from before the change.
 */
function instant(wall: number): number {
  return Number.isNaN(wall) ? NaN : wall - Number(native.sync('zone_offset_of_local', LOAD, String(wall)));
}

/** Minutes that local time is behind UTC, as `getTimezoneOffset` returns them. */
function behind(ms: number): number {
  // Adding 0 makes -0 positive.
  return Math.trunc(-ahead(ms) / MINUTE) + 0;
}

const two = (value: number) => String(value).padStart(2, '0');

/** As C's `%04d` has it, where a minus takes a place of its own. */
function year(value: number): string {
  return (value < 0 ? '-' : '') + String(Math.abs(value)).padStart(4, '0');
}

/**
 * Makes a class of dates local to the zone of the run. Returns what its constructor makes of arguments: the time, or
 * nothing where they do not depend on the zone.
 */
export function localToRun(Plain: DateConstructor): (args: unknown[]) => number | undefined {
  const proto = Plain.prototype as unknown as Record<string, Method>;
  const { getTime, getTimezoneOffset } = Plain.prototype;
  const parse = Plain.parse;

  /** A date whose UTC members are the local ones of this one. */
  const local = (date: Date): Date => {
    const ms = getTime.call(date);
    return new Plain(ms + ahead(ms));
  };
  const call = (date: Date, method: string, args: number[] = []) =>
    (proto[method] as Method).apply(date, args) as number;
  const put = (name: string, value: Method): void => {
    const was = proto[name] as Method;
    Object.defineProperty(value, 'name', { value: name });
    Object.defineProperty(value, 'length', { value: was.length });
    Object.defineProperty(proto, name, { value, writable: true, configurable: true });
  };

  for (const field of [...FIELDS, 'Day']) {
    put(`get${field}`, function () {
      return call(local(this), `getUTC${field}`);
    });
  }
  for (const field of FIELDS) {
    put(`set${field}`, function (...args) {
      const wall = local(this);
      return this.setTime(instant(call(wall, `setUTC${field}`, args)));
    });
  }
  put('getTimezoneOffset', function () {
    return behind(getTime.call(this));
  });
  put('getYear', function () {
    return local(this).getUTCFullYear() - 1900;
  });
  put('setYear', function (given) {
    const value = Math.trunc(Number(given));
    return this.setFullYear(value >= 0 && value <= 99 ? value + 1900 : Number(given));
  });

  const day = (at: Date): string =>
    `${DAYS[at.getUTCDay()]} ${MONTHS[at.getUTCMonth()]} ${two(at.getUTCDate())} ${year(at.getUTCFullYear())}`;
  const time = (date: Date, at: Date): string => {
    const late = behind(getTime.call(date));
    const [hours, minutes] = [Math.floor(Math.abs(late) / 60), Math.abs(late) % 60];
    const clock = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(two).join(':');
    return `${clock} GMT${late > 0 ? '-' : '+'}${two(hours)}${two(minutes)}`;
  };
  const localDay = (at: Date): string =>
    `${two(at.getUTCMonth() + 1)}/${two(at.getUTCDate())}/${year(at.getUTCFullYear())}`;
  const localTime = (at: Date): string => {
    const hours = at.getUTCHours();
    const clock = [((hours + 11) % 12) + 1, at.getUTCMinutes(), at.getUTCSeconds()].map(two).join(':');
    return `${clock} ${hours < 12 ? 'AM' : 'PM'}`;
  };
  const texts: Record<string, (at: Date, date: Date) => string> = {
    toString: (at: Date, date: Date) => `${day(at)} ${time(date, at)}`,
    toDateString: day,
    toTimeString: (at: Date, date: Date) => time(date, at),
    // Where a flow uses `Intl`, these are replaced by those of the language.
    toLocaleString: (at: Date) => `${localDay(at)}, ${localTime(at)}`,
    toLocaleDateString: localDay,
    toLocaleTimeString: localTime,
  };
  for (const [name, text] of Object.entries(texts)) {
    put(name, function () {
      return Number.isNaN(getTime.call(this)) ? 'Invalid Date' : text(local(this), this);
    });
  }

  const parseHere = (text: string): number => {
    const found = parse(text);
    if (Number.isNaN(found) || DAY_ALONE.test(text) || WITH_ZONE.test(text)) return found;
    const walls = [parse(`${text}Z`), parse(`${text} UTC`)];
    const isOf = (wall: number) => wall + getTimezoneOffset.call(new Plain(wall)) * MINUTE === found;
    const wall = walls.find(isOf);
    return wall === undefined ? found : instant(wall);
  };
  const parsed = (text: unknown) => parseHere(String(text));
  Object.defineProperty(Plain, 'parse', { value: parsed, writable: true, configurable: true });
  return (args) => {
    if (args.length > 1) return instant(Plain.UTC(...(args as [number, number])));
    return typeof args[0] === 'string' ? parseHere(args[0]) : undefined;
  };
}
