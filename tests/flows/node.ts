/**
 * Node's built-in modules, as far as flows have them, in both spellings.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import assert, { deepStrictEqual } from "node:assert";
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import strict from "assert/strict";
import { Buffer as Bytes } from "node:buffer";
import crypto, { createHash, createHmac, randomBytes, randomInt, randomUUID, timingSafeEqual } from "node:crypto";
import EventEmitter, { once } from "node:events";
import path, { basename, join } from "path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath, pathToFileURL, URL as NodeURL } from "url";
import { format, inspect, isDeepStrictEqual, promisify, types } from "node:util";
import querystring from "node:querystring";
import { StringDecoder } from "string_decoder";

const says = (name: string, execute: (input: any, ctx: any) => unknown) => ({ block: handler({ name, execute }) });
const failure = (run: () => unknown) => {
  try {
    run();
    return "nothing was thrown";
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message.split("\n")[0]}`;
  }
};

const turn = new AsyncLocalStorage<string>();
const pass = async () => { for (let left = 3; left > 0; left--) await Promise.resolve(); };
// Opens before its first `await`, as a package does that has no other way to hand something to the steps after it.
const opens = handler({ name: "opens", inputSchema: z.string(), execute: async (text) => { turn.enterWith(text); await pass(); turn.enterWith("after an await"); await pass(); return [text, turn.getStore()]; } });
const reads = handler({ name: "reads", execute: async (given: any) => { await pass(); return [...given, turn.getStore() ?? "nothing"]; } });

export default defineFlow({
  kind: "node",
  session: {},
  actions: {
    hashes: says("hashes", (text: string) => ({
      sha256: createHash("sha256").update(text).digest("hex"),
      parts: createHash("SHA-256").update(text.slice(0, 1)).update(Buffer.from(text.slice(1))).digest("hex"),
      sha1: crypto.createHash("sha1").update(text, "utf8").digest("base64"),
      md5: createHash("md5").update(text).digest().length,
      hmac: createHmac("sha256", "key").update(text).digest("base64url"),
      unknown: failure(() => createHash("whirlpool")),
      twice: failure(() => { const hash = createHash("md5"); hash.digest(); hash.digest(); }),
      cipher: failure(() => (crypto as any).createCipheriv("aes-256-gcm", "", "")),
    })),
    subtle: says("subtle", async (text: string) => Buffer.from(await globalThis.crypto.subtle.digest("SHA-1", Buffer.from(text))).toString("hex")),
    chance: says("chance", () => {
      const drawn = Array.from({ length: 50 }, () => randomInt(3, 6) as number);
      return {
        bytes: (randomBytes(70_000) as Buffer).length,
        ints: [Math.min(...drawn) >= 3, Math.max(...drawn) < 6],
        uuid: /^[0-9a-f-]{36}$/.test(randomUUID()),
        same: timingSafeEqual(Buffer.from("ab"), Bytes.from("ab")),
        other: timingSafeEqual(Buffer.from("ab"), Buffer.from("ac")),
        length: failure(() => timingSafeEqual(Buffer.from("a"), Buffer.from("ab"))),
        range: failure(() => randomInt(5, 5)),
      };
    }),
    bytes: says("bytes", () => ({
      base64: Buffer.from("héllo").toString("base64"),
      url: [Buffer.from([251, 255]).toString("base64url"), Buffer.from("-_8", "base64url").toString("hex")],
      hex: Buffer.from("ff00", "hex").readUInt16BE(0),
      text: Buffer.concat([Buffer.from("a"), Buffer.alloc(2, "b")]).toString(),
      web: [btoa("a"), atob("YQ==")],
      is: [Buffer.isBuffer(Buffer.alloc(1)), Buffer.byteLength("é"), Buffer.compare(Buffer.from("a"), Buffer.from("b"))],
      decoder: (() => { const decoder = new StringDecoder("utf8"); return decoder.write(Buffer.from([0xc3])) + decoder.end(Buffer.from([0xa9])); })(),
    })),
    paths: says("paths", () => ({
      join: join("/a", "..", "b", "./c.ts"),
      base: basename("/x/y.flow.ts", ".ts"),
      parts: path.parse("/home/ada/notes.txt"),
      relative: path.relative("/a/b/c", "/a/d"),
      absolute: [path.isAbsolute("x"), path.resolve("/a", "b"), path.posix.sep],
      url: [fileURLToPath("file:///a%20b/c.ts"), String(pathToFileURL("/a b/#c")), failure(() => fileURLToPath("https://a/b"))],
      query: [new NodeURL("https://a.example/b?c=d").searchParams.get("c"), querystring.stringify({ a: ["1", "2"], b: "x y" }), querystring.parse("a=1&a=2&b=x+y").b],
    })),
    util: says("util", () => ({
      inspect: inspect({ a: 1, b: [1, 2], m: new Map([["k", new Set([1])]]), n: null, deep: { er: { and: { deeper: {} } } } }),
      shallow: inspect({ a: { b: { c: 1 } } }, { depth: 0 }),
      format: format("%s is %d years and %j, %%", "ada", 36, { a: 1 }, "more"),
      equal: [isDeepStrictEqual({ a: [1, new Map([[1, { b: 2 }]])] }, { a: [1, new Map([[1, { b: 2 }]])] }), isDeepStrictEqual([1], ["1"]), isDeepStrictEqual(NaN, NaN)],
      types: [types.isDate(new Date(0)), types.isRegExp({}), types.isProxy(new Proxy({}, {}))],
    })),
    promises: says("promises", async () => {
      const add = promisify((a: number, b: number, done: (error: Error | null, sum: number) => void) => void setTimeout(() => done(null, a + b), 1));
      const fails = promisify((done: (error: Error) => void) => done(new Error("no")));
      await wait(1);
      return [await add(1, 2), await fails().catch((error: Error) => error.message), await wait(1, "later")];
    }),
    events: says("events", async () => {
      class Bell extends EventEmitter {}
      const bell = new Bell();
      const heard: string[] = [];
      bell.on("ring", (by: string) => heard.push(`on ${by}`));
      bell.once("ring", (by: string) => heard.push(`once ${by}`));
      const first = once(bell, "ring");
      bell.emit("ring", "ada");
      bell.emit("ring", "bob");
      return { heard, first: await first, count: bell.listenerCount("ring"), error: failure(() => bell.emit("error", new Error("unheard"))) };
    }),
    asserts: says("asserts", async () => {
      assert(true);
      assert.equal(1, "1");
      deepStrictEqual({ a: 1 }, { a: 1 });
      assert.throws(() => { throw new TypeError("bad"); }, /bad/);
      await assert.rejects(async () => { throw new Error("later"); }, { message: "later" });
      return [failure(() => assert.ok(0)), failure(() => strict.equal(1, "1")), failure(() => assert.notEqual(1, 1)), failure(() => assert(false, "as I said"))];
    }),
    process: says("process", () => ({
      named: process.env.REGION ?? "nothing",
      home: process.env.HOME ?? "nothing",
      platform: process.platform,
      cwd: path.isAbsolute(process.cwd()),
      versions: Object.keys(process.versions),
      exit: failure(() => process.exit(1)),
    })),
    storage: says("storage", async () => {
      const inner = async () => { await pass(); return turn.getStore() ?? "nothing"; };
      const [one, two] = [turn.run("one", inner), turn.run("two", inner)];
      const bound = turn.run("bound", () => AsyncResource.bind(() => turn.getStore()));
      const timer = turn.run("timer", () => new Promise((resolve) => setTimeout(() => resolve(turn.getStore()), 1)));
      return { own: turn.getStore() ?? "nothing", runs: await Promise.all([one, two]), bound: bound(), timer: await timer, left: await turn.run("x", () => turn.exit(inner)), default: new AsyncLocalStorage({ defaultValue: 1 }).getStore() };
    }),
    entered: { block: sequencer({ name: "entered" }).forEach(() => ["a", "b"], sequencer({ name: "each" }).step(opens).step(reads), { maxConcurrency: 2 }).tap(handler({ name: "after", execute: (_input, ctx) => { ctx.emit.status(turn.getStore() ?? "nothing"); } })) },
    recorded: { block: sequencer({ name: "recorded" }).step(handler({ name: "draws", execute: () => ({ id: randomUUID(), bytes: (randomBytes(4) as Buffer).toString("hex"), at: randomInt(1000) }) })) },
  },
});
