import { useRef, useState } from "preact/hooks";
import type { ResourceDescription } from "../service/facts.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { href } from "../shell/route.ts";
import { usePlaces } from "../data/list_places.ts";
import { Problem } from "../parts/problem.tsx";

/** Deletes a row, once that is confirmed; not one that has changed since it was read. */
export function DeleteButton({ resource, rowKey, etag, onDeleted, onReload }: {
  readonly resource: ResourceDescription;
  readonly rowKey: readonly string[];
  readonly etag: string | null;
  readonly onDeleted: () => void;
  readonly onReload: () => void;
}) {
  const { rows } = useRows();
  const places = usePlaces();
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<Error | null>(null);
  const remove = async () => {
    try {
      await rows.of(resource).delete(rowKey, resource.etag ? { ifMatch: etag ?? "" } : {});
      dialog.current?.close();
      onDeleted();
      if (resource.softDelete === null) {
        location.hash = href(resource.place, places.queryOf(resource.path));
      } else onReload();
    } catch (error) {
      setError(toError(error));
    }
  };
  return (
    <>
      <button
        type="button"
        class="danger"
        onClick={() => {
          setError(null);
          dialog.current?.showModal();
        }}
      >
        Delete …
      </button>
      <dialog ref={dialog} aria-labelledby="delete-title">
        <h2 id="delete-title">Delete this row?</h2>
        <p>
          {resource.title} {rowKey.join(", ")} is {resource.softDelete === null
            ? "deleted. This cannot be undone."
            : "marked deleted, and can be restored."}
        </p>
        {error && <Problem error={error} what="Cannot delete" />}
        <div class="actions">
          <button type="button" class="danger" onClick={remove}>Delete</button>
          <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        </div>
      </dialog>
    </>
  );
}
