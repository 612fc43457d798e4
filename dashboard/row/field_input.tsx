import { useState } from "preact/hooks";
import type { FieldFacts } from "../service/facts.ts";
import { type Draft, draftOf } from "./draft.ts";
import { ReferenceLabel } from "./reference_label.tsx";
import { ReferencePicker } from "./reference_picker.tsx";

/** Longer strings are shown only when they are asked for. */
const longText = 20_000;

/** A field of a row as it is edited: its name, its value, whether it is NULL, what is wrong. */
export function FieldInput({ field, value, draft, problem, isReadOnly, onDraft }: {
  readonly field: FieldFacts;
  /** As it was read; undefined in a new row. */
  readonly value: unknown;
  readonly draft: Draft | undefined;
  readonly problem: string | undefined;
  readonly isReadOnly: boolean;
  readonly onDraft: (draft: Draft | undefined) => void;
}) {
  const shown = draft ?? draftOf(value, field);
  const id = `field-${field.name}`;
  const isNew = value === undefined;
  const write = (text: string) => onDraft({ text, isNull: false });
  return (
    <div class={`field ${draft ? "edited" : ""}`}>
      <label for={id} title={field.description ?? undefined}>
        {field.name} <span class="quiet">{field.type}</span>
      </label>
      <div class="value">
        <Control
          {...{ field, id, shown, isReadOnly }}
          describedBy={problem ? `${id}-problem` : undefined}
          onText={write}
        />
        {field.nullable && !isReadOnly && (
          <label class="check">
            <input
              type="checkbox"
              checked={shown.isNull && !(isNew && draft === undefined)}
              aria-label={`${field.name} is NULL`}
              onChange={({ currentTarget }) =>
                onDraft(
                  currentTarget.checked
                    ? { text: shown.text, isNull: true }
                    : isNew || value === null
                    ? { text: shown.text, isNull: false }
                    : undefined,
                )}
            />
            NULL
          </label>
        )}
        {field.references && !isReadOnly && (
          <ReferencePicker reference={field.references} name={field.name} onPick={write} />
        )}
        {field.references && !shown.isNull && (
          <ReferenceLabel reference={field.references} value={shown.text} />
        )}
        {draft && (
          <button
            type="button"
            aria-label={`Undo the change of ${field.name}`}
            onClick={() => onDraft(undefined)}
          >
            Undo
          </button>
        )}
      </div>
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{field.name} {problem}</p>}
    </div>
  );
}

function Control({ field, id, shown, isReadOnly, describedBy, onText }: {
  readonly field: FieldFacts;
  readonly id: string;
  readonly shown: Draft;
  readonly isReadOnly: boolean;
  readonly describedBy: string | undefined;
  readonly onText: (text: string) => void;
}) {
  const [isWhole, setIsWhole] = useState(false);
  const { text, isNull } = shown;
  const common = {
    ...{ id, disabled: isReadOnly, "aria-describedby": describedBy },
    "aria-invalid": describedBy !== undefined,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onText(currentTarget.value),
  };
  const choices = field.enum ?? (field.type === "boolean" ? ["true", "false"] : null);
  if (choices !== null) {
    return (
      <select {...common} value={isNull ? "" : text}>
        {isNull && <option value="">{field.nullable ? "NULL" : "choose"}</option>}
        {choices.map((choice) => <option key={choice} value={choice}>{choice}</option>)}
      </select>
    );
  }
  if (text.length > longText && !isWhole) {
    const showAll = `Show all ${text.length.toLocaleString("en")} characters`;
    return (
      <div class="long">
        <span>{text.slice(0, 200)}…</span>
        <button
          type="button"
          id={id}
          aria-label={`${showAll} of ${field.name}`}
          onClick={() => setIsWhole(true)}
        >
          {showAll}
        </button>
      </div>
    );
  }
  const placeholder = isNull ? "NULL" : text === "" ? "empty" : "";
  if (field.type === "json" || field.type === "text" && (text.length > 60 || text.includes("\n"))) {
    const rows = Math.min(16, Math.max(3, text.slice(0, 4_000).split("\n").length));
    return (
      <textarea
        {...{ ...common, rows, placeholder }}
        class={field.type === "json" ? "code" : ""}
        spellcheck={false}
        value={text}
      />
    );
  }
  return <input {...{ ...common, placeholder }} value={text} autocomplete="off" />;
}
