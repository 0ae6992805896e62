// From which width on the parts of the header of a request are shown, by how many of its other parts there are: a word of
// the status, the link to an original, Abort, Resume. Whole names of classes, because they are found in the text of files.
export const ROOMS = {
  acts: ['@[680px]:inline', '@[770px]:inline', '@[860px]:inline', '@[950px]:inline', '@[1040px]:inline'],
  user: ['@[900px]:inline', '@[960px]:inline', '@[1040px]:inline', '@[1120px]:inline', '@[1210px]:inline'],
  bare: ['@[900px]:hidden', '@[960px]:hidden', '@[1040px]:hidden', '@[1120px]:hidden', '@[1210px]:hidden'],
  again: [
    '@[1000px]:not-sr-only',
    '@[1060px]:not-sr-only',
    '@[1140px]:not-sr-only',
    '@[1220px]:not-sr-only',
    '@[1310px]:not-sr-only',
  ],
} as const;
