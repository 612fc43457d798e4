import type { FieldFacts, ResourceDescription } from "../service/facts.ts";
import { keyOfRow, keyText, type Row } from "../service/resources.ts";
import { useRows } from "../service/use_rows.ts";
import { href } from "../shell/route.ts";
import type { GridRows } from "../data/grid.tsx";
import { activeAt, type ActiveCell, hasRange, movedBy, rangeOf, stepOf } from "./active_cell.ts";
import { cellsOf, isCutRow, wholeRows, write } from "./copy_cells.ts";
import { printTsv } from "./tsv.ts";
import type { CellEdits } from "./use_cell_edits.ts";

/** The handlers of a grid for the keyboard, the mouse and the clipboard. */
export function useGridKeys(
  { resource, fields, rows, cell, page, activate, edits, toggle }: {
    readonly resource: ResourceDescription;
    readonly fields: readonly FieldFacts[];
    readonly rows: GridRows;
    readonly cell: ActiveCell | null;
    readonly page: number;
    readonly activate: (cell: ActiveCell | null) => void;
    readonly edits: CellEdits;
    readonly toggle: (row: Row) => void;
  },
) {
  const { rows: access } = useRows();
  const size = { rows: rows.length, columns: fields.length, page };
  const row = cell && rows.rowAt(cell.row);
  const openRow = () => {
    if (row === null || resource.key.length === 0) return;
    location.hash = href(`${resource.place}/${keyText(keyOfRow(resource, row))}`);
  };

  function press(event: KeyboardEvent): boolean {
    const { key, shiftKey } = event;
    const isControl = event.ctrlKey || event.metaKey;
    if (event.altKey) return false;
    const step = stepOf(key, isControl, size);
    if (step !== null && size.rows > 0) {
      activate(cell === null ? activeAt(0, 0) : movedBy(cell, step, size, shiftKey));
      return true;
    }
    if (cell === null || row === null) return false;
    if (key === "Enter" || key === "F2") {
      if (isControl || !edits.start(null)) openRow();
    } else if (key === " " && resource.key.length > 0) toggle(row);
    else if (key === "Escape" && hasRange(cell)) activate(activeAt(cell.row, cell.column));
    else if (key === "Delete" || key === "Backspace") {
      const isNull = fields[cell.column]?.nullable === true;
      return edits.start({ text: "", isNull });
    } else if (key.length === 1 && !isControl) {
      const field = fields[cell.column];
      return edits.start(field && isTyped(field) ? { text: key, isNull: false } : null);
    } else return false;
    return true;
  }

  async function copyWhole(range: ReturnType<typeof rangeOf>, shown: readonly Row[]) {
    const whole = await wholeRows(resource, access.of(resource), shown);
    await write(printTsv(cellsOf(whole, fields.slice(range.left, range.right + 1))));
  }

  return {
    onKeyDown(event: KeyboardEvent) {
      if (event.target === event.currentTarget && press(event)) event.preventDefault();
    },
    onClick({ target, shiftKey, currentTarget }: MouseEvent) {
      const next = cellAt(target);
      if (next === null) return;
      activate(
        shiftKey && cell !== null
          ? { ...next, anchor: cell.anchor }
          : activeAt(next.row, next.column),
      );
      if (currentTarget instanceof HTMLElement) currentTarget.focus({ preventScroll: true });
    },
    onDblClick({ target }: MouseEvent) {
      if (cellAt(target) !== null) edits.start(null);
    },
    onCopy(event: ClipboardEvent) {
      if (cell === null || isControl(event.target)) return;
      event.preventDefault();
      const range = rangeOf(cell);
      const all = Array.from(
        { length: range.bottom - range.top + 1 },
        (_, at) => rows.rowAt(range.top + at),
      );
      const shown = all.filter((row) => row !== null);
      if (shown.length < all.length) return edits.tell("Cannot copy: some rows are not loaded");
      if (shown.some(isCutRow)) {
        copyWhole(range, shown).catch((error) => edits.tell(`Cannot copy: ${error.message}`));
        return;
      }
      const text = printTsv(cellsOf(shown, fields.slice(range.left, range.right + 1)));
      event.clipboardData?.setData("text/plain", text);
    },
    onPaste(event: ClipboardEvent) {
      if (isControl(event.target)) return;
      event.preventDefault();
      edits.pasteText(event.clipboardData?.getData("text/plain") ?? "");
    },
  };
}

/** Returns true if a typed character can begin a value of the field. */
function isTyped({ type, enum: choices }: FieldFacts): boolean {
  return choices === undefined && !["boolean", "date", "timestamp", "json"].includes(type);
}

/** Returns true for a control that has its own clipboard. */
function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
}

/** Returns the cell of an element; null for the head, the checkboxes and buttons. */
function cellAt(target: EventTarget | null): { row: number; column: number } | null {
  if (!(target instanceof Element) || target.closest("a, button, input") !== null) return null;
  const [, row, column] = target.closest("td")?.id.match(/^cell-(\d+)-(\d+)$/) ?? [];
  return row === undefined ? null : { row: Number(row), column: Number(column) };
}
