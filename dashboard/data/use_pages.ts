import { useEffect, useMemo, useState } from "preact/hooks";
import type { FieldFacts, ResourceDescription } from "../service/facts.ts";
import { shownFields } from "../service/facts.ts";
import { useRows } from "../service/use_rows.ts";
import { shownCharacters } from "../parts/format.ts";
import type { ListQuery } from "./list_query.ts";
import { RowPages } from "./row_pages.ts";

const pageSize = 200;

/** The rows of a list, read page by page. */
export function usePages(
  resource: ResourceDescription,
  list: ListQuery,
  fields: readonly FieldFacts[],
): RowPages {
  const { rows } = useRows();
  const [, setTurn] = useState(0);
  const { filter, orderBy, withDeleted } = list;
  const isWhole = fields.length === shownFields(resource).length &&
    fields.every(({ onSelect }) => onSelect !== true);
  const wanted = new Set([...resource.key, ...fields.map(({ name }) => name)]);
  if (resource.softDelete !== null) wanted.add(resource.softDelete);
  const select = isWhole ? "" : [...wanted].join();
  const pages = useMemo(
    () =>
      new RowPages((cursor) => {
        const options = {
          ...{ cursor, limit: pageSize, preview: shownCharacters },
          ...filter && { filter },
          ...orderBy && { orderBy: orderBy.split(",") },
          ...select && { select: select.split(",") },
          ...withDeleted && { withDeleted },
        };
        return rows.of(resource).list(options);
      }, () => setTurn((before) => before + 1)),
    [rows, resource.path, filter, orderBy, select, withDeleted],
  );
  useEffect(() => () => pages.end(), [pages]);
  return pages;
}
