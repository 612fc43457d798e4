import { useEffect, useState } from "preact/hooks";
import type { ResourceDescription } from "../service/facts.ts";
import { useRows } from "../service/use_rows.ts";
import type { ListQuery } from "./list_query.ts";

/** The number of rows of a list; null where it is not known. */
export function useCount(
  resource: ResourceDescription,
  { filter, withDeleted }: ListQuery,
  /** The count is read again if it changes. */
  turn: number,
): number | null {
  const { rows } = useRows();
  const of = JSON.stringify([resource.path, filter, withDeleted]);
  const [known, setKnown] = useState<{ readonly of: string; readonly count: number } | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    rows.of(resource).count({
      ...{ filter: filter || undefined, signal: ended.signal },
      ...withDeleted && { withDeleted },
      // What is wrong with the request, the list says.
    }).then((count) => setKnown({ of, count }), () => setKnown(null));
    return () => ended.abort();
  }, [rows, of, turn]);
  return known?.of === of ? known.count : null;
}
