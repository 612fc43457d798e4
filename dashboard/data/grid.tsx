import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FieldFacts, ResourceDescription } from "../service/facts.ts";
import { keyOfRow, keyText, type Row } from "../service/resources.ts";
import { useRows } from "../service/use_rows.ts";
import type { ActiveCell } from "../cells/active_cell.ts";
import { CellEditor } from "../cells/cell_editor.tsx";
import { PasteDialog } from "../cells/paste_dialog.tsx";
import { type Selection, toggled, withRows } from "../cells/selection.ts";
import { useCellEdits } from "../cells/use_cell_edits.ts";
import { useGridKeys } from "../cells/use_grid_keys.ts";
import { useColumnWidths } from "./column_widths.ts";
import { GridHead } from "./grid_head.tsx";
import { GridRow } from "./grid_row.tsx";
import { gridWindow, rowHeight, scrollTopOf } from "./grid_window.ts";
import { LabelsContext, useLabels } from "./use_labels.ts";
import type { ListPlace } from "./list_places.ts";
import type { ListQuery } from "./list_query.ts";

/** What a grid shows: rows that are in memory, or not yet. */
export interface GridRows {
  readonly length: number;
  rowAt(index: number): Row | null;
  /** Called with the rows that are in view. */
  show?(first: number, last: number): void;
}

/** The height of the names and the conditions above the rows. */
const headHeight = 2.2 * rowHeight;

/** A table of rows, of which only those in view are in the document. */
export function Grid(
  { resource, fields, rows, query, place: kept, path, changed, onSelect, onWritten }: {
    readonly resource: ResourceDescription;
    readonly fields: readonly FieldFacts[];
    readonly rows: GridRows;
    readonly query: ListQuery;
    /** The position to which the grid returns. */
    readonly place: ListPlace;
    /** The path of the page. */
    readonly path: string;
    /** The keys of rows that have just changed. */
    readonly changed?: ReadonlySet<string> | undefined;
    readonly onSelect: (selection: Selection) => void;
    /** Called after a write, with the row if only one was written. */
    readonly onWritten: (row: Row | null) => void;
  },
) {
  const { mayWrite } = useRows();
  const scroller = useRef<HTMLDivElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const [view, setView] = useState({ scrollTop: kept.scrollTop, height: 600 });
  const [cell, setCell] = useState<ActiveCell | null>(kept.cell);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    element.scrollTo(kept.scrollLeft, kept.scrollTop);
    setCell(kept.cell);
    const measure = () => {
      const { scrollTop, scrollLeft } = element;
      Object.assign(kept, { scrollTop, scrollLeft });
      setView({ scrollTop, height: element.clientHeight || 600 });
    };
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [kept]);
  const { first, end, above, below } = gridWindow({ rows: rows.length, ...view });
  useEffect(() => rows.show?.(first, end), [rows, first, end]);

  const activate = (next: ActiveCell | null) => {
    kept.cell = next;
    setCell(next);
    const scrollTop = next && scrollTopOf(next.row, { rows: rows.length, ...view, headHeight });
    if (scrollTop !== null) scroller.current?.scrollTo({ top: scrollTop });
  };
  const shownId = cell && `cell-${cell.row}-${cell.column}`;
  useLayoutEffect(() => {
    if (shownId === null) return;
    document.getElementById(shownId)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [shownId]);

  const hasKey = resource.key.length > 0;
  const edits = useCellEdits({
    ...{ resource, fields, rows, cell, scroller, mayWrite: mayWrite && hasKey },
    size: { rows: rows.length, columns: fields.length, page: pageOf(view.height) },
    activate,
    focus: () => table.current?.focus({ preventScroll: true }),
    onWritten,
  });
  // Another filter or order moves the rows below the editor.
  useEffect(() => () => edits.commit.current?.(), [kept]);
  const toggle = (row: Row) => onSelect(toggled(kept.selection, row, resource));
  const keys = useGridKeys({
    resource,
    fields,
    rows,
    cell,
    activate,
    edits,
    toggle,
    page: pageOf(view.height),
  });
  const widths = useColumnWidths(resource);
  const loaded = loadedRows(rows);
  const width = fields.reduce((sum, field) => sum + widths.of(field), hasKey ? 2.2 : 0);
  const shown = Array.from({ length: end - first }, (_, offset) => first + offset);
  const labels = useLabels(fields, shown.map((at) => rows.rowAt(at)).filter((row) => row !== null));
  return (
    <LabelsContext.Provider value={labels}>
      <div class="grid" ref={scroller} onMouseDown={edits.pressOutside}>
        <table
          ref={table}
          role="grid"
          tabIndex={0}
          aria-label={`Rows of ${resource.title}`}
          aria-rowcount={rows.length + 1}
          aria-multiselectable="true"
          aria-activedescendant={cell && cell.row >= first && cell.row < end
            ? shownId ?? ""
            : undefined}
          style={{ width: `${width}rem` }}
          {...keys}
        >
          <colgroup>
            {hasKey && <col style={{ width: "2.2rem" }} />}
            {fields.map((field) => (
              <col key={field.name} style={{ width: `${widths.of(field)}rem` }} />
            ))}
          </colgroup>
          <GridHead
            {...{ fields, query, widths }}
            selected={hasKey ? allSelected(kept.selection, loaded.length) : null}
            onSelectAll={(isOn) =>
              onSelect(
                isOn
                  ? withRows(kept.selection, loaded, resource)
                  : { rows: new Map(), isAll: false },
              )}
          />
          <tbody>
            <Spacer height={above} />
            {shown.map((index) => {
              const row = rows.rowAt(index);
              // The rows of a view without a key are known by their place alone.
              const key = hasKey && row !== null ? keyOfRow(resource, row) : null;
              const text = key && keyText(key);
              return (
                <GridRow
                  key={text ?? index}
                  {...{ resource, fields, row, index, cell }}
                  isChanged={key !== null && changed?.has(key.join()) === true}
                  isSelected={hasKey
                    ? kept.selection.isAll || text !== null && kept.selection.rows.has(text)
                    : null}
                  onToggle={toggle}
                />
              );
            })}
            <Spacer height={below} />
          </tbody>
        </table>
        {edits.edit && edits.box && (
          <CellEditor
            key={`${edits.edit.field.name} ${edits.edit.rowKey.join()}`}
            {...{ resource, place: path, edit: edits.edit, box: edits.box, commit: edits.commit }}
            onDone={edits.finish}
          />
        )}
        {edits.paste && (
          <PasteDialog
            {...{ resource, fields, paste: edits.paste }}
            onClose={edits.endPaste}
            onWritten={() => onWritten(null)}
          />
        )}
        {edits.told && <p class="told" role="status">{edits.told}</p>}
      </div>
    </LabelsContext.Provider>
  );
}

function pageOf(height: number): number {
  return Math.max(1, Math.floor((height - headHeight) / rowHeight));
}

function Spacer({ height }: { readonly height: number }) {
  return height > 0 ? <tr aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}

/** The rows that are in memory. */
function loadedRows(rows: GridRows): readonly Row[] {
  return Array.from({ length: rows.length }, (_, index) => rows.rowAt(index))
    .filter((row) => row !== null);
}

function allSelected({ rows, isAll }: Selection, loaded: number): boolean {
  return isAll || loaded > 0 && rows.size >= loaded;
}
