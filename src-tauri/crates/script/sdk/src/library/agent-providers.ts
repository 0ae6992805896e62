// `@standardagents/openai` and its kind: the providers that `defineModel` takes. Here each is its name; the program
// knows the providers themselves.

interface Provider {
  (options?: unknown): Provider;
  readonly providerName: string;
}

function provider(providerName: string): Provider {
  const made: Provider = Object.assign(() => made, { providerName });
  return made;
}

export const anthropic = provider('anthropic');
export const google = provider('gemini');
export const groq = provider('groq');
export const mistral = provider('mistral');
export const openai = provider('openai');
export const openrouter = provider('openrouter');
export const xai = provider('xai');
