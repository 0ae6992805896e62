// What an arrow key does in a tree of visible rows, after the treegrid pattern of the ARIA practices.
// One copy for every tree in the window, so that they all feel the same.

export type TreeRow = { depth: number; expandable: boolean; expanded: boolean };
export type TreeMove = { do: 'go'; to: number } | { do: 'open'; at: number } | { do: 'close'; at: number } | null;

export function treeMove(rows: readonly TreeRow[], at: number, key: string, page = 10): TreeMove {
  const last = rows.length - 1;
  const row = rows[at];
  if (!row) return last >= 0 ? { do: 'go', to: 0 } : null;
  const go = (to: number): TreeMove => ({ do: 'go', to: Math.min(last, Math.max(0, to)) });
  switch (key) {
    case 'ArrowDown':
      return go(at + 1);
    case 'ArrowUp':
      return go(at - 1);
    case 'PageDown':
      return go(at + page);
    case 'PageUp':
      return go(at - page);
    case 'Home':
      return go(0);
    case 'End':
      return go(last);
    case 'ArrowRight':
      if (!row.expandable) return null;
      return row.expanded ? go(at + 1) : { do: 'open', at };
    case 'ArrowLeft': {
      if (row.expandable && row.expanded) return { do: 'close', at };
      for (let above = at - 1; above >= 0; above--) {
        if ((rows[above]?.depth ?? 0) < row.depth) return go(above);
      }
      return null;
    }
    default:
      return null;
  }
}
