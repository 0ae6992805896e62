/**
 * An assistant for a team, with state in all four scopes.
 *
 * A setting is looked up from the narrowest scope to the broadest: this request, then the session, then the user, then the
 * project, and a default at last. Run it with `--project` and without to see where each value comes from.
 */

import { defineFlow, FlowError, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { preferences, responseStyle } from "./lib/preferences.ts";
import { significantWords } from "./lib/words.ts";

const mode = z.enum(["chat", "agent", "review"]);

/** Scratch for this execution, gone when it completes. */
const requestState = z.object({
  processingStage: z.string().optional(),
  styleOverride: responseStyle.optional(),
});

/** The conversation. */
const sessionState = z.object({
  mode: mode.default("chat"),
  messageCount: z.number().default(0),
  styleOverride: responseStyle.optional(),
});

/** The person, in every conversation and in other flows, too. */
const userState = z.object({
  preferences: preferences.default({}),
  recentTopics: z.array(z.string()).default([]),
});

/** The team, for everyone in it. */
const projectState = z.object({
  config: z
    .object({
      systemPrompt: z.string().default("You are a helpful assistant."),
      responseStyle: responseStyle.default("detailed"),
      maxTokens: z.number().default(4096),
    })
    .default({}),
});

const chatInput = z.object({
  message: z.string().min(1).describe("What you want from the assistant"),
  mode: mode.optional().describe("Switches the session to another mode, from this message on"),
  style: responseStyle.optional().describe("How this one answer should be written, whatever is set elsewhere"),
});

const settings = z.object({
  style: responseStyle,
  styleFrom: z.enum(["request", "session", "user", "project", "default"]),
  systemPrompt: z.string(),
  maxTokens: z.number(),
});

const prepared = z.object({
  message: z.string(),
  settings,
});

const receive = handler({
  name: "receive",
  inputSchema: chatInput,
  requestStateSchema: requestState,
  sessionStateSchema: sessionState.pick({ messageCount: true }),
  execute: async (input, ctx) => {
    await ctx.request.patchState({ processingStage: "received", styleOverride: input.style });
    await ctx.session.incState({ messageCount: 1 });
  },
});

/** Hands its input on, because `stepIf` replaces the value when its block runs. */
const switchMode = handler({
  name: "switch-mode",
  inputSchema: chatInput,
  outputSchema: chatInput,
  sessionStateSchema: sessionState.pick({ mode: true }),
  execute: async (input, ctx) => {
    const before = ctx.session.state.mode;
    const after = input.mode ?? before;
    await ctx.session.patchState({ mode: after });
    await ctx.session.appendJournal({
      text: `User switched from ${before} to ${after} mode`,
      source: "switch-mode",
      tags: ["mode-change"],
    });
    ctx.emitStatus(`Now in ${after} mode`);
    return input;
  },
});

const resolveSettings = handler({
  name: "resolve-settings",
  inputSchema: chatInput,
  outputSchema: prepared,
  requestStateSchema: requestState,
  sessionStateSchema: sessionState,
  userStateSchema: userState,
  projectStateSchema: projectState,
  execute: async (input, ctx) => {
    await ctx.request.patchState({ processingStage: "resolving settings" });
    const candidates = [
      ["request", ctx.request.state.styleOverride],
      ["session", ctx.session.state.styleOverride],
      ["user", ctx.user.state.preferences.responseStyle],
      ["project", ctx.project?.state.config.responseStyle],
    ] as const;
    const [styleFrom, style] = candidates.find(([, value]) => value !== undefined) ?? ["default" as const, undefined];
    // Without a project there is no team configuration, and the assistant works all the same.
    const config = ctx.project?.state.config;
    return {
      message: input.message,
      settings: {
        style: style ?? "detailed",
        styleFrom,
        systemPrompt: config?.systemPrompt ?? "You are a helpful assistant.",
        maxTokens: config?.maxTokens ?? 1024,
      },
    };
  },
});

const noteTopics = handler({
  name: "note-topics",
  inputSchema: prepared,
  userStateSchema: userState.pick({ recentTopics: true }),
  execute: async ({ message }, ctx) => {
    const topics = significantWords(message).slice(0, 3);
    // An updater sees the newest list even when another session of this user has just written to it.
    await ctx.user.patchState("recentTopics", (recent) => [...new Set([...topics, ...recent])].slice(0, 8));
  },
});

const prepare = sequencer({ name: "prepare", inputSchema: chatInput, outputSchema: prepared })
  .step(resolveSettings)
  .tap(noteTopics);

const openings = {
  chat: "Let us talk about",
  agent: "These are the steps I would take for",
  review: "This is what I would look at in",
} as const;

/** Answers by rule, so that the example runs without a model. `ask` does the same with one. */
const reply = handler({
  name: "reply",
  inputSchema: prepared,
  requestStateSchema: requestState,
  sessionStateSchema: sessionState,
  userStateSchema: userState,
  execute: async ({ message, settings }, ctx) => {
    await ctx.request.patchState({ processingStage: "replying" });
    const topics = significantWords(message).slice(0, 3).join(", ") || "that";
    const earlier = ctx.user.state.recentTopics.filter((topic) => !message.toLowerCase().includes(topic));
    const short = `${openings[ctx.session.state.mode]} ${topics}.`;
    const long = earlier.length > 0 ? ` Lately you also asked about ${earlier.join(", ")}.` : "";
    const text = settings.style === "detailed" ? short + long : short;
    ctx.emitMessage(text);
    return { text, mode: ctx.session.state.mode, messageCount: ctx.session.state.messageCount };
  },
});

const showSettings = handler({
  name: "show-settings",
  inputSchema: prepared,
  execute: ({ settings }, ctx) => {
    ctx.emitComponent("settings-in-effect", settings, { key: "settings" });
  },
});

const finish = handler({
  name: "finish",
  requestStateSchema: requestState,
  execute: async (_input, ctx) => {
    await ctx.request.patchState({ processingStage: "done" });
  },
});

const chatPipeline = sequencer({ name: "chat-pipeline", inputSchema: chatInput })
  .tap(receive)
  .stepIf((input, ctx) => input.mode !== undefined && input.mode !== ctx.session.state.mode, switchMode)
  .step(prepare)
  .tap(showSettings)
  .step(reply)
  .tap(finish);

const modelReply = generator({
  name: "model-reply",
  agentType: "primary",
  model: "gpt-5-mini",
  inputSchema: prepared,
  sessionStateSchema: sessionState.pick({ mode: true }),
  prompt: [
    ({ settings }) => settings.systemPrompt,
    ({ settings }) => (settings.style === "concise" ? "Answer in one or two sentences." : null),
    (_input, ctx) => (ctx.session.state.mode === "review" ? "Point out what could go wrong." : null),
  ],
  history: { limit: { tokens: 4_000 } },
  user: ({ message }) => message,
});

const askPipeline = sequencer({ name: "ask-pipeline", inputSchema: chatInput })
  .tap(receive)
  .step(prepare)
  .tap(showSettings)
  .step(modelReply)
  .tap(finish);

const preferInput = z.object({
  responseStyle: responseStyle.describe("How answers should be written"),
  where: z.enum(["session", "user"]).default("user").describe("For this conversation only, or for all of yours"),
});

const prefer = handler({
  name: "prefer",
  inputSchema: preferInput,
  sessionStateSchema: sessionState,
  userStateSchema: userState,
  execute: async ({ responseStyle: style, where }, ctx) => {
    if (where === "session") {
      await ctx.session.patchState({ styleOverride: style });
    } else {
      await ctx.user.patchState("preferences", (old) => ({ ...old, responseStyle: style }));
    }
    ctx.emitMessage(`Answers will be ${style} for ${where === "session" ? "this session" : "you"}.`);
    return { responseStyle: style, where };
  },
});

const configureInput = z.object({
  systemPrompt: z.string().optional().describe("What the assistant is told before every conversation"),
  responseStyle: responseStyle.optional().describe("The team's usual style, for everyone who has not chosen one"),
  maxTokens: z.number().int().min(256).max(100_000).optional().describe("How long an answer may become"),
});

const configure = handler({
  name: "configure",
  inputSchema: configureInput,
  projectStateSchema: projectState,
  execute: async (input, ctx) => {
    if (!ctx.project) {
      throw new FlowError("There is no project to configure. Start the run with one.", { code: "no_project" });
    }
    await ctx.project.patchState("config", (old) => ({ ...old, ...input }));
    await ctx.session.appendJournal({
      text: `${ctx.user.identity.id} changed the team's configuration: ${Object.keys(input).join(", ") || "nothing"}.`,
      source: "configure",
      tags: ["configuration"],
      metadata: input,
    });
    ctx.emitMessage("The team's configuration is changed, for everyone in it.");
    return ctx.project.state.config;
  },
});

export default defineFlow({
  kind: "team-assistant",
  request: { stateSchema: requestState },
  session: { stateSchema: sessionState },
  user: { stateSchema: userState },
  project: { stateSchema: projectState },
  actions: {
    chat: {
      description: "Send a message, and see which scope each setting came from.",
      inputSchema: chatInput,
      userMessage: (input) => input.message,
      steps: chatPipeline,
    },
    ask: {
      description: "The same with an answer from a model.",
      inputSchema: chatInput,
      userMessage: (input) => input.message,
      steps: askPipeline,
    },
    prefer: {
      description: "Set your own style, for one session or for all.",
      inputSchema: preferInput,
      block: prefer,
    },
    configure: {
      description: "Set the team's configuration. Needs a project.",
      inputSchema: configureInput,
      block: configure,
    },
  },
});
