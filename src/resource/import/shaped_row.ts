import type { Assignments, InsertValues } from "../../plan/plan.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

/** The columns of rows, in one order. */
export class RowShape {
  readonly columns: readonly ColumnInfo[];
  /** Where the value of each stands. */
  readonly places: ReadonlyMap<ColumnInfo, number>;

  /** In this order. */
  constructor(columns: readonly ColumnInfo[]) {
    this.columns = columns;
    this.places = new Map(columns.map((column, place) => [column, place]));
  }

  /** Returns true if a row has these columns, in this order. */
  holds(row: Assignments): boolean {
    if (row.size !== this.columns.length) return false;
    let place = 0;
    for (const column of row.keys()) {
      if (column !== this.columns[place++]) return false;
    }
    return true;
  }
}

/**
 * The values of a row beside the shape that it has in common with others: thousands of rows wait to
 * be written, and a map for each takes several times the memory.
 */
export class ShapedRow implements InsertValues {
  readonly shape: RowShape;
  /** In the order of the columns. */
  readonly cells: readonly unknown[];

  /** As many values as the shape has columns. */
  constructor(shape: RowShape, cells: readonly unknown[]) {
    this.shape = shape;
    this.cells = cells;
  }

  has(column: ColumnInfo): boolean {
    return this.shape.places.has(column);
  }

  get(column: ColumnInfo): unknown {
    const place = this.shape.places.get(column);
    return place === undefined ? undefined : this.cells[place];
  }

  /** The same as a map. */
  toMap(): Map<ColumnInfo, unknown> {
    return new Map(this.shape.columns.map((column, place) => [column, this.cells[place]]));
  }
}

/** Returns rows their shapes: those that follow each other mostly have the same. */
export class RowShaper {
  #last = new RowShape([]);

  shaped(values: Assignments): ShapedRow {
    if (!this.#last.holds(values)) this.#last = new RowShape([...values.keys()]);
    return new ShapedRow(this.#last, [...values.values()]);
  }
}
