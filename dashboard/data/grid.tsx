import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type FieldFacts, isNumeric, type ResourceDescription } from "../service/facts.ts";
import { keyOfRow, type Row } from "../service/resources.ts";
import { gridWindow, rowHeight } from "./grid_window.ts";
import { GridHead } from "./grid_head.tsx";
import { GridRow } from "./grid_row.tsx";
import type { ListPlace } from "./list_places.ts";
import type { ListQuery } from "./list_query.ts";

/** What a grid shows: rows that are in memory, or not yet. */
export interface GridRows {
  readonly length: number;
  rowAt(index: number): Row | null;
  /** Called with the rows that are in view. */
  show?(first: number, last: number): void;
}

/** A table of rows, of which only those in view are in the document. */
export function Grid({ resource, fields, rows, query, place: kept, changed }: {
  readonly resource: ResourceDescription;
  readonly fields: readonly FieldFacts[];
  readonly rows: GridRows;
  readonly query: ListQuery;
  /** The position to which the grid returns. */
  readonly place: ListPlace;
  /** The keys of rows that have just changed. */
  readonly changed?: ReadonlySet<string> | undefined;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ scrollTop: kept.scrollTop, height: 600 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    element.scrollTo(kept.scrollLeft, kept.scrollTop);
    const measure = () => {
      const { scrollTop, scrollLeft } = element;
      Object.assign(kept, { scrollTop, scrollLeft });
      setPlace({ scrollTop, height: element.clientHeight || 600 });
    };
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [kept]);
  const { first, end, above, below } = gridWindow({ rows: rows.length, ...place });
  useEffect(() => rows.show?.(first, end), [rows, first, end]);
  const width = fields.reduce((sum, field) => sum + columnWidth(field), 0);
  const shown = Array.from({ length: end - first }, (_, offset) => first + offset);
  return (
    <div
      class="grid"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label={`Rows of ${resource.title}`}
      onKeyDown={moveFocus}
    >
      <table aria-rowcount={rows.length + 1} style={{ width: `${width}rem` }}>
        <colgroup>
          {fields.map((field) => (
            <col key={field.name} style={{ width: `${columnWidth(field)}rem` }} />
          ))}
        </colgroup>
        <GridHead fields={fields} query={query} />
        <tbody>
          <Spacer height={above} />
          {shown.map((index) => {
            const row = rows.rowAt(index);
            // The rows of a view without a key are known by their place alone.
            const hasKey = row !== null && resource.key.length > 0;
            const key = hasKey ? keyOfRow(resource, row).join() : null;
            return (
              <GridRow
                key={key ?? index}
                {...{ resource, fields, row, index }}
                isChanged={key !== null && changed?.has(key) === true}
              />
            );
          })}
          <Spacer height={below} />
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ height }: { readonly height: number }) {
  return height > 0 ? <tr aria-hidden="true" style={{ height: `${height}px` }} /> : null;
}

/** In rem. It does not depend on the rows, because these change while they are scrolled. */
function columnWidth(field: FieldFacts): number {
  const name = 3 + field.name.length * 0.6;
  if (isNumeric(field) || field.type === "boolean") return Math.max(8, name);
  return Math.max(field.enum ? 10 : field.type === "text" || field.type === "json" ? 18 : 14, name);
}

/** The arrow keys go from the link of one row to that of the next. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const { target, currentTarget } = event;
  if (step === undefined || !(target instanceof HTMLElement)) return;
  const row = target.closest("tbody tr");
  if (row === null || !(currentTarget instanceof HTMLElement)) return;
  const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  const link = next?.querySelector<HTMLElement>("a");
  if (!link) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  const { top, bottom } = link.getBoundingClientRect();
  const view = currentTarget.getBoundingClientRect();
  if (bottom > view.bottom || top < view.top + 3 * rowHeight) {
    currentTarget.scrollBy(0, step * rowHeight);
  }
}
