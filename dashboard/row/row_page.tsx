import { useEffect, useState } from "preact/hooks";
import type { ResourceDescription } from "../service/facts.ts";
import { type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { href } from "../shell/route.ts";
import { formatValue } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { equals } from "../data/column_filters.ts";
import { usePlaces } from "../data/list_places.ts";
import { DeletedRow } from "./deleted_row.tsx";
import { draftsOfText } from "./draft.ts";
import { RelatedRows } from "./related_rows.tsx";
import { RowHistory } from "./row_history.tsx";
import { RowForm } from "./row_form.tsx";
import { readRow, type TaggedRow } from "./save_row.ts";

/** What is known of a row. */
type ReadRow =
  | { readonly kind: "row"; readonly row: TaggedRow }
  | { readonly kind: "deleted"; readonly value: Row }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly error: Error };

/** A row with all its fields, to be looked at and changed; without a key a new one. */
export function RowPage({ resource, rowKey, place, set }: {
  readonly resource: ResourceDescription;
  readonly rowKey: readonly string[] | null;
  /** The path of the page, by which its unsaved edits are kept. */
  readonly place: string;
  /** The name and the value of a field of a new row, as JSON; null for none. */
  readonly set: string | null;
}) {
  const { rows, mayWrite } = useRows();
  const places = usePlaces();
  const [read, setRead] = useState<ReadRow | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (rowKey === null) return;
    const ended = new AbortController();
    readAny(resource, rowKey, ended.signal)
      .catch((error): ReadRow => ({ kind: "failed", error: toError(error) }))
      .then((read) => ended.signal.aborted || setRead(read));
    return () => ended.abort();
  }, [rows, rowKey?.join(), turn]);

  async function readAny(
    resource: ResourceDescription,
    key: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadRow> {
    const client = rows.of(resource);
    const row = await readRow(client, key, signal);
    if (row !== null) return { kind: "row", row };
    if (resource.softDelete === null) return { kind: "missing" };
    const filter = resource.key.map((name, at) => equals(name, key[at] ?? "")).join(";");
    const { items: [value] } = await client.list({ filter, withDeleted: true, limit: 1, signal });
    return value === undefined ? { kind: "missing" } : { kind: "deleted", value };
  }

  const reload = () => setTurn((before) => before + 1);
  const label = read?.kind === "row"
    ? formatValue(valueIn(read.row.value, resource.label) ?? "")
    : "";
  return (
    <>
      <p class="trail">
        <a href={href(resource.place, places.queryOf(resource.path))}>{resource.title}</a>
        {" / "}
        {rowKey === null ? "new" : rowKey.join(", ")}
      </p>
      <div class="heading">
        <h1>{rowKey === null ? `New row of ${resource.title}` : label || rowKey.join(", ")}</h1>
      </div>
      {rowKey === null
        ? mayWrite
          ? (
            <RowForm
              {...{ resource, rowKey: null, place, base: null, first: draftsOfText(set, resource) }}
              onReload={reload}
            />
          )
          : <p>Nothing can be written here.</p>
        : read === null
        ? <p class="quiet" role="status">Loading …</p>
        : <Shown {...{ resource, rowKey, place, read, reload }} />}
      {read?.kind === "row" && <RelatedRows resource={resource} row={read.row.value} />}
      {rowKey !== null && read?.kind === "row" && resource.capabilities.enableHistory && (
        <RowHistory {...{ resource, rowKey, base: read.row }} onReverted={reload} />
      )}
    </>
  );
}

function Shown({ resource, rowKey, place, read, reload }: {
  readonly resource: ResourceDescription;
  readonly rowKey: readonly string[];
  readonly place: string;
  readonly read: ReadRow;
  readonly reload: () => void;
}) {
  switch (read.kind) {
    case "row":
      return <RowForm {...{ resource, rowKey, place, base: read.row }} onReload={reload} />;
    case "deleted":
      return <DeletedRow {...{ resource, rowKey, value: read.value, onRestored: reload }} />;
    case "missing":
      return <p>There is no row with this key.</p>;
    case "failed":
      return <Problem error={read.error} what="Cannot read the row" />;
  }
}
