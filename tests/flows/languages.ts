/**
 * Dates, numbers and words as people write them: Intl, and what is built on it.
 */

import { defineFlow, handler } from "@flow-state-dev/core";

const AT = new Date(Date.UTC(2026, 2, 5, 17, 4, 9));
const shows = (name: string, execute: () => unknown) => ({ block: handler({ name, execute }) });
/** Spaces that do not break look like any other here. */
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, " ");
const failure = (run: () => unknown) => {
  try {
    run();
    return "nothing was thrown";
  } catch (error) {
    return (error as Error).name;
  }
};

export default defineFlow({
  kind: "languages",
  session: {},
  actions: {
    numbers: shows("numbers", () =>
      [
        new Intl.NumberFormat("en-US").format(1234567.891),
        new Intl.NumberFormat("de-DE", { style: "currency", currency: "EUR" }).format(1234.5),
        new Intl.NumberFormat("ja-JP", { style: "currency", currency: "JPY" }).format(5000),
        new Intl.NumberFormat("fr", { maximumFractionDigits: 1 }).format(1234.56),
        new Intl.NumberFormat("en-IN").format(1234567),
        new Intl.NumberFormat("en", { notation: "compact" }).format(12345),
        new Intl.NumberFormat("en", { style: "unit", unit: "kilometer-per-hour" }).format(50),
        (1234.5).toLocaleString(),
        (0.256).toLocaleString("en-US", { style: "percent", maximumFractionDigits: 1 }),
      ].map(plain),
    ),
    dates: shows("dates", () =>
      [
        new Intl.DateTimeFormat("en-US", { timeZone: "UTC" }).format(AT),
        new Intl.DateTimeFormat("en-US", { dateStyle: "full", timeZone: "America/New_York" }).format(AT),
        new Intl.DateTimeFormat("de-DE", { dateStyle: "long", timeZone: "Europe/Berlin" }).format(AT),
        new Intl.DateTimeFormat("ja-JP", { dateStyle: "long", timeZone: "Asia/Tokyo" }).format(AT),
        new Intl.DateTimeFormat("en-US", { hour: "numeric", minute: "numeric", timeZoneName: "short", timeZone: "America/New_York" }).format(AT),
        AT.toLocaleDateString("en-US", { weekday: "long", timeZone: "UTC" }),
        AT.toLocaleTimeString("en-US", { timeZone: "UTC" }),
        AT.toLocaleString("en-GB", { timeZone: "UTC" }),
        new Intl.DateTimeFormat("en-US", { timeZone: "UTC" }).formatToParts(AT).map((part) => part.type).join(),
      ].map(plain),
    ),
    words: shows("words", () => [
      new Intl.PluralRules("en", { type: "ordinal" }).select(22),
      new Intl.PluralRules("pl").select(3),
      new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-1, "day"),
      new Intl.RelativeTimeFormat("de").format(3, "month"),
      new Intl.ListFormat("en", { style: "long", type: "conjunction" }).format(["a", "b", "c"]),
      ["b", "a", "C", "ä", "z", "10", "9"].sort((one, other) => one.localeCompare(other)).join(""),
      ["a10", "a9"].sort(new Intl.Collator("en", { numeric: true }).compare).join(),
      new Intl.NumberFormat("de-AT").resolvedOptions().locale,
      new Intl.NumberFormat("tlh").resolvedOptions().locale,
      failure(() => new Intl.NumberFormat("x_y")),
      failure(() => new Intl.DateTimeFormat("en", { timeZone: "Mars/Base" })),
    ]),
    now: shows("now", () => new Intl.DateTimeFormat("en", { year: "numeric", timeZone: "UTC" }).format().length),
  },
});
