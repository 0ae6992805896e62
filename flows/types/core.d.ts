/**
 * The module `@flow-state-dev/core`, as the engine provides it to every flow without an installation.
 *
 * It has the older and the newer names of each thing, so that flows for any version of the API type-check unchanged.
 */

export * from "./actions.js";
export * from "./block-config.js";
export * from "./blocks.js";
export * from "./capabilities.js";
export * from "./context.js";
export * from "./discovery.js";
export * from "./dispatcher.js";
export * from "./entries.js";
export * from "./errors.js";
export * from "./evaluator.js";
export * from "./facets.js";
export * from "./failures.js";
export * from "./flow.js";
export * from "./host-settings.js";
export * from "./generator.js";
export * from "./handler.js";
export * from "./item.js";
export * from "./items.js";
export * from "./library.js";
export * from "./middleware.js";
export * from "./models.js";
export * from "./reactions.js";
export * from "./refusals.js";
export * from "./relay.js";
export * from "./resource-handles.js";
export * from "./resources.js";
export * from "./router.js";
export * from "./schema.js";
export * from "./scopes.js";
export * from "./sequencer.js";
export * from "./state.js";
export * from "./suspension.js";
export * from "./tools.js";
export * as utility from "./utility.js";
export * from "./voice.js";
