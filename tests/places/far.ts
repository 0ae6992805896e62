/** Ways to fail in a file that is imported. */

export const far = {
  plain(input: any) {
    const label = 'a';
    return label +
      input.missing.deep; // @farPlain
  },
  async later(input: any) {
    await Promise.resolve();
    const x = {
      a: 1,
      b: input.missing.deep, // @farLater
    };
    return x;
  },
};
export function farThrow(): never {
  const e = 1;
  throw new TypeError( // @farThrow
    'far ' + e,
  );
}
