// What the library's modules find when they run: globals that `globals/` installs, and Liquid for hosts without files.

declare function setTimeout(call: () => void, ms?: number): number;
declare function clearTimeout(timer: number): void;
declare function structuredClone<T>(value: T): T;
declare const crypto: { randomUUID(): string };

declare module 'liquidjs/dist/liquid.browser.mjs' {
  export { Liquid } from 'liquidjs';
}
