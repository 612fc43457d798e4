/** The position of a cell: the index of its row in the list, and of its column among the fields. */
export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** The active cell, and the opposite corner of the range that is selected with it. */
export interface ActiveCell extends Cell {
  readonly anchor: Cell;
}

/** A range of cells. The last row and the last column belong to the range. */
export interface CellRange {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** The numbers of rows and columns of a grid, and the number of rows that are in view. */
export interface GridSize {
  readonly rows: number;
  readonly columns: number;
  readonly page: number;
}

/** Returns an active cell without a range. */
export function activeAt(row: number, column: number): ActiveCell {
  return { row, column, anchor: { row, column } };
}

/** Returns the range between the active cell and its anchor. */
export function rangeOf({ row, column, anchor }: ActiveCell): CellRange {
  return {
    top: Math.min(row, anchor.row),
    bottom: Math.max(row, anchor.row),
    left: Math.min(column, anchor.column),
    right: Math.max(column, anchor.column),
  };
}

/** Returns true if a range contains more than one cell. */
export function hasRange({ row, column, anchor }: ActiveCell): boolean {
  return row !== anchor.row || column !== anchor.column;
}

/** Returns the active cell after a move. With `extends`, the anchor of the range stays. */
export function movedBy(
  cell: ActiveCell,
  [rows, columns]: readonly [rows: number, columns: number],
  size: GridSize,
  extendsRange = false,
): ActiveCell {
  const row = Math.max(0, Math.min(cell.row + rows, size.rows - 1));
  const column = Math.max(0, Math.min(cell.column + columns, size.columns - 1));
  return extendsRange ? { row, column, anchor: cell.anchor } : activeAt(row, column);
}

/** Returns the step that a key makes in a grid, or null for a key that does not move. */
export function stepOf(
  key: string,
  isControl: boolean,
  { rows, columns, page }: GridSize,
): readonly [rows: number, columns: number] | null {
  const all = Math.max(rows, columns);
  switch (key) {
    case "ArrowUp":
      return [isControl ? -all : -1, 0];
    case "ArrowDown":
      return [isControl ? all : 1, 0];
    case "ArrowLeft":
      return [0, isControl ? -all : -1];
    case "ArrowRight":
      return [0, isControl ? all : 1];
    case "Home":
      return [isControl ? -all : 0, -all];
    case "End":
      return [isControl ? all : 0, all];
    case "PageUp":
      return [-page, 0];
    case "PageDown":
      return [page, 0];
    default:
      return null;
  }
}
