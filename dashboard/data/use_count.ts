import { useEffect, useState } from "preact/hooks";
import type { ResourceDescription } from "../service/facts.ts";
import { useRows } from "../service/use_rows.ts";
import type { ListQuery } from "./list_query.ts";

/** The number of rows of a list; null where it is not known. */
export function useCount(
  resource: ResourceDescription,
  { filter, withDeleted }: ListQuery,
): number | null {
  const { rows } = useRows();
  const [count, setCount] = useState<number | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    setCount(null);
    rows.of(resource).count({
      ...{ filter: filter || undefined, signal: ended.signal },
      ...withDeleted && { withDeleted },
      // What is wrong with the request, the list says.
    }).then(setCount, () => setCount(null));
    return () => ended.abort();
  }, [rows, resource.path, filter, withDeleted]);
  return count;
}
