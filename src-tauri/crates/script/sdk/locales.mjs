// What is known of languages, from the data of FormatJS, for `intl.ts`: each as JSON, compressed.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';

/** Languages with their own data. A region that is not here has that of its language. */
const LOCALES = (
  'en en-AU en-CA en-GB en-IE en-IN de de-AT de-CH fr fr-CA fr-CH es es-MX it nl pt pt-PT sv da nb fi pl cs uk tr ' +
  'ru ro hu el ja ko zh zh-Hant ar he hi id th vi'
).split(' ');
/** Currencies whose names in a language are kept; of others the code is shown. */
const CURRENCIES = new Set(
  (
    'AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW MAD MXN MYR NGN NOK NZD PEN ' +
    'PHP PLN RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR'
  ).split(' '),
);

const only = (of, keep) => Object.fromEntries(Object.entries(of).filter(([key]) => keep(key)));

export function locales(folder) {
  /** What a file of data gives to its class. */
  function given(name, type, method = '__addLocaleData') {
    let found;
    const Intl = { [type]: { [method]: (data) => (found = data) } };
    const text = readFileSync(join(folder, '@formatjs', name), 'utf8').replace(/^export .*$/gm, '');
    new Function('Intl', text)(Intl);
    if (!found) throw new Error(`${name} of FormatJS gives ${type} no data any more`);
    return found;
  }
  const of = (tag) => {
    // Rules of plurals are those of the language.
    const data = (name, type) => {
      const file = (named) => `intl-${name}/locale-data/${named}.js`;
      const own = existsSync(join(folder, '@formatjs', file(tag))) ? tag : tag.split('-')[0];
      return given(file(own), type).data;
    };
    const [numbers, dates] = [data('numberformat', 'NumberFormat'), data('datetimeformat', 'DateTimeFormat')];
    const plurals = data('pluralrules', 'PluralRules');
    const { intervalFormatFallback } = dates.intervalFormats;
    return {
      numbers: { ...numbers, currencies: only(numbers.currencies, (code) => CURRENCIES.has(code)) },
      // Names of time zones of each place, and of intervals, are most of it.
      dates: {
        ...dates,
        timeZoneName: only(dates.timeZoneName, (zone) => /^(America|Europe|UTC|Etc)/.test(zone)),
        intervalFormats: { intervalFormatFallback },
      },
      relative: data('relativetimeformat', 'RelativeTimeFormat'),
      lists: data('listformat', 'ListFormat'),
      plurals: { categories: plurals.categories, source: String(plurals.fn) },
    };
  };
  const all = LOCALES.map((tag) => [tag, of(tag)]);
  return all.map(([name, data]) => [name, deflateRawSync(JSON.stringify(data), { level: 9 })]);
}
