import type { Assignments, InsertValues } from "../../plan/plan.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

/** A list of columns that many rows share. */
export class RowShape {
  readonly columns: readonly ColumnInfo[];
  /** The index of each column's value. */
  readonly places: ReadonlyMap<ColumnInfo, number>;

  constructor(columns: readonly ColumnInfo[]) {
    this.columns = columns;
    this.places = new Map(columns.map((column, place) => [column, place]));
  }

  /** Returns true if a row has these columns in this order. */
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
 * The values of a row, and its columns as a shape that many rows share. Thousands of rows wait to
 * be written, and a map for each row would take several times the memory.
 */
export class ShapedRow implements InsertValues {
  readonly shape: RowShape;
  /** The values in the order of the columns. */
  readonly cells: readonly unknown[];

  /** Creates a row with as many values as the shape has columns. */
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

  toMap(): Map<ColumnInfo, unknown> {
    return new Map(this.shape.columns.map((column, place) => [column, this.cells[place]]));
  }
}

/** Assigns a list of columns to each row. Adjacent rows usually share one list. */
export class RowShaper {
  #last = new RowShape([]);

  shaped(values: Assignments): ShapedRow {
    if (!this.#last.holds(values)) this.#last = new RowShape([...values.keys()]);
    return new ShapedRow(this.#last, [...values.values()]);
  }
}
