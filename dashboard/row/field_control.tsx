import { useState } from "preact/hooks";
import type { FieldFacts } from "../service/facts.ts";
import type { Draft } from "./draft.ts";

/** Longer strings are shown only when they are asked for. */
const longText = 20_000;

/** The control of a field's value, by the kind of the field. */
export function FieldControl(
  { field, id, shown, isReadOnly, label, describedBy, ofNull = "NULL", onText }: {
    readonly field: FieldFacts;
    readonly id: string;
    readonly shown: Draft;
    readonly isReadOnly: boolean;
    /** The name of the control, unless a label element names it. */
    readonly label?: string;
    readonly describedBy: string | undefined;
    /** The text that is shown for NULL. */
    readonly ofNull?: string;
    readonly onText: (text: string) => void;
  },
) {
  const [isWhole, setIsWhole] = useState(false);
  const { text, isNull } = shown;
  const common = {
    ...{ id, disabled: isReadOnly, "aria-describedby": describedBy, "aria-label": label },
    "aria-invalid": describedBy?.includes("problem") === true,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onText(currentTarget.value),
  };
  const choices = field.enum ?? (field.type === "boolean" ? ["true", "false"] : null);
  if (choices !== null) {
    return (
      <select {...common} class={isNull ? "null" : ""} value={isNull ? "" : text}>
        {isNull && <option value="">{ofNull}</option>}
        {choices.map((choice) => <option key={choice} value={choice}>{choice}</option>)}
        {!isNull && !choices.includes(text) && <option value={text}>{text}</option>}
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
  const placeholder = isNull ? ofNull : text === "" ? "empty" : "";
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
  const picker = pickerOf(field, shown);
  if (picker !== null) {
    const { type, value, toText } = picker;
    return (
      <input
        {...common}
        {...{ type, value, class: isNull ? "null" : "" }}
        step={type === "date" ? 1 : 0.001}
        onInput={({ currentTarget }) => onText(toText(currentTarget.value))}
      />
    );
  }
  const isWholeNumber = field.type === "integer" || field.type === "bigint";
  const isNumber = isWholeNumber || field.type === "real" || field.type === "decimal";
  return (
    <input
      {...{ ...common, placeholder }}
      value={text}
      autocomplete="off"
      inputMode={isWholeNumber ? "numeric" : isNumber ? "decimal" : undefined}
    />
  );
}

/**
 * Returns the input of a date or a timestamp. A value that the input cannot hold exactly, such as
 * one with microseconds or a year beyond 9999, is edited as text.
 */
function pickerOf({ type }: FieldFacts, { text, isNull }: Draft) {
  if (type === "date" && (isNull || text === "" || /^\d{4}-\d\d-\d\d$/.test(text))) {
    return { type: "date", value: text, toText: (value: string) => value } as const;
  }
  const isHeld = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3}0*)?)?Z$/.test(text);
  if (type !== "timestamp" || !isNull && text !== "" && !isHeld) return null;
  return {
    type: "datetime-local",
    value: text.replace(/(\.\d{3})0*Z$|Z$/, "$1"),
    // The service writes timestamps in UTC.
    toText: (value: string) =>
      value === "" ? "" : `${value.length === 16 ? `${value}:00` : value}Z`,
  } as const;
}
