/**
 * Messages between the sessions of a flow: `relay` says which it takes, `ctx.requestHost` sends them.
 */

import type { ActionConfig } from "./actions.js";
import type { Block } from "./blocks.js";
import type { MaybePromise } from "./schema.js";

export interface RelayInboundMessage<P = unknown> {
  kind: string;
  payload: P;
  /** The session that sent it. */
  from: string;
}

/** What a message runs. It is told to the conversation, too, by `userMessage` or by its kind and its input. */
export type RelayMessageBinding<P = any> = ActionConfig<any> & {
  /** Makes the input of the block. */
  input: (message: RelayInboundMessage<P>) => MaybePromise<unknown>;
};

export interface RelayConfig {
  on: { [kind: string]: RelayMessageBinding };
}

export type SendMessageRefusal =
  | "unknown-recipient"
  | "recipient-busy"
  | "no-relay-door"
  | "no-durable-sender"
  | "mode-not-available"
  | "invalid-payload"
  | "no-dispatch-operation";

export type SendMessageResult =
  | { readonly ok: true; readonly outcome: "accepted"; readonly deliveryRequestId: string }
  | { readonly ok: false; readonly outcome: "refused"; readonly refused: SendMessageRefusal; readonly detail: string };

export interface RequestHost {
  /** Sends a message to another session of the same user and flow, and does not wait for it. */
  sendMessage(message: {
    to: string;
    kind: string;
    payload?: unknown;
    mode?: "fireAndForget" | "waitForResponse";
    timeoutMs?: number;
  }): Promise<SendMessageResult>;
}

/** The binding as it is, with the type of its payload. */
export declare function defineRelayBinding<P = unknown>(binding: RelayMessageBinding<P>): RelayMessageBinding<P>;
export declare function validateRelayConfig(relay: RelayConfig | undefined, flowKind: string): void;
/** A tool by which a model sends messages: `sendMessage`. */
export declare function relaySendTool(options?: { name?: string; description?: string }): Block;
