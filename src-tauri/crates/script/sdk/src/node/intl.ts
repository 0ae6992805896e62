// `Intl` for dates and numbers: the packages of FormatJS, whose data for a language is asked of the engine when the
// language is first used. A flow that names neither `Intl` nor a `toLocale…String` does not load this.
//
// Must not: have data here. Languages without data of their own are those of the default.

import { DateTimeFormat as PlainDates } from '@formatjs/intl-datetimeformat';
import PlainLists from '@formatjs/intl-listformat';
import { NumberFormat as PlainNumbers } from '@formatjs/intl-numberformat';
import { PluralRules as PlainPlurals } from '@formatjs/intl-pluralrules';
import PlainRelative from '@formatjs/intl-relativetimeformat';
import { compare, type Options as CollatorOptions } from './collate';
import { localeData, zoneChange, zoneChanges } from './host';

const DEFAULT = 'en-US';
type Locales = string | readonly string[] | undefined;
type Options = Record<string, unknown> | undefined;
interface Format {
  (...args: never[]): unknown;
  new (locales?: Locales, options?: Options): Record<string, (...args: unknown[]) => unknown>;
  __addLocaleData?(data: object): void;
  supportedLocalesOf(locales: Locales, options?: Options): string[];
}

/** A tag as it is written: `en-US`, `zh-Hant-TW`, with what follows `-u-` as it was. */
function canonical(tag: string): string {
  if (!/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(tag))
    throw new RangeError(`Incorrect locale information provided: ${tag}`);
  const [plain, ...rest] = tag.split(/-(?=[a-zA-Z0-9]-)/);
  const parts = (plain as string).split('-').map((part, at) => {
    if (at === 0 || part.length > 4) return part.toLowerCase();
    if (part.length === 4 && /^[A-Za-z]/.test(part)) return part.charAt(0).toUpperCase() + part.slice(1).toLowerCase();
    return part.length === 2 ? part.toUpperCase() : part.toLowerCase();
  });
  return [parts.join('-'), ...rest.map((part) => part.toLowerCase())].join('-');
}

function getCanonicalLocales(locales?: Locales): string[] {
  if (locales === undefined) return [];
  const all = typeof locales === 'string' ? [locales] : [...locales];
  for (const one of all) {
    if (typeof one !== 'string' && !((one as object) instanceof Locale)) {
      throw new TypeError('a locale is a text like "en-US", or an Intl.Locale');
    }
  }
  return [...new Set(all.map((one) => canonical(String(one))))];
}

class Locale {
  readonly #tag: string;

  constructor(tag: unknown, _options?: Options) {
    if (typeof tag !== 'string' && !(tag instanceof Locale)) throw new TypeError('a locale is a text like "en-US"');
    this.#tag = canonical(String(tag));
  }
  get baseName(): string {
    return this.#tag.split(/-[a-z0-9]-/)[0] as string;
  }
  get language(): string {
    return this.baseName.split('-')[0] as string;
  }
  get script(): string | undefined {
    return this.baseName.split('-').find((part, at) => at > 0 && part.length === 4);
  }
  get region(): string | undefined {
    return this.baseName.split('-').find((part, at) => at > 0 && /^([A-Z]{2}|\d{3})$/.test(part));
  }
  maximize(): Locale {
    return this;
  }
  minimize(): Locale {
    return this;
  }
  toString(): string {
    return this.#tag;
  }
}

interface Data {
  numbers: object;
  dates: object;
  relative: object;
  lists: object;
  plurals: { categories: object; source: string };
}

/** Tags by the tag that was asked for: those whose data is there. */
const known = new Map<string, boolean>([]);

/** Whether there is data for a tag, its own or that of its language; loads it. */
function isKnown(tag: string): boolean {
  const found = known.get(tag);
  if (found !== undefined) return found;
  const text = localeData(tag);
  known.set(tag, text !== undefined);
  if (text === undefined) return false;
  const { numbers, dates, relative, lists, plurals } = JSON.parse(text) as Data;
  const add = (format: unknown, data: object) => (format as Format).__addLocaleData?.({ data, locale: tag });
  // The rules of a language are a function of its data.
  const fn = new Function(`return ${plurals.source}`)() as unknown;
  add(PlainPlurals, { categories: plurals.categories, fn });
  add(PlainNumbers, numbers);
  add(PlainDates, dates);
  add(PlainRelative, relative);
  add(PlainLists, lists);
  return true;
}

/** The first tag that there is data for, with its extension; the default where there is none. */
function chosen(locales: Locales): string {
  for (const tag of getCanonicalLocales(locales)) {
    if (isKnown(new Locale(tag).baseName)) return tag;
  }
  isKnown(DEFAULT);
  return DEFAULT;
}

/** A class of FormatJS that finds its data by itself. */
function withData(
  plain: unknown,
  name: string,
  ready: (options: Options) => void = () => undefined,
  done: (made: unknown, options: Options) => void = () => undefined,
): Format {
  const Plain = plain as Format;
  const made = function (this: unknown, locales?: Locales, options?: Options) {
    const tag = chosen(locales);
    ready(options);
    const format = new Plain(tag, options);
    done(format, options);
    return format;
  };
  Object.defineProperty(made, 'name', { value: name });
  Object.defineProperty(made, 'prototype', { value: Plain.prototype });
  Object.defineProperty(made.prototype as object, 'constructor', { value: made, writable: true, configurable: true });
  const supported = (locales: Locales) =>
    getCanonicalLocales(locales).filter((tag) => isKnown(new Locale(tag).baseName));
  return Object.assign(made, { supportedLocalesOf: supported }) as unknown as Format;
}

const UTC = ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT', 'UCT', 'Zulu'];

/** From which second on local time is how many seconds ahead of UTC, and whether that is summer time. */
type Change = [from: number, abbreviation: string, offset: number, isSummer: boolean];

interface WithZones {
  tzData: Record<string, Change[]>;
  __setDefaultTimeZone(zone: string): void;
}
const withZones = PlainDates as unknown as WithZones;

/** As the engine tells a change. */
type Told = [from: number | null, ahead: number, isSummer: boolean];
const changeOf = ([from, ahead, isSummer]: Told): Change => [from ?? -Infinity, '', ahead, isSummer];
/** Up to here all changes of a zone are listed when it is first asked for. */
const LISTED_UNTIL = Date.UTC(2100, 0);
/** Of the changes of a zone: its name, and how many are listed. */
const listed = new WeakMap<Change[], { name: string; count: number }>();

/** Makes the changes of a time zone known. Returns whether there is a zone of this name. */
function addZone(name: string): boolean {
  if (name in withZones.tzData) return true;
  const found = zoneChanges(name);
  if (found === undefined) return false;
  const zone = JSON.parse(found) as { name: string; changes: Told[] };
  const changes = zone.changes.map(changeOf);
  listed.set(changes, { name, count: changes.length });
  withZones.tzData[zone.name] = changes;
  return true;
}

/** Adds the changes that hold at instants after those that are listed. Those of an earlier call make room for them. */
function addLateChanges(dates: object, instants: unknown[]): void {
  const late = instants.map(Number).filter((at) => at >= LISTED_UNTIL);
  if (late.length === 0) return;
  const { timeZone } = (dates as { resolvedOptions(): { timeZone?: string } }).resolvedOptions();
  const changes = withZones.tzData[timeZone ?? ''];
  const zone = changes && listed.get(changes);
  if (!changes || !zone) return;
  changes.length = zone.count;
  for (const at of late.sort((one, other) => one - other)) {
    const found = zoneChange(zone.name, at);
    const change = found === undefined ? undefined : changeOf(JSON.parse(found) as Told);
    if (change && change[0] > (changes[changes.length - 1]?.[0] ?? -Infinity)) changes.push(change);
  }
}

/** Makes the zone known that is asked for, or that of the run. */
function loadZone(options: Options): void {
  const given = options?.timeZone;
  const zone = given === undefined ? localeData('zone') : String(given);
  if (zone === undefined) return;
  const isKnown = UTC.includes(zone) || /^[+-]\d/.test(zone) || addZone(zone);
  if (given !== undefined && !isKnown) throw new RangeError(`Invalid time zone specified: ${zone}`);
  if (given === undefined && isKnown) {
    try {
      withZones.__setDefaultTimeZone(zone);
    } catch {
      // A zone that FormatJS does not know is taken for UTC.
    }
  }
}

/** FormatJS may have another name for a zone: both have the same changes. */
function loadOtherName(dates: unknown, options: Options): void {
  const { timeZone } = (dates as { resolvedOptions(): { timeZone?: string } }).resolvedOptions();
  if (timeZone === undefined || UTC.includes(timeZone) || /^[+-]\d/.test(timeZone) || addZone(timeZone)) return;
  const asked = withZones.tzData[String(options?.timeZone ?? localeData('zone'))];
  if (asked) withZones.tzData[timeZone] = asked;
}

type Text = (date?: unknown) => string;
const { prototype } = PlainDates as unknown as { prototype: object };
const plainFormat = Object.getOwnPropertyDescriptor(prototype, 'format')?.get as (this: object) => Text;
const formats = new WeakMap<object, Text>();
// As in Node.js: a text as a whole has an ordinary space where the data has a narrow one that does not break. Parts and
// ranges keep that.
Object.defineProperty(prototype, 'format', {
  configurable: true,
  get(this: object): Text {
    let known = formats.get(this);
    if (!known) {
      const format = plainFormat.call(this);
      known = (date) => {
        addLateChanges(this, [date]);
        return format(date).replaceAll('\u202f', ' ');
      };
      formats.set(this, known);
    }
    return known;
  },
});

for (const name of ['formatToParts', 'formatRange', 'formatRangeToParts']) {
  const plain = Object.getOwnPropertyDescriptor(prototype, name);
  const made = plain?.value as ((...dates: unknown[]) => unknown) | undefined;
  if (!made) continue;
  const late = {
    [name](this: object, ...dates: unknown[]) {
      addLateChanges(this, dates);
      return made.apply(this, dates);
    },
  };
  Object.defineProperty(prototype, name, { ...plain, value: late[name] });
}

class Collator {
  readonly #options: CollatorOptions;
  readonly #tag: string;
  readonly compare: (one: string, other: string) => number;

  constructor(locales?: Locales, options: CollatorOptions = {}) {
    this.#options = options;
    this.#tag = chosen(locales);
    this.compare = (one, other) => compare(String(one), String(other), this.#options);
  }
  resolvedOptions(): object {
    const { sensitivity = 'variant', numeric = false, ignorePunctuation = false } = this.#options;
    return { locale: this.#tag, usage: 'sort', sensitivity, ignorePunctuation, collation: 'default', numeric };
  }
  static supportedLocalesOf = (locales: Locales): string[] => getCanonicalLocales(locales);
}

const NumberFormat = withData(PlainNumbers, 'NumberFormat');
const DateTimeFormat = withData(PlainDates, 'DateTimeFormat', loadZone, loadOtherName);
const PluralRules = withData(PlainPlurals, 'PluralRules');
const Intl = {
  Collator,
  DateTimeFormat,
  ListFormat: withData(PlainLists, 'ListFormat'),
  Locale,
  NumberFormat,
  PluralRules,
  RelativeTimeFormat: withData(PlainRelative, 'RelativeTimeFormat'),
  getCanonicalLocales,
};
Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
Object.defineProperty(globalThis, 'Intl', { value: Intl, writable: true, configurable: true });

const DATE = ['weekday', 'year', 'month', 'day', 'dateStyle'];
const TIME = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits', 'timeStyle'];

function dateText(date: Date, locales: Locales, given: Options, parts: string[][], added: string[]): string {
  if (Number.isNaN(date.getTime())) return 'Invalid Date';
  const options = { ...given };
  if (!parts.flat().some((part) => options[part] !== undefined)) for (const part of added) options[part] = 'numeric';
  return new DateTimeFormat(locales, options).format?.(date) as string;
}

const DAY = ['year', 'month', 'day'];
const CLOCK = ['hour', 'minute', 'second'];

function put(holder: object, name: string, value: (...args: never[]) => string): void {
  Object.defineProperty(holder, name, { value, writable: true, configurable: true });
}
put(Date.prototype, 'toLocaleString', function (this: Date, locales?: Locales, options?: Options) {
  return dateText(this, locales, options, [DATE, TIME], [...DAY, ...CLOCK]);
});
put(Date.prototype, 'toLocaleDateString', function (this: Date, locales?: Locales, options?: Options) {
  if (options?.timeStyle !== undefined) throw new TypeError('toLocaleDateString has no timeStyle');
  const isOfDay = [...DATE].some((part) => options?.[part] !== undefined);
  return dateText(this, locales, options, [isOfDay ? DATE : []], isOfDay ? [] : DAY);
});
put(Date.prototype, 'toLocaleTimeString', function (this: Date, locales?: Locales, options?: Options) {
  if (options?.dateStyle !== undefined) throw new TypeError('toLocaleTimeString has no dateStyle');
  const isOfClock = [...TIME].some((part) => options?.[part] !== undefined);
  return dateText(this, locales, options, [isOfClock ? TIME : []], isOfClock ? [] : CLOCK);
});
const numberText = function (this: unknown, locales?: Locales, options?: Options) {
  return new NumberFormat(locales, options).format?.((this as number).valueOf()) as string;
};
put(Number.prototype, 'toLocaleString', numberText);
put(BigInt.prototype, 'toLocaleString', numberText);

export default Intl;
