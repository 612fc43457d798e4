import { useEffect, useMemo, useState } from "preact/hooks";
import type { FieldFacts, ResourceDescription } from "../service/facts.ts";
import { shownFields } from "../service/facts.ts";
import { useRows } from "../service/use_rows.ts";
import { joinNames, splitItems } from "../service/names.ts";
import { shownCharacters } from "../parts/format.ts";
import type { ListQuery } from "./list_query.ts";
import { type ListPlace, usePlaces } from "./list_places.ts";
import { RowPages } from "./row_pages.ts";

const pageSize = 200;

/** The rows of a list, read page by page. A list that is opened again keeps its position. */
export function usePages(
  resource: ResourceDescription,
  list: ListQuery,
  fields: readonly FieldFacts[],
): ListPlace {
  const { rows } = useRows();
  const [, setTurn] = useState(0);
  const { filter, orderBy, withDeleted } = list;
  const isWhole = fields.length === shownFields(resource).length &&
    fields.every(({ onSelect }) => onSelect !== true);
  const wanted = new Set([...resource.key, ...fields.map(({ name }) => name)]);
  if (resource.softDelete !== null) wanted.add(resource.softDelete);
  const select = isWhole ? "" : joinNames([...wanted]);
  const places = usePlaces();
  const key = JSON.stringify([resource.path, filter, orderBy, select, withDeleted]);
  const place = useMemo(
    () =>
      places.open(key, rows, () =>
        new RowPages((cursor) => {
          const options = {
            ...{ cursor, limit: pageSize, preview: shownCharacters },
            ...filter && { filter },
            ...orderBy && { orderBy: splitItems(orderBy) },
            ...select && { select: splitItems(select) },
            ...withDeleted && { withDeleted },
          };
          return rows.of(resource).list(options);
        })),
    [rows, key],
  );
  useEffect(() => {
    place.pages.follow(() => setTurn((before) => before + 1));
    // The operator may have changed rows on another page.
    if (!place.pages.isEmptyYet) place.pages.refresh();
    return () => place.pages.follow(() => {});
  }, [place]);
  return place;
}
