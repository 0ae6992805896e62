// How wide the columns of a comparison are: the heads and the rows have the same. In a narrow page the names and what
// differs keep their room, and the tokens give way.

export const COLUMNS = {
  block: 'min-w-0 flex-[4] @[720px]:flex-[5]',
  bars: 'relative h-full min-w-0 flex-[2] @[720px]:flex-[6]',
  time: 'w-20 shrink-0 text-right',
  tokens: 'hidden w-16 shrink-0 text-right @[720px]:inline',
  what: 'min-w-0 flex-[2] truncate @[720px]:flex-[3]',
};
