import { useState } from "preact/hooks";
import { type FieldFacts, isNumeric, type ResourceDescription } from "../service/facts.ts";

/** The narrowest column, in rem. */
const narrowest = 3;

/** The widths of the columns of a resource, which the browser keeps. */
export interface ColumnWidths {
  /** Returns the width of a column, in rem. */
  of(field: FieldFacts): number;
  /** Sets the width of a column, in rem; null sets the usual width. */
  set(field: FieldFacts, width: number | null): void;
}

/** Returns the widths of the columns of a resource. */
export function useColumnWidths({ path }: ResourceDescription): ColumnWidths {
  const [widths, setWidths] = useState(() => readWidths(path));
  return {
    of: (field) => widths.get(field.name) ?? usualWidth(field),
    set(field, width) {
      const next = new Map(widths);
      if (width === null) next.delete(field.name);
      else next.set(field.name, Math.max(narrowest, Math.round(width * 100) / 100));
      setWidths(next);
      try {
        localStorage.setItem(storageKey(path), JSON.stringify([...next]));
      } catch {
        // Without storage, the widths last as long as the page.
      }
    },
  };
}

function readWidths(path: string): ReadonlyMap<string, number> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey(path)) ?? "[]");
    const entries = Array.isArray(kept) ? kept : [];
    return new Map(entries.filter(([, width]) => typeof width === "number"));
  } catch {
    return new Map();
  }
}

function storageKey(path: string): string {
  return `dashboard widths ${path}`;
}

/** In rem. It does not depend on the rows, because these change while they are scrolled. */
function usualWidth(field: FieldFacts): number {
  const name = 3 + field.name.length * 0.6;
  if (field.references) return Math.max(14, name);
  if (field.wide || field.type === "bigint") return Math.max(13, name);
  if (isNumeric(field) || field.type === "boolean") return Math.max(8, name);
  return Math.max(field.enum ? 10 : field.type === "text" || field.type === "json" ? 18 : 14, name);
}
