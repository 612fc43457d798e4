import { useLayoutEffect, useRef } from "preact/hooks";

/** Asks what becomes of unsaved edits before the operator leaves a page. */
export function LeaveDialog({ onStay, onKeep, onDiscard }: {
  readonly onStay: () => void;
  /** Null if the edits end with the page. */
  readonly onKeep: (() => void) | null;
  readonly onDiscard: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="leave-title"
      onCancel={(event) => {
        event.preventDefault();
        onStay();
      }}
    >
      <h2 id="leave-title">This page has unsaved changes</h2>
      <p>
        {onKeep
          ? "The dashboard can keep the changes in this tab until you return to the page."
          : "A cell is not saved yet."}
      </p>
      <div class="actions">
        <button type="button" class="main" onClick={onStay}>Stay</button>
        {onKeep && <button type="button" onClick={onKeep}>Keep and leave</button>}
        <button type="button" class="danger" onClick={onDiscard}>Discard and leave</button>
      </div>
    </dialog>
  );
}
