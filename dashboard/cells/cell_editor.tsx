import type { ComponentChildren } from "preact";
import { type MutableRef, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FieldFacts, ResourceDescription } from "../service/facts.ts";
import { type Row, valueIn } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { useRows } from "../service/use_rows.ts";
import { useEdits } from "../edits/unsaved_edits.ts";
import { Problem } from "../parts/problem.tsx";
import { ConflictView } from "../row/conflict_view.tsx";
import { type Draft, draftOf, readDraft } from "../row/draft.ts";
import { FieldControl } from "../row/field_control.tsx";
import { ReferencePicker } from "../row/reference_picker.tsx";
import { readRow, type Saved, saveRow, type TaggedRow } from "../row/save_row.ts";

/** The move of the active cell after an edit. */
export type Step = readonly [rows: number, columns: number];

/** An edit in a cell: its row, and what the operator has typed to begin the edit. */
export interface CellEdit {
  readonly field: FieldFacts;
  readonly rowKey: readonly string[];
  readonly draft: Draft | null;
}

/** The place of the editor in its grid, in pixels. */
export interface EditorBox {
  readonly left: number;
  readonly top: number;
  readonly width: number;
}

/**
 * Edits one cell. The editor reads the row first, so a save changes only the row that the operator
 * has seen: another row is a conflict.
 */
export function CellEditor({ resource, place, edit, box, commit, onDone }: {
  readonly resource: ResourceDescription;
  /** The path of the page, by which the dashboard knows that an edit is not saved. */
  readonly place: string;
  readonly edit: CellEdit;
  readonly box: EditorBox;
  /** Contains the function that saves the edit, for a click outside of the editor. */
  readonly commit: MutableRef<(() => void) | null>;
  /** Called at the end of the edit. The row is null if nothing has changed. */
  readonly onDone: (row: Row | null, step: Step) => void;
}) {
  const { field, rowKey } = edit;
  const { rows } = useRows();
  const client = rows.of(resource);
  const edits = useEdits();
  const element = useRef<HTMLDivElement>(null);
  const [reading] = useState(() => readRow(client, rowKey));
  const [read, setRead] = useState<TaggedRow | null>(null);
  const [draft, setDraft] = useState(edit.draft);
  const [outcome, setOutcome] = useState<Saved | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isSaving = useRef(false);

  useEffect(() => {
    reading.then(
      (row) => row === null ? setOutcome({ kind: "conflict", theirs: null }) : setRead(row),
      (error) => setOutcome({ kind: "failed", error: toError(error) }),
    );
    return () => edits.keep(place, null);
  }, []);
  useLayoutEffect(() => {
    if (edit.draft !== null) edits.keep(place, "cell");
  }, []);
  const isReady = draft !== null || read !== null;
  useLayoutEffect(() => focusIn(element.current, edit.draft === null), [isReady, field.name]);

  const shown = draft ?? draftOf(read === null ? null : valueIn(read.value, field.name), field);
  const write = (next: Draft) => {
    setDraft(next);
    // An effect would be too late for a link that the operator follows immediately.
    edits.keep(place, "cell");
    setProblem(null);
    setOutcome(null);
  };
  const save = async (patch: Row, base: TaggedRow, step: Step) => {
    isSaving.current = true;
    const saved = await saveRow(client, resource, { key: rowKey, base, patch });
    isSaving.current = false;
    if (saved.kind === "saved") onDone(saved.row.value, step);
    else setOutcome(saved);
  };
  const finish = async (step: Step) => {
    if (isSaving.current) return;
    if (draft === null) return onDone(null, step);
    const value = readDraft(draft, field);
    if ("problem" in value) return setProblem(value.problem);
    const base = read ?? await reading.catch(() => null);
    if (base === null) return;
    const patch = Object.fromEntries([[field.name, value.value]]);
    await save(patch, base, step);
  };
  commit.current = () => void finish([0, 0]);

  const cancel = () => onDone(null, [0, 0]);
  const theirs = outcome?.kind === "conflict" ? outcome.theirs : null;
  if (theirs !== null && read !== null && draft !== null) {
    const value = readDraft(draft, field);
    return (
      <ConflictDialog onClose={cancel}>
        <ConflictView
          {...{ fields: resource.fields, base: read.value, theirs: theirs.value }}
          mine={"problem" in value ? {} : Object.fromEntries([[field.name, value.value]])}
          onResolve={(chosen) =>
            Object.keys(chosen).length > 0
              ? void save(chosen, theirs, [0, 0])
              : onDone(theirs.value, [0, 0])}
          onCancel={() => onDone(theirs.value, [0, 0])}
        />
      </ConflictDialog>
    );
  }
  return (
    <div
      class="cell-editor"
      ref={element}
      style={{ left: `${box.left}px`, top: `${box.top}px`, minWidth: `${box.width}px` }}
      onKeyDown={(event) => editKey(event, { finish: (step) => void finish(step), cancel })}
    >
      <div class="value">
        {isReady && (
          <FieldControl
            {...{ field, shown, id: "cell-input", isReadOnly: false }}
            label={field.name}
            describedBy={problem ? "cell-problem" : undefined}
            onText={(text) => write({ text, isNull: false })}
          />
        )}
        {field.nullable && (
          <label class="check">
            <input
              type="checkbox"
              checked={shown.isNull}
              aria-label={`${field.name} is NULL`}
              onChange={({ currentTarget: { checked } }) =>
                write({ text: checked ? "" : shown.text, isNull: checked })}
            />
            NULL
          </label>
        )}
        {field.references && (
          <ReferencePicker
            {...{ reference: field.references, name: field.name }}
            onPick={(text) => write({ text, isNull: false })}
          />
        )}
      </div>
      <p class="problem" id="cell-problem" role="alert">{textOf(problem, outcome, field)}</p>
      {outcome?.kind === "failed" && <Problem error={outcome.error} what="Cannot save" />}
    </div>
  );
}

function textOf(problem: string | null, outcome: Saved | null, { name }: FieldFacts): string {
  if (problem !== null) return `${name} ${problem}`;
  if (outcome?.kind === "conflict") return "The row was deleted.";
  if (outcome?.kind !== "invalid") return "";
  return [...outcome.problems].map(([field, text]) => `${field} ${text}`).join("; ");
}

/** Focuses the control. The text of an existing value is selected, as in a spreadsheet. */
function focusIn(element: HTMLElement | null, selects: boolean): void {
  const control = element?.querySelector<HTMLElement>("#cell-input");
  control?.focus({ preventScroll: true });
  if (selects && control instanceof HTMLInputElement) control.select();
}

/** Enter and Tab save the edit, and Escape discards it. Shift and Enter add a line. */
function editKey(event: KeyboardEvent, { finish, cancel }: {
  readonly finish: (step: Step) => void;
  readonly cancel: () => void;
}): void {
  const { key, shiftKey, altKey, target } = event;
  if (event.defaultPrevented || event.isComposing) return;
  if (key === "Enter" && target instanceof HTMLButtonElement) return;
  const isText = target instanceof HTMLTextAreaElement;
  const inPicker = target instanceof HTMLElement && target.closest(".picker") !== null;
  if (key === "Escape") cancel();
  else if (key === "Tab" && !inPicker) finish([0, shiftKey ? -1 : 1]);
  else if (key === "Enter" && !inPicker && !(isText && (shiftKey || altKey))) {
    finish([shiftKey ? -1 : 1, 0]);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function ConflictDialog({ onClose, children }: {
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="wide" ref={dialog} aria-labelledby="conflict-title" onClose={onClose}>
      {children}
    </dialog>
  );
}
