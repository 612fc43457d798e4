import { useEffect, useMemo, useState } from "preact/hooks";
import { type ResourceDescription, shownFields } from "../service/facts.ts";
import type { Selection } from "../cells/selection.ts";
import { SelectionBar } from "../cells/selection_bar.tsx";
import { ImportDialog } from "../imports/import_dialog.tsx";
import { hasSlash, keyOfRow, type Row } from "../service/resources.ts";
import { useRows } from "../service/use_rows.ts";
import { href } from "../shell/route.ts";
import { rowsText } from "../parts/format.ts";
import { messageOf, Problem } from "../parts/problem.tsx";
import { FilterBox } from "./filter_box.tsx";
import { Grid } from "./grid.tsx";
import { fieldsOf, type ListQuery, readListQuery } from "./list_query.ts";
import { usePlaces } from "./list_places.ts";
import { ListTools } from "./list_tools.tsx";
import { Peek } from "./peek.tsx";
import { PeekContext, type Peeked } from "./reference_cell.tsx";
import { useCount } from "./use_count.ts";
import { type LiveRows, useLiveRows } from "./use_live_rows.ts";
import { usePages } from "./use_pages.ts";
import type { RowPages } from "./row_pages.ts";

/** A live list has all its rows in memory. */
const maxLiveRows = 5_000;

/** The rows of a resource. */
export function DataPage({ resource, path, query }: {
  readonly resource: ResourceDescription;
  /** The path of the page. */
  readonly path: string;
  readonly query: URLSearchParams;
}) {
  const { mayWrite } = useRows();
  const text = query.toString();
  const list = useMemo(() => readListQuery(resource, query), [resource, text]);
  const fields = useMemo(() => fieldsOf(resource, list), [resource, list]);
  const [wantsLive, setWantsLive] = useState(false);
  const [peeked, setPeeked] = useState<Peeked | null>(null);
  const [turn, setTurn] = useState(0);
  const [isImporting, setIsImporting] = useState(false);
  const [, redraw] = useState(0);
  const count = useCount(resource, list, turn);
  const isLive = wantsLive && count !== null && count <= maxLiveRows;
  const live = useLiveRows(resource, list, isLive);
  const place = usePages(resource, list, fields);
  const { pages } = place;
  const places = usePlaces();
  useEffect(() => places.show(resource.path, text), [resource.path, text]);
  useEffect(() => setPeeked(null), [text]);
  const select = (selection: Selection) => {
    place.selection = selection;
    redraw((before) => before + 1);
  };
  const refresh = () => {
    pages.refresh();
    setTurn((before) => before + 1);
  };
  const written = (row: Row | null) => {
    if (row === null) return refresh();
    const key = keyOfRow(resource, row).join();
    pages.replace(row, (other) => keyOfRow(resource, other).join() === key);
  };
  const error = live?.error ?? pages.error;
  return (
    <div class="data">
      <div class="heading">
        <h1>{resource.title}</h1>
        {mayWrite && <a class="button" href={href(`${resource.place}/+new`)}>New row</a>}
        {mayWrite && <button type="button" onClick={() => setIsImporting(true)}>Import …</button>}
        <ListTools
          {...{ resource, fields, list, wantsLive }}
          onLive={resource.live && !hasSlash(resource) ? setWantsLive : null}
        />
      </div>
      {resource.description && <p class="quiet">{resource.description}</p>}
      <FilterBox list={list} error={error} />
      {error && !isFilterError(error) && <Problem error={error} what="Cannot read the rows" />}
      {wantsLive && count !== null && count > maxLiveRows && (
        <p class="problem" role="status">
          A live list has at most {maxLiveRows.toLocaleString("en")} rows: filter first.
        </p>
      )}
      <SelectionBar
        {...{ resource, list, count, selection: place.selection }}
        onSelect={select}
        onWritten={refresh}
      />
      <PeekContext.Provider value={setPeeked}>
        <Grid
          {...{ resource, fields, place, path, query: list }}
          onSelect={select}
          onWritten={written}
          rows={isLive && live !== null ? ofList(live) : pages}
          changed={live?.changed}
        />
      </PeekContext.Provider>
      {isImporting && (
        <ImportDialog
          resource={resource}
          onClose={() => setIsImporting(false)}
          onWritten={refresh}
        />
      )}
      {peeked && <Peek peeked={peeked} onClose={() => setPeeked(null)} />}
      <Status {...{ resource, list, pages, live, count }} />
    </div>
  );
}

function isFilterError(error: Error): boolean {
  return "slug" in error && error.slug === "filter-parse-error";
}

function ofList({ items }: LiveRows) {
  return { length: items.length, rowAt: (index: number) => items[index] ?? null };
}

function Status({ resource, list, pages, live, count }: {
  readonly resource: ResourceDescription;
  readonly list: ListQuery;
  readonly pages: RowPages;
  readonly live: LiveRows | null;
  readonly count: number | null;
}) {
  const all = count === null ? "" : ` of ${count.toLocaleString("en")}`;
  const fields = fieldsOf(resource, list);
  const hidden = shownFields(resource).filter((field) => !fields.includes(field)).length;
  if (pages.error) {
    return (
      <p class="status" role="status">
        {messageOf(pages.error)}
        <button type="button" onClick={() => pages.retry()}>Try again</button>
      </p>
    );
  }
  return (
    <p class="status" role="status">
      {live !== null
        ? `${rowsText(live.items.length)}, ${live.status}`
        : pages.isEmptyYet
        ? "Loading …"
        : pages.length === 0
        ? "No rows"
        : pages.hasMore
        ? `${
          rowsText(pages.length)
        }${all} reached: scroll for more, or reverse the order to see the end`
        : rowsText(pages.length)}
      {hidden > 0 && `; ${hidden === 1 ? "1 column" : `${hidden} columns`} hidden`}
    </p>
  );
}
