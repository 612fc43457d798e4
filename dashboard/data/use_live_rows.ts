import { useEffect, useState } from "preact/hooks";
import { liveList, type LiveStatus } from "../../exports/client.ts";
import type { ResourceDescription } from "../service/facts.ts";
import { keyOfRow, type Row } from "../service/resources.ts";
import { splitItems } from "../service/names.ts";
import { useRows } from "../service/use_rows.ts";
import type { ListQuery } from "./list_query.ts";

/** The rows of a live list, and which have just changed. */
export interface LiveRows {
  readonly items: readonly Row[];
  readonly status: LiveStatus;
  readonly error: Error | null;
  /** The keys of rows that changed in the last moment. */
  readonly changed: ReadonlySet<string>;
}

/** Follows the rows of a list; null while that is off. */
export function useLiveRows(
  resource: ResourceDescription,
  { filter, orderBy }: ListQuery,
  isOn: boolean,
): LiveRows | null {
  const { rows } = useRows();
  const [state, setState] = useState<LiveRows | null>(null);
  useEffect(() => {
    setState(null);
    if (!isOn) return;
    const list = liveList(rows.of(resource), {
      ...filter && { filter },
      ...orderBy && { orderBy: splitItems(orderBy) },
    });
    let known = new Map<string, Row>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const close = list.subscribe(({ items, status, error }) => {
      const now = new Map(items.map((row) => [keyOfRow(resource, row).join(), row]));
      // The first rows are not changes.
      const changed = new Set(
        known.size === 0
          ? []
          : [...now].filter(([key, row]) => known.get(key) !== row).map(([key]) => key),
      );
      known = now;
      setState({ items, status, error, changed });
      clearTimeout(timer);
      timer = setTimeout(() => setState((one) => one && { ...one, changed: new Set() }), 1_500);
    });
    return () => {
      clearTimeout(timer);
      close();
    };
  }, [rows, resource.path, filter, orderBy, isOn]);
  return state;
}
