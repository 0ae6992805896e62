/**
 * The significant words of a text. Search and topic lists share this function, so that they agree.
 */

const unimportant = new Set(
  (
    "a about after all also an and any are as at be because been before but by can could did do does for from get give " +
    "had has have hello help hi how i if in into is it its just let like make may me more most my need no not of on one " +
    "or our out please should so some than thanks that the their them then there these they this those to us use want " +
    "was we well were what when where which who why will with would you your"
  ).split(" "),
);

export function significantWords(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}][\p{L}'-]+/gu) ?? [];
  return [...new Set(words.filter((word) => !unimportant.has(word)))];
}
