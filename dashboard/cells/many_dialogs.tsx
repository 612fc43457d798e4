import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { quoteName } from "../../src/filter/syntax/quoted_name.ts";
import type { FieldFacts, ResourceDescription } from "../service/facts.ts";
import { keyOfRow, type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { rowsText, shownCharacters } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { CellValue } from "../data/cell.tsx";
import type { ListQuery } from "../data/list_query.ts";
import { type Draft, readDraft } from "../row/draft.ts";
import { FieldInput } from "../row/field_input.tsx";
import { filterOfKeys, type Selection } from "./selection.ts";

/** The number of rows in a preview. */
const previewed = 8;

interface ManyProps {
  readonly resource: ResourceDescription;
  readonly list: ListQuery;
  readonly number: number;
  readonly selection: Selection;
  readonly onClose: () => void;
  readonly onWritten: (text: string) => void;
}

/** Sets one field of the selected rows, in one batch. */
export function ChangeManyDialog({ fields, ...props }: ManyProps & {
  readonly fields: readonly FieldFacts[];
}) {
  const { resource, list, number, selection, onWritten } = props;
  const { rows } = useRows();
  const [name, setName] = useState(fields[0]?.name ?? "");
  const [draft, setDraft] = useState<Draft | undefined>();
  const field = fields.find((one) => one.name === name) ?? fields[0];
  if (field === undefined) return null;
  const read = draft && readDraft(draft, field);
  const problem = read && "problem" in read ? read.problem : undefined;
  const send = async () => {
    if (read === undefined || "problem" in read) return;
    const patch = Object.fromEntries([[field.name, read.value]]);
    const count = await rows.of(resource).updateBatch(filterOf(props), patch);
    onWritten(`${rowsText(count)} changed`);
  };
  return (
    <ManyDialog
      {...props}
      title={`Change ${rowsText(number)}`}
      action={<>Change {rowsText(number)}</>}
      isReady={read !== undefined && problem === undefined}
      onSend={send}
      preview={(row) => (
        <>
          <CellValue value={valueIn(row, field.name)} />
          {draft && !problem && (
            <>
              {" → "}
              <CellValue value={draft.isNull ? null : draft.text} />
            </>
          )}
        </>
      )}
    >
      <div class="form">
        <label for="change-field">Field</label>
        <select
          id="change-field"
          value={field.name}
          onChange={({ currentTarget }) => {
            setName(currentTarget.value);
            setDraft(undefined);
          }}
        >
          {fields.map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}
        </select>
      </div>
      <div class="form fields" key={field.name}>
        <FieldInput
          {...{ field, draft, problem, value: undefined, isReadOnly: false, onDraft: setDraft }}
        />
      </div>
      {selection.isAll && <p class="quiet">The batch changes {allText(list)}.</p>}
    </ManyDialog>
  );
}

/** Deletes the selected rows, in one batch. */
export function DeleteManyDialog(props: ManyProps) {
  const { resource, list, number, selection, onWritten } = props;
  const { rows } = useRows();
  const send = async () => {
    const count = await rows.of(resource).deleteBatch(filterOf(props));
    onWritten(`${rowsText(count)} deleted`);
  };
  return (
    <ManyDialog
      {...props}
      title={`Delete ${rowsText(number)}?`}
      action={<>Delete {rowsText(number)}</>}
      isDanger
      isReady
      onSend={send}
      preview={(row) => <CellValue value={valueIn(row, resource.label)} />}
    >
      <p>
        The rows are {resource.softDelete === null
          ? "deleted. This cannot be undone."
          : "marked as deleted, and can be restored."}
      </p>
      {selection.isAll && <p class="quiet">The batch deletes {allText(list)}.</p>}
    </ManyDialog>
  );
}

function filterOf({ resource, list, selection }: ManyProps): string {
  // A batch must have a filter.
  if (selection.isAll) return list.filter || `${quoteName(resource.key[0] ?? "")}!=null`;
  return filterOfKeys(
    resource,
    [...selection.rows.values()].map((row) => keyOfRow(resource, row)),
  );
}

function allText({ filter }: ListQuery): string {
  return filter === "" ? "every row of the table" : `every row that matches ${filter}`;
}

function ManyDialog({
  resource,
  list,
  number,
  selection,
  onClose,
  title,
  action,
  isDanger = false,
  isReady,
  onSend,
  preview,
  children,
}: ManyProps & {
  readonly title: string;
  readonly action: ComponentChildren;
  readonly isDanger?: boolean;
  readonly isReady: boolean;
  readonly onSend: () => Promise<void>;
  /** Shows the part of a row that matters. */
  readonly preview: (row: Row) => ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { rows } = useRows();
  const [error, setError] = useState<Error | null>(null);
  const [isSending, setIsSending] = useState(false);
  const [shown, setShown] = useState<readonly Row[]>(() =>
    selection.isAll ? [] : [...selection.rows.values()].slice(0, previewed)
  );
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    if (!selection.isAll) return;
    const options = {
      ...list.filter !== "" && { filter: list.filter },
      ...{ limit: previewed, preview: shownCharacters },
    };
    rows.of(resource).list(options)
      .then(({ items }) => setShown(items), (error) => setError(toError(error)));
  }, []);
  const send = async () => {
    setIsSending(true);
    setError(null);
    await onSend().catch((error) => setError(toError(error)));
    setIsSending(false);
  };
  return (
    <dialog class="wide" ref={dialog} aria-labelledby="many-title" onClose={onClose}>
      <h2 id="many-title">{title}</h2>
      {children}
      <table class="preview" aria-label="Preview">
        <tbody>
          {shown.map((row) => (
            <tr key={keyOfRow(resource, row).join()}>
              <th scope="row">{keyOfRow(resource, row).join(", ")}</th>
              <td>{preview(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {number > shown.length && <p class="quiet">and {rowsText(number - shown.length)} more</p>}
      {error && <Problem error={error} what="Nothing was written" />}
      <div class="actions">
        <button
          type="button"
          class={isDanger ? "danger" : "main"}
          disabled={!isReady || isSending}
          onClick={send}
        >
          {action}
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
      </div>
    </dialog>
  );
}
