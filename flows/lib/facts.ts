/**
 * What a person says about themselves, found without a model.
 *
 * A model would find more, but a chat should not need one to remember a name, and a rule gives the same answer every time.
 */

export type FactKind = "name" | "likes" | "dislikes" | "place" | "work";

export interface Noticed {
  kind: FactKind;
  value: string;
}

/** A phrase ends where a clause does, so that "I like tea and my name is Ada" yields tea and Ada. */
const phrase = "([^.,!?;\\n]+?)(?=\\s+(?:and|but|because)\\s+(?:i|my|we)\\b|[.,!?;\\n]|$)";

const rules: [FactKind, RegExp][] = [
  ["name", /\b(?:my name is|i am called|call me)\s+([\p{L}'-]+)/giu],
  ["likes", new RegExp(`\\bi (?:really )?(?:like|love|enjoy)\\s+${phrase}`, "giu")],
  ["dislikes", new RegExp(`\\bi (?:do not like|don't like|dislike|hate)\\s+${phrase}`, "giu")],
  ["place", new RegExp(`\\bi live in\\s+${phrase}`, "giu")],
  ["work", new RegExp(`\\bi work (?:as|at|for|on)\\s+${phrase}`, "giu")],
];

export function noticeFacts(message: string): Noticed[] {
  const noticed: Noticed[] = [];
  for (const [kind, rule] of rules) {
    for (const match of message.matchAll(rule)) {
      const value = match[1]?.trim();
      if (value) {
        noticed.push({ kind, value });
      }
    }
  }
  return noticed;
}

const sentences: Record<FactKind, (value: string) => string> = {
  name: (value) => `their name is ${value}`,
  likes: (value) => `they like ${value}`,
  dislikes: (value) => `they do not like ${value}`,
  place: (value) => `they live in ${value}`,
  work: (value) => `they work with ${value}`,
};

/** A fact as a model reads it. */
export function describeFact({ kind, value }: Noticed): string {
  return sentences[kind](value);
}
