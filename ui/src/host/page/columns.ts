// Rows that were written as columns: differences of whole numbers, or different values with the place of each row's.
// `runner/src/workspace/moving/page/columns.rs` writes them.

type Written = { d: number[] } | { v: unknown[]; i: number[] };
export type WrittenTable = { rows: number; columns: Record<string, Written> };

export class Table {
  readonly rows: number;
  readonly names: readonly string[];
  readonly #columns = new Map<string, (row: number) => unknown>();

  constructor({ rows, columns }: WrittenTable) {
    this.rows = rows;
    this.names = Object.keys(columns);
    for (const [name, column] of Object.entries(columns)) {
      if ('d' in column) {
        const numbers = added(column.d);
        this.#columns.set(name, (row) => numbers[row]);
      } else {
        const { v, i } = column;
        this.#columns.set(name, (row) => v[i[row] ?? -1]);
      }
    }
  }

  /** The value of a row; undefined where it has none. */
  get(name: string, row: number): unknown {
    return this.#columns.get(name)?.(row);
  }

  /** A column of numbers, with another number where a row has none. */
  numbers(name: string, otherwise: number): Float64Array {
    const found = new Float64Array(this.rows).fill(otherwise);
    const column = this.#columns.get(name);
    if (!column) return found;
    for (let row = 0; row < this.rows; row++) {
      const value = column(row);
      if (typeof value === 'number') found[row] = value;
    }
    return found;
  }
}

function added(differences: readonly number[]): Float64Array {
  const numbers = new Float64Array(differences.length);
  let sum = 0;
  differences.forEach((difference, at) => (numbers[at] = sum += difference));
  return numbers;
}
