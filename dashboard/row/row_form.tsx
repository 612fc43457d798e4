import { useEffect, useState } from "preact/hooks";
import {
  type FieldFacts,
  isStored,
  type ResourceDescription,
  shownFields,
} from "../service/facts.ts";
import { keyOfRow, keyText, type Row, valueIn } from "../service/resources.ts";
import { useRows } from "../service/use_rows.ts";
import { href } from "../shell/route.ts";
import { useEdits } from "../edits/unsaved_edits.ts";
import { Problem } from "../parts/problem.tsx";
import { ConflictView } from "./conflict_view.tsx";
import { DeleteButton } from "./delete_button.tsx";
import { type Drafts, patchOf } from "./draft.ts";
import { FieldInput } from "./field_input.tsx";
import { createRow, type Saved, saveRow, type TaggedRow } from "./save_row.ts";

/** The fields of a row as they are edited; a save sends those that were changed. */
export function RowForm({ resource, rowKey, place, base, first: given = noDrafts, onReload }: {
  readonly resource: ResourceDescription;
  /** Null for a new row. */
  readonly rowKey: readonly string[] | null;
  /** The path of the page, by which unsaved edits are kept. */
  readonly place: string;
  readonly base: TaggedRow | null;
  /** The first values of the fields of a new row. */
  readonly first?: Drafts;
  readonly onReload: () => void;
}) {
  const { rows, mayWrite } = useRows();
  const edits = useEdits();
  const [kept] = useState(() => edits.at(place));
  const [drafts, setDrafts] = useState<Drafts>(kept?.drafts ?? given);
  const [outcome, setOutcome] = useState<Saved | null>(null);
  const [first] = useState(base);
  // The kept edits change the row as the operator has read it, so that a conflict is noticed.
  const [read, setRead] = useState(kept ? kept.base : base);
  const [isSaving, setIsSaving] = useState(false);
  useEffect(() => {
    if (base !== first) setRead(base);
  }, [base]);
  const write = (drafts: Drafts, over = read) => {
    setDrafts(drafts);
    edits.keep(place, drafts.size === 0 ? null : { drafts, base: over });
  };
  const fields = shownFields(resource).filter((field) =>
    base !== null || isWritten(field, resource)
  );
  const { patch, problems } = patchOf(fields, drafts);
  const wrong = outcome?.kind === "invalid"
    ? new Map([...outcome.problems, ...problems])
    : problems;
  const isChanged = drafts.size > 0;

  const send = async (patch: Row, over: TaggedRow | null) => {
    setIsSaving(true);
    const client = rows.of(resource);
    const saved = rowKey === null || over === null
      ? await createRow(client, patch)
      : await saveRow(client, resource, { key: rowKey, base: over, patch });
    setIsSaving(false);
    setOutcome(saved);
    if (saved.kind !== "saved") return;
    write(noDrafts);
    const key = keyOfRow(resource, saved.row.value);
    if (key.join() !== rowKey?.join()) {
      location.hash = href(`${resource.place}/${keyText(key)}`);
    } else onReload();
  };

  const drop = () => {
    write(noDrafts);
    setOutcome(null);
    onReload();
  };

  const [theirs, isGone] = outcome?.kind === "conflict"
    ? [outcome.theirs, outcome.theirs === null]
    : [null, false];
  return (
    <>
      {kept && isChanged && outcome === null && (
        <p role="status" class="quiet">These changes are not saved yet.</p>
      )}
      {outcome && <Outcome outcome={outcome} fields={fields} />}
      {isGone && <p class="problem" role="alert">The row was deleted since you read it.</p>}
      {theirs !== null && read !== null && (
        <ConflictView
          {...{ fields, base: read.value, mine: patch, theirs: theirs.value }}
          onResolve={(chosen) => {
            setRead(theirs);
            write(drafts, theirs);
            if (Object.keys(chosen).length > 0) void send(chosen, theirs);
            else drop();
          }}
          onCancel={drop}
        />
      )}
      <form
        class="form fields"
        hidden={theirs !== null}
        onSubmit={(event) => {
          event.preventDefault();
          if (problems.size === 0) void send(patch, read);
        }}
      >
        {fields.map((field) => (
          <FieldInput
            key={field.name}
            {...{ field, draft: drafts.get(field.name), problem: wrong.get(field.name) }}
            value={read === null ? undefined : valueIn(read.value, field.name) ?? null}
            isReadOnly={!mayWrite || !isWritten(field, resource)}
            onDraft={(draft) => {
              const next = new Map(drafts);
              if (draft === undefined) next.delete(field.name);
              else next.set(field.name, draft);
              write(next);
              setOutcome(null);
            }}
          />
        ))}
        {mayWrite && (
          <div class="actions sticky">
            <button
              type="submit"
              class="main"
              disabled={isSaving || rowKey !== null && !isChanged}
            >
              {rowKey === null ? "Create" : "Save"}
            </button>
            {isChanged && <button type="button" onClick={() => write(noDrafts)}>Undo all</button>}
            {rowKey !== null && (
              <DeleteButton
                {...{ resource, rowKey, etag: read?.etag ?? null, onReload }}
                onDeleted={() => write(noDrafts)}
              />
            )}
          </div>
        )}
      </form>
    </>
  );
}

const noDrafts: Drafts = new Map();

/** The operator may write every field that is stored, but for the mark of deleted rows. */
function isWritten(field: FieldFacts, { softDelete }: ResourceDescription): boolean {
  return isStored(field) && field.name !== softDelete;
}

function Outcome({ outcome, fields }: {
  readonly outcome: Saved;
  readonly fields: readonly FieldFacts[];
}) {
  if (outcome.kind === "saved") return <p role="status" class="saved">Saved.</p>;
  if (outcome.kind === "failed") return <Problem error={outcome.error} what="Cannot save" />;
  if (outcome.kind !== "invalid") return null;
  const elsewhere = [...outcome.problems]
    .filter(([name]) => !fields.some((field) => field.name === name));
  return (
    <p class="problem" role="alert">
      The service refuses these values. {elsewhere.map(([name, text]) => `${name} ${text}. `)}
    </p>
  );
}
