// How wide the columns of a comparison are: the heads and the rows have the same. In a narrow page the names and what
// differs keep their room, and the tokens give way.

export const COLUMNS = {
  block: 'min-w-0 flex-[3] @[720px]:flex-[2]',
  bars: 'relative h-full min-w-0 flex-[2] @[720px]:flex-[3]',
  time: 'w-20 shrink-0 text-right',
  tokens: 'hidden w-16 shrink-0 text-right @[720px]:inline',
  what: 'min-w-0 flex-[3] truncate @[720px]:flex-[2]',
};
