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
 * The values of a row. The list of its columns (the shape) is shared by many rows, because a map
 * for each of thousands of waiting rows would need several times the memory.
 */
export class ShapedRow implements InsertValues {
  readonly shape: RowShape;
  /** The values in the order of the columns. */
  readonly cells: readonly unknown[];

  /** Creates a row. There must be one value for each column of the shape. */
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

/** Finds the shape of each row. Adjacent rows usually share one shape. */
export class RowShaper {
  #last = new RowShape([]);

  shaped(values: Assignments): ShapedRow {
    if (!this.#last.holds(values)) this.#last = new RowShape([...values.keys()]);
    return new ShapedRow(this.#last, [...values.values()]);
  }
}
