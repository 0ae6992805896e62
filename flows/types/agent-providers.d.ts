/** The modules `@standardagents/openai` and its kind: providers for `defineModel`. */

import type { Provider } from "./agents.js";

export declare const anthropic: Provider;
export declare const google: Provider;
export declare const groq: Provider;
export declare const mistral: Provider;
export declare const openai: Provider;
export declare const openrouter: Provider;
export declare const xai: Provider;
