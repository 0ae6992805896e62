/**
 * A shelf of short articles, so that the research example finds something without a network or a key.
 */

import { significantWords } from "./words.ts";

export interface Article {
  title: string;
  angle: "background" | "evidence" | "trade-offs" | "cost";
  text: string;
}

const shelf: Article[] = [
  {
    title: "Why cities are warmer",
    angle: "background",
    text: "Asphalt, brick and dark roofs take up sunlight by day and give it back at night, so a city stays warmer than the land around it.",
  },
  {
    title: "How trees cool a street",
    angle: "background",
    text: "Trees cool a street twice: their crowns keep the sun off the ground, and the water their leaves give off takes heat from the air.",
  },
  {
    title: "What shade does",
    angle: "evidence",
    text: "A surface in the shade of a tree is far cooler than the same surface in the sun, which people on a street feel more than the air temperature.",
  },
  {
    title: "Pale roofs",
    angle: "evidence",
    text: "A pale roof sends back most of the sunlight that a dark roof would turn into heat, which cools the rooms below it in summer.",
  },
  {
    title: "Trees need water and room",
    angle: "trade-offs",
    text: "A young tree on a street needs water in a dry summer and room for its roots, and its shade takes decades to grow.",
  },
  {
    title: "What pale roofs cannot do",
    angle: "trade-offs",
    text: "A pale roof keeps a city cool in summer but also keeps out welcome warmth in winter, so it suits warm places best.",
  },
  {
    title: "Paying for trees and roofs",
    angle: "cost",
    text: "Paint for a roof costs little and works at once, while the cost of a street tree is mostly the care of its first years.",
  },
];

export const angles = ["background", "evidence", "trade-offs", "cost"] as const;

/** The articles that share a word with the query or belong to the angle it names, the best match first. */
export function searchLibrary(query: string, limit = 2): Article[] {
  const wanted = new Set(significantWords(query));
  return shelf
    .map((article) => {
      const words = significantWords(`${article.title} ${article.text}`);
      const shared = words.filter((word) => wanted.has(word)).length;
      return { article, score: shared === 0 ? 0 : shared + (wanted.has(article.angle) ? 10 : 0) };
    })
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .slice(0, limit)
    .map(({ article }) => article);
}
