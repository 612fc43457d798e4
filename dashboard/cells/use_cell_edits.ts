import type { RefObject } from "preact";
import { type MutableRef, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type FieldFacts, isStored, type ResourceDescription } from "../service/facts.ts";
import { keyOfRow, type Row } from "../service/resources.ts";
import type { GridRows } from "../data/grid.tsx";
import type { Draft } from "../row/draft.ts";
import { type ActiveCell, type GridSize, hasRange, movedBy, rangeOf } from "./active_cell.ts";
import type { CellEdit, EditorBox, Step } from "./cell_editor.tsx";
import { parseTsv, type TsvCell } from "./tsv.ts";

/** Cells that the operator wants to paste, by the row and the field of each. */
export interface Paste {
  readonly rows: readonly Row[];
  readonly fields: readonly FieldFacts[];
  /** The pasted cells. They repeat if a larger range is selected. */
  readonly cells: readonly (readonly TsvCell[])[];
}

/** The edits in the cells of a grid. */
export interface CellEdits {
  readonly edit: CellEdit | null;
  readonly box: EditorBox | null;
  readonly commit: MutableRef<(() => void) | null>;
  readonly paste: Paste | null;
  /** A message about the last action. */
  readonly told: string | null;
  /** Begins to edit the active cell. Returns false if the field cannot be edited in a cell. */
  start(draft: Draft | null): boolean;
  finish(row: Row | null, step: Step): void;
  pasteText(text: string): void;
  endPaste(): void;
  tell(text: string | null): void;
  /** Saves an edit if the operator presses a mouse button outside of the editor. */
  pressOutside(event: MouseEvent): void;
}

/** Returns true if a field can be edited in a cell: keys are edited on the page of the row. */
export function isCellField(field: FieldFacts, { key, softDelete }: ResourceDescription): boolean {
  return isStored(field) && !key.includes(field.name) && field.name !== softDelete;
}

/** Edits the active cell of a grid, and pastes cells. */
export function useCellEdits(
  { resource, fields, rows, cell, size, mayWrite, scroller, activate, focus, onWritten }: {
    readonly resource: ResourceDescription;
    readonly fields: readonly FieldFacts[];
    readonly rows: GridRows;
    readonly cell: ActiveCell | null;
    readonly size: GridSize;
    readonly mayWrite: boolean;
    readonly scroller: RefObject<HTMLElement>;
    readonly activate: (cell: ActiveCell | null) => void;
    /** Focuses the grid. */
    readonly focus: () => void;
    readonly onWritten: (row: Row | null) => void;
  },
): CellEdits {
  const [edit, setEdit] = useState<CellEdit | null>(null);
  const [box, setBox] = useState<EditorBox | null>(null);
  const [paste, setPaste] = useState<Paste | null>(null);
  const [told, tell] = useState<string | null>(null);
  const hadEdit = useRef(false);
  const commit = useRef<(() => void) | null>(null);
  useLayoutEffect(() => {
    if (edit !== null && cell !== null) setBox(boxOf(cell, scroller.current));
    // A dialog of the editor makes the grid inert until the editor has gone.
    if (edit === null && hadEdit.current) focus();
    hadEdit.current = edit !== null;
  }, [edit]);
  return {
    ...{ edit, box, commit, paste, told, tell },
    start(draft) {
      const row = cell && rows.rowAt(cell.row);
      const field = cell && fields[cell.column];
      if (!mayWrite || !row || !field || !isCellField(field, resource)) return false;
      tell(null);
      setBox(null);
      setEdit({ field, rowKey: keyOfRow(resource, row), draft });
      return true;
    },
    finish(row, step) {
      setEdit(null);
      commit.current = null;
      if (row !== null) onWritten(row);
      // After a click on another cell, this cell is the active one.
      const [down, right] = step;
      if (cell !== null && (down !== 0 || right !== 0)) activate(movedBy(cell, step, size));
    },
    pasteText(text) {
      if (!mayWrite || cell === null || edit !== null) return;
      const pasted = pasteOf(parseTsv(text), { cell, fields, rows });
      if (typeof pasted === "string") return tell(pasted);
      const wrong = pasted.fields.find((field) => !isCellField(field, resource));
      if (wrong) return tell(`Cannot paste into ${wrong.name}: the cells of this column are fixed`);
      tell(null);
      setPaste(pasted);
    },
    endPaste: () => setPaste(null),
    pressOutside({ target }) {
      const isInside = target instanceof Element && target.closest(".cell-editor, dialog") !== null;
      if (!isInside) commit.current?.();
    },
  };
}

function pasteOf(
  cells: Paste["cells"],
  { cell, fields, rows }: {
    readonly cell: ActiveCell;
    readonly fields: readonly FieldFacts[];
    readonly rows: GridRows;
  },
): Paste | string {
  const { top, bottom, left, right } = rangeOf(cell);
  const width = Math.max(...cells.map((row) => row.length));
  const [height, columns] = hasRange(cell)
    ? [bottom - top + 1, right - left + 1]
    : [cells.length, width];
  const wanted = fields.slice(left, left + columns);
  if (wanted.length < columns) return "Cannot paste: the table has too few columns here";
  const targets = Array.from({ length: height }, (_, at) => rows.rowAt(top + at));
  const found = targets.filter((row) => row !== null);
  if (found.length < height) return "Cannot paste: the table has too few rows here";
  return { rows: found, fields: wanted, cells };
}

/** Returns the place of a cell within the scrolled content. */
function boxOf({ row, column }: ActiveCell, scroller: HTMLElement | null): EditorBox | null {
  const element = document.getElementById(`cell-${row}-${column}`);
  if (element === null || scroller === null) return null;
  const { left, top, width } = element.getBoundingClientRect();
  const outer = scroller.getBoundingClientRect();
  const inner = left - outer.left + scroller.scrollLeft - scroller.clientLeft;
  const room = Math.max(0, scroller.scrollLeft + scroller.clientWidth - 260);
  return {
    left: Math.min(inner, room),
    top: top - outer.top + scroller.scrollTop - scroller.clientTop,
    width,
  };
}
