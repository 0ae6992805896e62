/**
 * A chat that remembers people across conversations.
 *
 * Each scope keeps what belongs to its lifetime: the request what was heard in this turn, the session how many turns there
 * were, and the user what should still be known next week. Tell it your name, then start another session as the same user.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { describeFact, noticeFacts } from "./lib/facts.ts";
import { preferences, responseStyle } from "./lib/preferences.ts";

const chatInput = z.object({
  message: z.string().min(1).describe("What you say. Try “Hi, my name is Ada and I like tea.”"),
});

const fact = z.object({
  kind: z.enum(["name", "likes", "dislikes", "place", "work"]),
  value: z.string(),
});

const requestState = z.object({
  heard: z.array(fact).default([]),
});

const sessionState = z.object({
  turns: z.number().default(0),
});

const userState = z.object({
  facts: z.array(fact.extend({ source: z.string(), addedAt: z.number() })).default([]),
  preferences: preferences.default({}),
});

const startTurn = handler({
  name: "start-turn",
  sessionStateSchema: sessionState,
  execute: async (_input, ctx) => {
    ctx.emitStatus("Reading your message");
    await ctx.session.incState({ turns: 1 });
  },
});

/** Only the first turn of a session greets, and only people it already knows something about. */
const greet = handler({
  name: "greet",
  userStateSchema: userState,
  execute: async (_input, ctx) => {
    const facts = ctx.user.state.facts;
    const name = facts.findLast((known) => known.kind === "name")?.value;
    const likes = facts.filter((known) => known.kind === "likes").map((known) => known.value);
    const memory = likes.length > 0 ? ` I remember that you like ${likes.join(" and ")}.` : "";
    ctx.emitMessage(`Welcome back${name ? `, ${name}` : ""}.${memory}`);
  },
});

const listen = handler({
  name: "listen",
  inputSchema: chatInput,
  requestStateSchema: requestState,
  outputSchema: z.array(fact),
  execute: async (input, ctx) => {
    const heard = noticeFacts(input.message);
    await ctx.request.patchState({ heard });
    return heard;
  },
});

/**
 * Writing happens in a block of its own, so that the timeline shows what was heard apart from what was new.
 * A name replaces the one before it; everything else is added once.
 */
const keep = handler({
  name: "keep",
  inputSchema: z.array(fact),
  userStateSchema: userState,
  execute: async (heard, ctx) => {
    for (const { kind, value } of heard) {
      const known = ctx.user.state.facts;
      if (known.some((old) => old.kind === kind && old.value === value)) {
        continue;
      }
      if (kind === "name") {
        await ctx.user.patchState("facts", (facts) => facts.filter((old) => old.kind !== "name"));
      }
      await ctx.user.pushState("facts", {
        kind,
        value,
        source: ctx.session.identity.id,
        addedAt: Date.now(),
      });
      ctx.emitMessage(`Noted that ${describeFact({ kind, value })}.`, { agentType: "trace" });
    }
  },
});

const memory = sequencer({ name: "memory", inputSchema: chatInput }).step(listen).tap(keep);

/** Speaks to the user, so its replies are shown and become part of the history that its next call reads. */
const chatbot = generator({
  name: "chatbot",
  agentType: "primary",
  model: "gpt-5-mini",
  inputSchema: chatInput,
  userStateSchema: userState,
  activeStatusMessage: "Thinking",
  prompt: (_input, ctx) =>
    ctx.user.state.preferences.responseStyle === "concise"
      ? "You are a friendly companion. Answer in one or two sentences."
      : "You are a friendly companion. Answer thoroughly, and ask a question back when one helps.",
  context: {
    aboutTheUser: (_input, ctx) => ctx.user.state.facts.map((known) => `- ${describeFact(known)}`).join("\n"),
  },
  history: true,
  user: (input) => input.message,
});

const turn = sequencer({ name: "turn", inputSchema: chatInput })
  .tap(startTurn)
  .tapIf((_, ctx) => ctx.session.state.turns === 1 && ctx.user.state.facts.length > 0, greet)
  .tap(memory)
  .step(chatbot)
  .map((reply, ctx) => ({ reply, turn: ctx.session.state.turns }));

const recall = handler({
  name: "recall",
  userStateSchema: userState,
  execute: async (_input, ctx) => {
    const { facts, preferences } = ctx.user.state;
    const sentences = facts.map((known) => describeFact(known));
    // A key lets a client update the one card it has, instead of stacking a new card under each question.
    ctx.emitComponent("memory-card", { sentences, preferences }, { key: "memory" });
    ctx.emitMessage(sentences.length > 0 ? `I know that ${sentences.join(", ")}.` : "I know nothing about you yet.");
    return { facts: sentences };
  },
});

const preferInput = z.object({
  responseStyle: responseStyle.describe("How long answers should be, in every session from now on"),
});

const prefer = handler({
  name: "prefer",
  inputSchema: preferInput,
  userStateSchema: userState,
  execute: async (input, ctx) => {
    // Merging is shallow, so the other preferences are carried over by hand.
    await ctx.user.patchState("preferences", (old) => ({ ...old, ...input }));
    ctx.emitMessage(`Answers will be ${input.responseStyle} from now on.`);
    return ctx.user.state.preferences;
  },
});

const forgetInput = z.object({
  what: z.enum(["facts", "preferences", "everything"]).default("facts").describe("What to forget about you"),
});

const forget = handler({
  name: "forget",
  inputSchema: forgetInput,
  userStateSchema: userState,
  execute: async ({ what }, ctx) => {
    const forgotten = ctx.user.state.facts.length;
    if (what !== "preferences") {
      await ctx.user.patchState({ facts: [] });
    }
    if (what !== "facts") {
      await ctx.user.patchState({ preferences: {} });
    }
    await ctx.session.appendJournal({
      text: `The user asked to forget ${what}.`,
      source: "forget",
      tags: ["privacy"],
    });
    ctx.emitMessage("Done, that is forgotten.");
    return { what, factsForgotten: what === "preferences" ? 0 : forgotten };
  },
});

export default defineFlow({
  kind: "chat",
  request: { stateSchema: requestState },
  session: { stateSchema: sessionState },
  user: { stateSchema: userState },
  actions: {
    chat: {
      description: "Say something. What you tell about yourself is remembered in every session.",
      inputSchema: chatInput,
      userMessage: (input) => input.message,
      block: turn,
    },
    recall: {
      description: "Show what is remembered about you.",
      inputSchema: z.object({}),
      block: recall,
    },
    prefer: {
      description: "Choose how answers should be written.",
      inputSchema: preferInput,
      block: prefer,
    },
    forget: {
      description: "Delete what is remembered about you.",
      inputSchema: forgetInput,
      block: forget,
    },
  },
});
