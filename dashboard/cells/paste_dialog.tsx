import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FieldFacts, ResourceDescription } from "../service/facts.ts";
import { type AnyClient, keyOfRow, type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { rowsText } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { CellValue } from "../data/cell.tsx";
import { isSame } from "../row/draft.ts";
import { readRow, type TaggedRow } from "../row/save_row.ts";
import { readCell } from "./tsv.ts";
import type { Paste } from "./use_cell_edits.ts";

/** The number of changes in a preview. */
const previewed = 40;

/** A value that a paste changes, or the reason why it cannot. */
interface PastedValue {
  readonly field: FieldFacts;
  readonly before: unknown;
  readonly after: unknown;
  readonly problem: string | null;
}

/** A row that a paste changes. */
interface PastedRow {
  readonly key: readonly string[];
  readonly row: TaggedRow;
  readonly values: readonly PastedValue[];
}

/**
 * Shows the cells that a paste changes, and writes them in one batch. The dialog reads every row
 * first, so the batch fails if another client changes one of the rows in the meantime.
 */
export function PasteDialog({ resource, paste, onClose, onWritten }: {
  readonly resource: ResourceDescription;
  readonly paste: Paste;
  readonly onClose: () => void;
  readonly onWritten: () => void;
}) {
  const { rows } = useRows();
  const client = rows.of(resource);
  const dialog = useRef<HTMLDialogElement>(null);
  const [changes, setChanges] = useState<readonly PastedRow[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isSending, setIsSending] = useState(false);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    readChanges(client, resource, paste).then(setChanges, (error) => setError(toError(error)));
  }, []);
  const values = changes?.flatMap(({ key, values }) => values.map((value) => ({ key, value })));
  const problems = values?.filter(({ value }) => value.problem !== null).length ?? 0;
  const send = async () => {
    setIsSending(true);
    setError(null);
    try {
      await client.upsertBatch((changes ?? []).map((change) => itemOf(resource, change)));
      onWritten();
      dialog.current?.close();
    } catch (error) {
      setError(toError(error));
    }
    setIsSending(false);
  };
  const title = values === undefined
    ? "Paste"
    : `Change ${values.length === 1 ? "1 cell" : `${values.length} cells`} in ${
      rowsText(changes?.length ?? 0)
    }`;
  return (
    <dialog class="wide" ref={dialog} aria-labelledby="paste-title" onClose={onClose}>
      <h2 id="paste-title">{title}</h2>
      {values === undefined && !error && <p class="quiet" role="status">Reading the rows …</p>}
      <table class="preview" aria-label="Preview">
        <tbody>
          {values?.slice(0, previewed).map(({ key, value: { field, before, after, problem } }) => (
            <tr key={`${key.join()} ${field.name}`}>
              <th scope="row">{key.join(", ")}</th>
              <td class="quiet">{field.name}</td>
              <td>
                <CellValue value={before} /> → {problem === null
                  ? <CellValue value={after} />
                  : <span class="problem">{problem}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {values && values.length > previewed && (
        <p class="quiet">and {values.length - previewed} more</p>
      )}
      {problems > 0 && (
        <p class="problem" role="alert">{problems} of the cells cannot have the pasted values.</p>
      )}
      {error && <Problem error={error} what="Nothing was written" />}
      <div class="actions">
        <button
          type="button"
          class="main"
          disabled={!values || values.length === 0 || problems > 0 || isSending}
          onClick={send}
        >
          Save
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
      </div>
    </dialog>
  );
}

/** The number of rows that are read at the same time. */
const concurrent = 6;

/** Reads the rows, and returns those that the paste changes. */
async function readChanges(
  client: AnyClient,
  resource: ResourceDescription,
  { rows, fields, cells }: Paste,
): Promise<readonly PastedRow[]> {
  const changes: PastedRow[] = [];
  for (let from = 0; from < rows.length; from += concurrent) {
    const keys = rows.slice(from, from + concurrent).map((row) => keyOfRow(resource, row));
    const read = await Promise.all(keys.map((key) => readRow(client, key)));
    read.forEach((row, at) => {
      const key = keys[at] ?? [];
      if (row === null) throw new Error(`The row ${key.join(", ")} was deleted`);
      const pasted = cells[(from + at) % cells.length] ?? [];
      const values = fields.map((field, column): PastedValue => {
        const before = valueIn(row.value, field.name) ?? null;
        const cell = pasted[column % pasted.length];
        if (cell === undefined) return { field, before, after: before, problem: null };
        const value = readCell(cell, field);
        return "problem" in value
          ? { field, before, after: before, problem: value.problem }
          : { field, before, after: value.value, problem: null };
      }).filter(({ before, after, problem }) => problem !== null || !isSame(before, after));
      if (values.length > 0) changes.push({ key, row, values });
    });
  }
  return changes;
}

/** Returns the item of the batch for a row: its key, the changed fields, and the ETag. */
function itemOf({ key }: ResourceDescription, { row, values }: PastedRow): Row {
  return Object.fromEntries([
    ...key.map((name) => [name, valueIn(row.value, name)]),
    ...values.map(({ field, after }) => [field.name, after]),
    ...(row.etag === null ? [] : [["_ifMatch", row.etag]]),
  ]);
}
