/**
 * Entries: what of a flow is run by something else than a person's call of an action. `flowglass trigger` fires
 * schedules, webhooks and bots' events by hand; `flowglass run --internal` runs internal and task entries.
 */

import type { ActionConfig, ActionOverride } from "./actions.js";
import type { MaybePromise } from "./schema.js";

/** What an entry runs: a block of its own, or, in an older spelling, an action of the flow by its name. */
type Bound = ActionConfig<any> | (ActionOverride & { block?: undefined; steps?: undefined; action: string });

/** Internal or task entries; an older spelling leaves out `actions`. */
export type OwnEntries = { actions: { [name: string]: ActionConfig<any> } } | { [name: string]: ActionConfig<any> };

/** An event of a provider, as a binding gets it. */
export interface WebhookInboundEvent<P = unknown> {
  provider: string;
  eventType: string | null;
  payload: P;
  headers: Headers;
  /** The payload as bytes. */
  rawBody: Uint8Array;
  deliveryId?: string;
}

/** The functions of a binding are called before there is a request: they get the event alone, and must not wait. */
interface EventMapping<E> {
  /** Makes the input of the block. */
  input: (event: E) => MaybePromise<unknown>;
  /** The session that it runs in; a new one for each event without it. */
  sessionId?: (event: E) => MaybePromise<string | undefined>;
  /** Lets an event pass where it says no. */
  when?: (event: E) => boolean;
}

export type WebhookEventBinding<P = any> = Bound & EventMapping<WebhookInboundEvent<P>>;

/** By provider, then by event. */
export interface WebhookConfig {
  [provider: string]: { on: { [event: string]: WebhookEventBinding } };
}

export type ChatEventBinding<E = any> = Bound & EventMapping<E>;

/** By kind of event: `mention`, `directMessage`, `reaction`, `slashCommand`. */
export interface ChatConfig {
  on?: { [event: string]: ChatEventBinding };
  /** For a host with a thread to write to; there is none here. */
  streamToThread?: boolean;
}

/** Whom a schedule runs for. */
export interface SchedulePrincipal {
  userId: string;
  orgId?: string;
}

export interface ScheduleInputContext {
  scheduleId: string;
  cron: string;
  /** ISO 8601. */
  nominalFireTime: string;
  principal: SchedulePrincipal;
  flowKind: string;
  origin: "static" | "dynamic";
}

export type ScheduleConfig = Bound & {
  /** Five fields: minute, hour, day of the month, month, day of the week. Shown; nothing here fires by the clock. */
  cron: string;
  /** The input, or a function that makes it when the schedule is fired. */
  input?: unknown;
  principal?: SchedulePrincipal;
  /** `UTC` unless you say otherwise. */
  timezone?: string;
  /** A second run while the first one is in progress is refused, unless this is `allow`. */
  onOverlap?: "skip" | "allow";
  /** Shown. One that is off can be fired by hand all the same. */
  enabled?: boolean;
};

export interface SchedulesConfig {
  static?: { [id: string]: ScheduleConfig };
  /** Finds a schedule that is not in `static`, when it is fired and when its request goes on. It must not wait. */
  resolve?: (id: string, ctx: any) => MaybePromise<ScheduleConfig | null>;
}

/** Gives `event.payload` a type. */
export declare function defineWebhookBinding<P = unknown>(
  binding: Bound & EventMapping<WebhookInboundEvent<P>>,
): WebhookEventBinding;

export declare function defineScheduleBinding(binding: ScheduleConfig): ScheduleConfig;
