import { useState } from "preact/hooks";
import { isStored, type ResourceDescription, shownFields } from "../service/facts.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { rowsText } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import type { ListQuery } from "../data/list_query.ts";
import { copyRows } from "./copy_cells.ts";
import { ChangeManyDialog, DeleteManyDialog } from "./many_dialogs.tsx";
import { noSelection, type Selection } from "./selection.ts";

/** The number of selected rows, and the actions for all of them. */
export function SelectionBar({ resource, list, count, selection, onSelect, onWritten }: {
  readonly resource: ResourceDescription;
  readonly list: ListQuery;
  /** The number of rows that match the filter, or null if it is unknown. */
  readonly count: number | null;
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
  readonly onWritten: () => void;
}) {
  const { rows, mayWrite } = useRows();
  const [open, setOpen] = useState<"change" | "delete" | null>(null);
  const [told, setTold] = useState<string | Error | null>(null);
  const number = selection.isAll ? count ?? 0 : selection.rows.size;
  // A batch changes no rows that are marked as deleted.
  const isWhole = count !== null && count > selection.rows.size && !selection.isAll &&
    !list.withDeleted;
  const written = (text: string) => {
    setOpen(null);
    setTold(text);
    onSelect(noSelection);
    onWritten();
  };
  const copy = () =>
    copyRows(resource, rows.of(resource), [...selection.rows.values()]).then(
      () => setTold(`${rowsText(selection.rows.size)} copied`),
      (error) => setTold(toError(error)),
    );
  if (number === 0 && told === null) return null;
  const dialog = { resource, list, number, selection, onClose: () => setOpen(null) };
  return (
    <div class="selection" role="toolbar" aria-label="Selected rows">
      <span role="status">
        {number > 0 ? `${rowsText(number)} selected` : typeof told === "string" && told}
      </span>
      {told instanceof Error && <Problem error={told} />}
      {number > 0 && (
        <>
          {isWhole && mayWrite && (
            <button
              type="button"
              onClick={() => onSelect({ ...selection, isAll: true })}
            >
              Select all {rowsText(count)} that match
            </button>
          )}
          {mayWrite && (
            <>
              <button type="button" onClick={() => setOpen("change")}>Change …</button>
              <button type="button" class="danger" onClick={() => setOpen("delete")}>
                Delete …
              </button>
            </>
          )}
          {!selection.isAll && <button type="button" onClick={copy}>Copy</button>}
          <button type="button" onClick={() => onSelect(noSelection)}>Clear</button>
        </>
      )}
      {number === 0 && <button type="button" onClick={() => setTold(null)}>OK</button>}
      {open === "change" && (
        <ChangeManyDialog
          {...dialog}
          fields={shownFields(resource).filter((field) =>
            isStored(field) && !resource.key.includes(field.name) &&
            field.name !== resource.softDelete
          )}
          onWritten={written}
        />
      )}
      {open === "delete" && <DeleteManyDialog {...dialog} onWritten={written} />}
    </div>
  );
}
