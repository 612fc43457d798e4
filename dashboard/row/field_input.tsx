import type { FieldFacts } from "../service/facts.ts";
import { type Draft, draftOf } from "./draft.ts";
import { FieldControl } from "./field_control.tsx";
import { ReferenceLabel } from "./reference_label.tsx";
import { ReferencePicker } from "./reference_picker.tsx";

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
  // The control of a new row shows the default, except for dates.
  const showsDefault = isNew && field.type !== "date" && field.type !== "timestamp";
  const hint = hintOf(showsDefault ? { ...field, default: undefined } : field);
  const described = [problem && `${id}-problem`, hint && `${id}-hint`].filter(Boolean).join(" ");
  return (
    <div class={`field ${draft ? "edited" : ""}`}>
      <label for={id} title={field.description ?? undefined}>
        {field.name} <span class="quiet">{field.type}</span>
        {field.required && <span class="required" title="required">*</span>}
      </label>
      <div class="value">
        <FieldControl
          {...{ field, id, shown, isReadOnly }}
          ofNull={isNew && draft === undefined ? emptyText(field) : "NULL"}
          describedBy={described || undefined}
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
        {isAddress(shown.text) && (
          <a class="label" href={shown.text} target="_blank" rel="noopener noreferrer">Open</a>
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
      {hint && <p class="quiet hint" id={`${id}-hint`}>{hint}</p>}
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{field.name} {problem}</p>}
    </div>
  );
}

/** Returns true for the address of a page. Other schemes, such as `javascript:`, are never links. */
function isAddress(text: string): boolean {
  return /^https?:\/\/\S+$/i.test(text);
}

/** The text in the control of a new row that the operator has not written. */
function emptyText({ required, default: standard, nullable }: FieldFacts): string {
  if (standard !== undefined) return `default: ${plainDefault(standard)}`;
  return required ? "required" : nullable ? "NULL" : "set by the service";
}

/** Returns the default without the quotes and the cast of SQL. */
function plainDefault(text: string): string {
  return text.replace(/^'([^']*)'(?:::[\w ."[\]]+)?$/, "$1");
}

/** The rules of a field in words. */
function hintOf(
  field: Omit<FieldFacts, "default"> & { readonly default?: string | undefined },
): string {
  const { unique, default: standard, minLength, maxLength, pattern, format, min, max } = field;
  const between = (least: unknown, most: unknown, unit: string) =>
    least === undefined && most === undefined
      ? []
      : least === undefined
      ? [`at most ${most}${unit}`]
      : most === undefined
      ? [`at least ${least}${unit}`]
      : [`${least} to ${most}${unit}`];
  return [
    ...(unique ? ["unique"] : []),
    ...(standard === undefined ? [] : [`default ${plainDefault(standard)}`]),
    ...between(minLength, maxLength, " characters"),
    ...between(min, max, ""),
    ...(pattern === undefined ? [] : [`pattern ${pattern}`]),
    ...(format === undefined ? [] : [`an ${format} address`]),
    ...(field.type === "timestamp" ? ["UTC"] : []),
  ].join(", ");
}
