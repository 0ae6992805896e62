/**
 * A support desk that sends each ticket to the right place, and escalates what cannot wait.
 *
 * It also shows how a run fails: ask for a refund of order A-200, and the failure has a code, details and a place.
 * Its refunds live in a file of their own, because a flow may be made of several files.
 */

import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { findOrder } from "./lib/orders.ts";
import { refund, refundInput } from "./lib/refunds.ts";

const topic = z.enum(["billing", "technical", "general"]);
const tier = z.enum(["free", "pro", "enterprise"]);

const ticketInput = z.object({
  message: z.string().min(1).describe("What the customer writes. Try “I was charged twice, this is urgent!”"),
  tier: tier.default("free").describe("The customer's plan"),
  orderId: z.string().optional().describe("An order the ticket is about: A-100, A-200, A-300 or A-400"),
});

const ticket = ticketInput.extend({
  ticketId: z.string(),
  topic,
  urgent: z.boolean(),
});

const answer = z.object({
  ticketId: z.string(),
  topic,
  urgent: z.boolean(),
  text: z.string(),
});

const requestState = z.object({
  classifiedBy: z.enum(["rules", "model"]).optional(),
});

const sessionState = z.object({
  ticketCount: z.number().default(0),
  tickets: z.record(z.object({ topic, status: z.enum(["answered", "escalated"]) })).default({}),
});

const userState = z.object({
  contacts: z.number().default(0),
  lastTopic: topic.optional(),
});

const projectState = z.object({
  escalations: z.number().default(0),
});

const intake = handler({
  name: "intake",
  inputSchema: ticketInput,
  sessionStateSchema: sessionState.pick({ ticketCount: true }),
  userStateSchema: userState.pick({ contacts: true }),
  execute: async (input, ctx) => {
    await ctx.session.incState({ ticketCount: 1 });
    await ctx.user.incState({ contacts: 1 });
    const ticketId = `T-${ctx.session.state.ticketCount}`;
    ctx.emitStatus(`Reading ticket ${ticketId}`);
    return { ...input, ticketId };
  },
});

const signs: [z.output<typeof topic>, RegExp][] = [
  ["billing", /\b(?:bill\w*|charge\w*|invoice\w*|pa(?:y|id)\w*|price\w*|refund\w*|subscription\w*)\b/i],
  ["technical", /\b(?:bug\w*|crash\w*|error\w*|fail\w*|install\w*|slow|broken|not work\w*)\b/i],
];

/** Rules are enough for clear cases, give the same answer every time, and cost nothing. */
const classify = handler({
  name: "classify",
  inputSchema: ticketInput.extend({ ticketId: z.string() }),
  outputSchema: ticket,
  requestStateSchema: requestState,
  execute: async (input, ctx) => {
    await ctx.request.patchState({ classifiedBy: "rules" });
    const [found] = signs.find(([, words]) => words.test(input.message)) ?? ["general" as const];
    const urgent =
      /\b(?:urgent|asap|immediately|right now|lawyer)\b/i.test(input.message) || input.tier === "enterprise";
    console.log(`${input.ticketId} is ${found}${urgent ? " and urgent" : ""}`);
    return { ...input, topic: found, urgent };
  },
});

/** Each route answers in its own way, and all of them give the same kind of answer. */
const billing = handler({
  name: "billing",
  inputSchema: ticket,
  outputSchema: answer,
  execute: async (input, ctx) => {
    const order = input.orderId === undefined ? undefined : findOrder(input.orderId);
    const text = order
      ? `Order ${order.id} (${order.product}) cost ${order.amount}. A refund can be asked for once it is delivered.`
      : "Please send us the number of your order, and we will look at what was charged.";
    if (order) {
      ctx.emitComponent("order-card", order, { key: order.id });
    }
    ctx.emitMessage(text);
    return { ticketId: input.ticketId, topic: input.topic, urgent: input.urgent, text };
  },
});

const technical = handler({
  name: "technical",
  inputSchema: ticket,
  outputSchema: answer,
  execute: async (input, ctx) => {
    const steps = ["Restart the app", "Install the latest version", "Send us the log file"];
    const text = `Sorry about that. Please try this first: ${steps.join(", then ").toLowerCase()}.`;
    ctx.emitComponent("checklist", { title: "Before we look deeper", steps });
    ctx.emitMessage(text);
    return { ticketId: input.ticketId, topic: input.topic, urgent: input.urgent, text };
  },
});

const general = handler({
  name: "general",
  inputSchema: ticket,
  outputSchema: answer,
  userStateSchema: userState,
  execute: async (input, ctx) => {
    const text =
      ctx.user.state.contacts > 1
        ? "Good to hear from you again. How can we help this time?"
        : "Welcome! How can we help?";
    ctx.emitMessage(text);
    return { ticketId: input.ticketId, topic: input.topic, urgent: input.urgent, text };
  },
});

/** Only reads its input, because a resumed run asks it again and has to get the same answer. */
const desk = router({
  name: "desk",
  inputSchema: ticket,
  outputSchema: answer,
  routes: [billing, technical, general],
  execute: (input) => ({ billing, technical, general })[input.topic],
});

const file = handler({
  name: "file",
  inputSchema: answer,
  sessionStateSchema: sessionState,
  userStateSchema: userState,
  execute: async (given, ctx) => {
    await ctx.session.setStateRecord("tickets", given.ticketId, { topic: given.topic, status: "answered" });
    await ctx.user.patchState({ lastTopic: given.topic });
  },
});

const notifyTeam = handler({
  name: "notify-team",
  inputSchema: answer,
  projectStateSchema: projectState,
  execute: async (given, ctx) => {
    ctx.emitComponent(
      "escalation",
      { ticketId: given.ticketId, topic: given.topic, answerWithinHours: 2 },
      {
        key: given.ticketId,
      },
    );
    ctx.emitMessage("A colleague will take this over within two hours.");
    // Only a run within a project has a team that counts its escalations.
    await ctx.project?.incState({ escalations: 1 });
  },
});

const noteEscalation = handler({
  name: "note-escalation",
  inputSchema: answer,
  sessionStateSchema: sessionState,
  execute: async (given, ctx) => {
    await ctx.session.setStateRecord("tickets", given.ticketId, { topic: given.topic, status: "escalated" });
    await ctx.session.appendJournal({
      text: `Ticket ${given.ticketId} (${given.topic}) was escalated.`,
      source: "escalate",
      tags: ["escalation", given.topic],
      metadata: { ticketId: given.ticketId },
    });
  },
});

const escalate = sequencer({ name: "escalate", inputSchema: answer }).tap(notifyTeam).tap(noteEscalation);

const handleTicket = sequencer({ name: "handle-ticket", inputSchema: ticketInput })
  .step(intake)
  .step(classify)
  .step(desk)
  .tap(file)
  .stepIf((given) => given.urgent, escalate);

/** Has no identity, so the customer never sees its verdict. It only decides where the ticket goes. */
const classifier = generator({
  name: "classifier",
  model: "gpt-5-mini",
  inputSchema: ticketInput.extend({ ticketId: z.string() }),
  outputSchema: z.object({ topic, urgent: z.boolean() }),
  prompt: "Say what a support ticket is about, and whether it can wait until tomorrow.",
  user: (input) => `${input.message}\n(The customer's plan: ${input.tier})`,
});

/** The model answers with a verdict only, so the ticket itself travels beside it. */
const keepTicket = handler({
  name: "keep-ticket",
  inputSchema: ticketInput.extend({ ticketId: z.string() }),
  requestStateSchema: requestState,
  execute: async (input, ctx) => {
    await ctx.request.patchState({ classifiedBy: "model" });
    return input;
  },
});

const classifyWithModel = sequencer({
  name: "classify-with-model",
  inputSchema: ticketInput.extend({ ticketId: z.string() }),
  outputSchema: ticket,
})
  .parallel({ verdict: classifier, ticket: keepTicket })
  .map(({ verdict, ticket }) => ({ ...ticket, ...verdict }));

const handleTicketWithModel = sequencer({ name: "handle-ticket-with-model", inputSchema: ticketInput })
  .step(intake)
  .step(classifyWithModel)
  .step(desk)
  .tap(file)
  .stepIf((given) => given.urgent, escalate);

export default defineFlow({
  kind: "support",
  request: { stateSchema: requestState },
  session: { stateSchema: sessionState },
  user: { stateSchema: userState },
  project: { stateSchema: projectState },
  actions: {
    ticket: {
      description: "Send a ticket to the right desk, by rules.",
      inputSchema: ticketInput,
      userMessage: (input) => input.message,
      block: handleTicket,
    },
    triage: {
      description: "Send a ticket to the right desk, by a model's judgement.",
      inputSchema: ticketInput,
      userMessage: (input) => input.message,
      block: handleTicketWithModel,
    },
    refund: {
      description: "Pay an order back, or fail with the reason.",
      inputSchema: refundInput,
      block: refund,
    },
  },
});
