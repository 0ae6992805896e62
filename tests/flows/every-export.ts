/**
 * Every name that the core module and its subpaths document, used once as a project would.
 */

import {
  AskEndedError,
  AskStoppedError,
  createHmacVerifier,
  createHs256JwtVerifier,
  createManifestRegistry,
  discoveryTools,
  DISPATCH_SEAM,
  dispatchThroughSeam,
  extractBearerToken,
  harnessRunEnvelopeSchema,
  harnessRunHandleSchema,
  harnessRunInputSchema,
  isManifestDomain,
  isTaskEntry,
  MANIFEST_DOMAINS,
  markDispatcher,
  markTaskEntry,
  NoRequestHostError,
  parkOnAsk,
  PrincipalResolutionError,
  recordedAskOutcome,
  resourcesManifestSource,
  ROOT_BLOCK_PATH,
  TASK_ENTRY,
  applyCaching,
  applyGetOrPatchState,
  assertStrictCompatible,
  bindToolCacheStore,
  blockPathBranch,
  blockPathIteration,
  blockPathLoop,
  blockPathRescue,
  blockPathSegment,
  blockPathTool,
  buildBlockInstanceId,
  buildReplayLog,
  canListVoices,
  canSpeak,
  canSpeakStream,
  canTranscribe,
  canonicalizeToolArgs,
  contextFn,
  createAiSdkModelResolver,
  createAiSdkSpeechResolver,
  createAiSdkTranscriptionResolver,
  createBindingCache,
  createCompositeVoiceProvider,
  createEstimateTokenCounter,
  createFallbackModel,
  createFSDProvider,
  createInMemoryToolCacheStore,
  createModelResolver,
  createTiktokenCounter,
  createToolCacheCapability,
  DEFAULT_CACHING_CONFIG,
  DEFAULT_MODEL_LOOKUP,
  DEFAULT_PRESETS,
  defaultGroups,
  defineCapability,
  defineFlow,
  defineResource,
  defineResourceCollection,
  defineResourceNamespace,
  detectAvailableProviders,
  DISPATCH_TYPES,
  dispatchHandleSchema,
  errorDetailsWithCause,
  estimateTokenCounter,
  extendBlockPath,
  extractProviderName,
  findModelEntry,
  FlowError,
  generator,
  getRequestWorkPool,
  handler,
  isAbortLike,
  isDefinedResourceCollection,
  isDefinedResourceNamespace,
  isModelSelection,
  isRetryableError,
  isTraceObservabilityEnabled,
  lifecycleSchema,
  makeSchemaStrict,
  mapLimit,
  modelPricingEstimator,
  NoDispatchSeamError,
  parseBlockInstanceId,
  parseModelString,
  providerTool,
  readResourceContentTool,
  resolveActiveStatusMessage,
  resolveEntry,
  resolveItemVisibility,
  requireRequestHost,
  resolveResourceByPath,
  resolveResourceByUri,
  resolveTracingLevel,
  resource,
  resourceSearchTools,
  resourceTools,
  rootCause,
  router,
  runRescue,
  selectModel,
  sequencer,
  serializeError,
  SLASH_COMMAND_PATTERN,
  StrictSchemaError,
  transientSlot,
  validateChatConfig,
  validateConcurrencyConfig,
  validateScheduleConfig,
  validateSchedulesConfig,
  validateWebhookConfig,
  voiceContext,
  VoiceError,
  whenAnyItem,
  whenResourceChanged,
  whenResourceMatching,
  wrapAiSdkModel,
  wrapAiSdkSpeechModel,
  wrapAiSdkTranscriptionModel,
  writeResourceContentTool,
} from "@flow-state-dev/core";
import * as contracts from "@flow-state-dev/contracts";
import * as items from "@flow-state-dev/core/items";
import * as models from "@flow-state-dev/core/models";
import * as prompt from "@flow-state-dev/core/prompt";
import * as types from "@flow-state-dev/core/types";
import * as graph from "@flow-state-dev/core/graph";
import * as helpers from "@flow-state-dev/core/helpers";
import * as promptFiles from "@flow-state-dev/core/prompt-file";
import * as templates from "@flow-state-dev/core/resource-template";
import { defineCapability as fromCapability } from "@flow-state-dev/core/capability";
import { SuspensionError } from "@flow-state-dev/core/errors/suspension-error";
import { z } from "zod";

const stateSchema = z.object({ ...lifecycleSchema(["open", "done"]), title: z.string().default("Untitled") });
const note = defineResource({
  scope: "session",
  stateSchema,
  default: { status: "open" },
  content: "useEffect runs after render",
  llmReadable: true,
  llmWritable: true,
  edges: { vocabulary: ["about"], maxEdges: 10 },
});
const plan = resource({ scope: "user", stateSchema: z.object({ steps: z.array(z.string()).default([]) }) });
const files = defineResourceCollection({
  pattern: "files/**",
  scope: "session",
  stateSchema: z.object({ language: z.string().default("text") }),
  prefetchMode: "partial",
  recentLimit: 5,
  allowedExtensions: ["md"],
  llmReadable: true,
  onInstanceCreated: (key, _state, ctx) => ctx.log(`${ctx.scopeType}: ${key}`),
});
const older = defineResourceNamespace({ pattern: "[topic]/notes", scope: "session", stateSchema: z.object({}) });

const toolCache = createToolCacheCapability({ maxEntries: 10 });
const clock = defineCapability({ name: "clock", fns: () => ({ now: () => 0 }) });
const tools = resourceTools();
const search = resourceSearchTools();

const sessionState = z.object({ topics: z.array(z.string()).default(["state"]) });
const progress = contextFn({ session: sessionState }, ({ session }) =>
  prompt.section({ title: "Progress", level: 3 }, prompt.list(session.topics)),
);

const spare = createFallbackModel({
  groupName: "spare",
  models: [{ modelId: "own", providerName: "own", model: { modelId: "own", generate: async () => ({ text: "own" }) } }],
});
const resolver = createModelResolver({
  defaultModel: "openai/gpt-5.4",
  intents: { chat: ["anthropic/claude-sonnet-4-6", "openai/gpt-5.4"] },
});
const groups = createFSDProvider({ groups: defaultGroups });

const librarian = generator({
  name: "librarian",
  model: selectModel("intent/chat", [
    { preferProvider: () => "openai" },
    { when: (input) => input === "long", use: ["anthropic/claude-opus-4-7", "openai/gpt-5.4"] },
  ]),
  prompt: "You keep notes.",
  context: [progress, { documents: ["a < b"] }],
  tools: [...Object.values(tools), ...Object.values(search), readResourceContentTool(), writeResourceContentTool()],
  resources: { note, files },
  user: (input) => String(input),
});
const quiet = generator({ name: "quiet", model: resolver("intent/chat"), prompt: "Be quiet.", user: "x" });
const grouped = generator({ name: "grouped", model: groups("fast"), prompt: "Be quick.", user: "x" });
const spoken = generator({ name: "spoken", model: spare, prompt: "Speak.", user: "x" });

/** What a call came to: its answer, or its refusal. */
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });
const tried = (call: () => unknown): unknown => {
  try {
    return call();
  } catch (error) {
    return (error as Error).message;
  }
};

const names = handler({
  name: "names",
  execute: () => {
    const path = extendBlockPath(ROOT_BLOCK_PATH, blockPathSegment("step", 1));
    const inner = [
      blockPathIteration(2),
      blockPathLoop(1),
      blockPathBranch("a"),
      blockPathRescue(0),
      blockPathTool("t", 1),
    ];
    return {
      path: inner.reduce(extendBlockPath, path),
      instance: parseBlockInstanceId(buildBlockInstanceId("r", path, 0)),
      keys: [
        types.resolveCollectionKey("files/*", "a.md"),
        types.matchesPattern("files/**", "files/a/b"),
        types.extractPatternParams("[topic]/notes"),
      ],
      definitions: [
        isDefinedResourceCollection(files),
        isDefinedResourceNamespace(older),
        isDefinedResourceCollection(plan),
      ],
      tag: prompt.xmlTag("memory", "x"),
      reserved: tried(() => prompt.validateTagName("system")),
      aliases: [...helpers.computeToolAliases(["a.b", "a/b"]).values()],
      command: ["/plan-change to yearly", "please /plan-change", " /plan-change"].map((text) => text.match(SLASH_COMMAND_PATTERN)?.slice(1) ?? null),
      equal: [helpers.deepEqual(new Date(5), new Date(5)), helpers.deepEqual(new Date(1), 1), tried(() => helpers.deepEqual(nested(40), nested(40))), tried(() => helpers.deepEqual(new Map(), {}))],
      loose: [helpers.looseDeepEqual(NaN, NaN), helpers.looseDeepEqual([1], { 0: 1 }), helpers.looseDeepEqual({ a: new Map([[1, 2]]) }, { a: new Map() }), helpers.looseDeepEqual({ a: 1 }, { b: 1 })],
      seen: items.resolveItemVisibility({ type: "generator_step" } as any),
      traced: [isTraceObservabilityEnabled(), resolveTracingLevel()],
      provider: providerTool("code", {}).name,
    };
  },
});

const costs = handler({
  name: "costs",
  execute: async () => ({
    parsed: parseModelString("vercel/openai/gpt-5.4").gateway,
    provider: extractProviderName("openai/gpt-5.4"),
    available: [...detectAvailableProviders({ env: { OPENAI_API_KEY: "k" } }).keys()],
    resolved: resolver.resolveId("intent/chat"),
    groups: [groups.groups().length, Object.keys(DEFAULT_PRESETS).length > 0, isModelSelection("x") || !isModelSelection({ model: "x" })],
    retryable: isRetryableError(new Error("fetch failed")),
    priced: modelPricingEstimator(DEFAULT_MODEL_LOOKUP).estimate({ prompt: 1_000_000, completion: 0 }, "gpt-4.1"),
    entry: ["gpt-4.1", "anthropic/claude-sonnet-4-5-20250514"].map((model) => findModelEntry(model)?.keyword),
    counted: [
      await estimateTokenCounter.count("1234567", "gpt-4.1"),
      await createEstimateTokenCounter().countMessages([{ content: "ab" }], "other"),
      await createTiktokenCounter({
        encoding_for_model: () => ({ encode: (text: string) => ({ length: text.length }) }),
        get_encoding: () => ({ encode: () => ({ length: 0 }) }),
      }).count("abc", "m"),
    ],
    strict: makeSchemaStrict(z.object({ a: z.string().optional() })).safeParse({}).success,
    refused: tried(() => assertStrictCompatible(z.object({ m: z.record(z.number()) }))) !== undefined,
    marked: tried(() => {
      const request = { messages: [{ role: "system", content: "x".repeat(5000), providerOptions: undefined as any }] };
      applyCaching(request, DEFAULT_CACHING_CONFIG, { provider: "anthropic.chat" });
      return request.messages[0]?.providerOptions.anthropic.cacheControl.ttl;
    }),
    same: models.parseModelString === parseModelString,
  }),
});

const failures = handler({
  name: "failures",
  execute: async () => {
    const stopped = Object.assign(new Error("stopped"), { name: "AbortError" });
    const error = new Error("outer", { cause: stopped });
    return {
      root: (rootCause(error) as Error).message,
      aborted: isAbortLike(error),
      told: serializeError(error),
      details: errorDetailsWithCause({ details: { a: 1 }, cause: stopped }),
      made: [
        helpers.toError("").message,
        new FlowError("x", { code: "c" }).code,
        StrictSchemaError.name,
        SuspensionError.name,
      ],
      command: SLASH_COMMAND_PATTERN.exec("/help me now")?.slice(1),
      dispatched: [DISPATCH_TYPES.length, dispatchHandleSchema.safeParse({ sessionId: "s" }).success, new NoDispatchSeamError("b").code, tried(() => dispatchThroughSeam({}, { target: "t", session: { key: "k" }, from: "b" })) === new NoDispatchSeamError("b").message],
      models: [
        tried(() => createModelResolver({ defaultModel: "a/b", intents: { chat: ["a/b"] }, env: { FSDEV_INTENT_CHAT: "intent/x" } } as any)),
        tried(() => createModelResolver({ defaultModel: "a/b", intents: { chat: ["intent/x"] } })),
        tried(() => createModelResolver({ defaultModel: "a/b", intents: { "1st": [] } })),
        tried(() => createModelResolver({ defaultModel: "a/b", intents: {}, intentDefaults: { chat: {} } } as any)),
        (createModelResolver({ env: { FSDEV_DEFAULT_MODEL: " c/d " }, defaultModel: "a/b", intents: { chat: [] } } as any) as any).resolveId("intent/chat"),
      ],
      entries: [
        resolveEntry({ actions: { go: 1 } }, "public", "go"),
        resolveEntry({ actions: { go: 1 } }, "internal", "go") ?? "none",
        resolveEntry({ actions: {} }, "public", "constructor") ?? "none",
        resolveEntry({ webhooks: { bank: { on: { paid: 2 } } } }, "webhook", "", { webhook: { provider: "bank", eventType: "paid" } }),
        resolveEntry({ schedules: { static: { nightly: 3 } } }, "schedule", "", { schedule: { scheduleId: "nightly" } }),
        resolveEntry(defineFlow({ kind: "other", actions: { go: { block: names } } }), "public", "go").block === names,
      ],
      elsewhere: [(contracts as any).deepEqual === helpers.deepEqual, (contracts as any).buildItemLookup === items.buildItemLookup],
      byUri: resolveResourceByUri === resolveResourceByPath,
      late: await helpers.withTimeout(new Promise(() => {}), 1, "work").catch((late: Error) => late.message),
      limited: await mapLimit([1, 2, 3], 2, async (one) => one * 2),
      absent: [
        wrapAiSdkModel,
        wrapAiSdkSpeechModel,
        wrapAiSdkTranscriptionModel,
        createAiSdkModelResolver,
        createAiSdkSpeechResolver,
        createAiSdkTranscriptionResolver,
        getRequestWorkPool,
        runRescue,
        resolveActiveStatusMessage,
        validateChatConfig,
        validateScheduleConfig,
        validateSchedulesConfig,
        validateConcurrencyConfig,
        validateWebhookConfig,
        buildReplayLog,
        requireRequestHost,
        createBindingCache,
        applyGetOrPatchState,
        recordedAskOutcome,
      ].every((call) => String(tried(() => call())).includes("has no meaning here: ")),
    };
  },
});

const handles = handler({
  name: "handles",
  uses: [toolCache, clock, fromCapability({ name: "other" })],
  resources: { note, plan, files, older },
  sessionStateSchema: sessionState,
  execute: async (_input, ctx) => {
    await ctx.session.setState("topics", ["a"]);
    const known = await ctx.resources.plan.getOrPatchState("steps", () => ["never"]);
    const edge = await ctx.resources.note.edges.add({ from: graph.nodeRef("t", "A"), to: "b", type: "about" });
    await ctx.resources.files.create("b.md");
    await ctx.resources.files.create("a.md");
    const page = await ctx.resources.files.list({ limit: 1 });
    const scanned: string[] = [];
    for await (const file of ctx.resources.files.scan()) scanned.push(file.path);
    const panel = ctx.emit.component("panel", { step: 1 });
    panel.update({ step: 2 }).done();
    ctx.emitComponent("keyed", { step: 1 }, { key: "k" }).update({ step: 2 });
    ctx.emitStatus("working").done();
    const store = createInMemoryToolCacheStore({ maxEntries: 1 });
    store.set("a", { output: 1, storedAt: 0, toolName: "t" });
    bindToolCacheStore(ctx, store);
    return {
      known,
      topics: ctx.session.state.topics,
      edges: [edge.from, graph.traverse(ctx.resources.note.edges.all(), "b").length],
      page: page.items.map((file) => file.name),
      scanned,
      refused: await ctx.resources.files.create("a.exe").catch((error: Error) => error.message),
      components: ctx.response.getItems().flatMap((item) => (item.type === "component" ? [item.data] : [])),
      cache: [ctx.cap.toolCache.stats(), canonicalizeToolArgs({ b: 1, a: 2 })],
      found: (await resolveResourceByPath("note", ctx)).uri,
      merged: helpers.deepMerge({ a: { b: 1 } }, { a: { c: 2 } }),
    };
  },
});

const texts = handler({
  name: "texts",
  execute: async (_input, ctx) => {
    const file = promptFiles.parsePromptFile(
      "---\nmaxTokens: 9\n---\n<system>\nHi {{ input.name | upcase }}.\n</system>",
    );
    const template = templates.parseResourceTemplate("# {{ state.title }}");
    return {
      prompt: await file.prompt({ name: "ada" }, ctx),
      isFile: promptFiles.isPromptFile(file),
      spread: Object.keys(promptFiles.definePromptFile(file)).sort(),
      filled: templates.renderResourceTemplate(template, { title: "T" }),
      table: prompt.table([{ a: 1 }]),
      visible: resolveItemVisibility({ type: "message" }),
      value: items.resolveBlockValue(items.inlineBlockValue(1), items.buildItemLookup([])),
      collapsed: items.collapseToCanonicalLog(ctx.response.getItems()).length,
    };
  },
});

const voices = handler({
  name: "voices",
  execute: async () => {
    const abilities = { speak: true, speakStream: false, transcribe: false, listVoices: false };
    const provider = { id: "p", providerName: "p", abilities, speak: async () => "audio" };
    const both = createCompositeVoiceProvider({ speak: provider });
    return {
      can: [canSpeak(both), canSpeakStream(both), canTranscribe(both), canListVoices(both)],
      heard: voiceContext({}) ?? null,
      said: canSpeak(both) ? await both.speak({ text: "x" }) : undefined,
      retryable: new VoiceError({ kind: "network", provider: "p", message: "m" }).retryable,
    };
  },
});

const change = handler({
  name: "change",
  resources: { note },
  execute: async (_input, ctx) => void (await ctx.resources.note.patchState({ title: "changed" })),
});
const waits = sequencer({ name: "waits", stateSchema: z.object({ scratch: transientSlot(z.number().default(0)) }) })
  .work(change)
  .waitForCondition(whenResourceChanged({ scope: "session", path: "note" }), { timeoutMs: 5_000 })
  .waitForCondition(whenResourceMatching({ scope: "session", pattern: "n*" }), { timeoutMs: 5_000 })
  .waitForCondition(
    whenAnyItem((item) => item.type === "resource_change"),
    { timeoutMs: 5_000 },
  );

const registry = createManifestRegistry([
  { domain: "skills", entries: () => [{ id: "b", kind: "skill", purpose: "B" }, { id: "a", kind: "skill", purpose: "A", contract: "Load it." }] },
  { domain: "channels", entries: () => { throw new Error("no channel answers"); } },
]);
const { discover } = discoveryTools(registry);

const boards = handler({
  name: "boards",
  execute: () => {
    const entry = { block: names, description: "e" };
    const marked = markTaskEntry(entry, { boardId: "b" });
    const sends = markDispatcher(handler({ name: "sends", execute: () => 1 }), { type: "internal", target: "none" });
    const handle = { source: "a/b", status: "completed", sessionId: null, url: null, dispatchedAt: 1 };
    return {
      marked: [isTaskEntry(marked), isTaskEntry(entry), isTaskEntry(null), (marked as any)[TASK_ENTRY].boardId, typeof DISPATCH_SEAM],
      refused: tried(() => defineFlow({ kind: "other", actions: { go: { block: sends } } })),
      host: [tried(() => { try { requireRequestHost(); } catch (error) { return error instanceof NoRequestHostError; } }), new NoRequestHostError().code],
      asks: [new AskEndedError("wait_task_failed", "it broke").message, new AskStoppedError().name],
      domains: [MANIFEST_DOMAINS.filter(isManifestDomain).length, isManifestDomain("others"), registry.domains()],
      twice: tried(() => createManifestRegistry([resourcesManifestSource(), resourcesManifestSource()])),
      harness: [
        (harnessRunInputSchema as any).parse({ prompt: "p", cwd: "/" }),
        harnessRunEnvelopeSchema.safeParse({ ...handle, status: "lost" }).success,
        (harnessRunHandleSchema as any).parse(handle),
      ],
      callers: [extractBearerToken("Bearer t"), new PrincipalResolutionError("no").status, typeof createHmacVerifier({}), typeof createHs256JwtVerifier({})],
    };
  },
});
const asks = handler({
  name: "asks",
  execute: async (_input, ctx) => {
    try {
      return await parkOnAsk(ctx, { gateId: "g", binding: { board: "b", taskId: "t" } });
    } catch (error: any) {
      return [error.name, error.code ?? null, error.message];
    }
  },
});
const finds = sequencer({ name: "finds" }).parallel({
  thin: sequencer({ name: "thin" }).map(() => ({})).step(discover),
  full: sequencer({ name: "full" }).map(() => ({ detail: "full" as const, domain: "skills" })).step(discover),
  unknown: sequencer({ name: "unknown" }).map(() => ({ domain: "tools" })).step(discover),
  none: sequencer({ name: "none" }).map(() => ({ domain: "seats" })).step(discover),
});

const route = router({
  name: "route",
  routes: [names, costs],
  execute: (input) => (input === "costs" ? costs : names),
});

export default defineFlow({
  kind: "every-export",
  session: { stateSchema: sessionState, serverOwned: ["topics"] },
  costEstimator: modelPricingEstimator(),
  actions: {
    route: { block: route },
    failures: { block: failures },
    handles: { block: handles },
    texts: { block: texts },
    voices: { block: voices },
    waits: { block: waits },
    boards: { block: boards },
    asks: { block: asks },
    finds: { block: finds },
    librarian: { block: librarian },
    quiet: { block: quiet },
    grouped: { block: grouped },
    spoken: { block: spoken },
  },
});
