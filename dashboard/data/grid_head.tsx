import { useEffect, useState } from "preact/hooks";
import { changeQuery } from "../shell/route.ts";
import { type FieldFacts, isNumeric, isStored } from "../service/facts.ts";
import {
  type ColumnFilter,
  noCondition,
  operators,
  operatorsOf,
  parseFilters,
  printFilters,
  takesValue,
} from "./column_filters.ts";
import type { ColumnWidths } from "./column_widths.ts";
import type { ListQuery } from "./list_query.ts";
import { parseOrder, printOrder, toggleOrder } from "./query_order.ts";

/** The names of the columns, which sort, and a row of conditions. */
export function GridHead({ fields, query, widths, selected, onSelectAll }: {
  readonly fields: readonly FieldFacts[];
  readonly query: ListQuery;
  readonly widths: ColumnWidths;
  /** True if all loaded rows are selected; null if the rows cannot be selected. */
  readonly selected: boolean | null;
  readonly onSelectAll: (isOn: boolean) => void;
}) {
  const filters = parseFilters(query.filter);
  return (
    <thead>
      <tr>
        {selected !== null && (
          <th scope="col" class="mark">
            <input
              type="checkbox"
              aria-label="Select all loaded rows"
              checked={selected}
              onChange={({ currentTarget }) => onSelectAll(currentTarget.checked)}
            />
          </th>
        )}
        {fields.map((field) => <NameCell key={field.name} {...{ field, query, widths }} />)}
      </tr>
      <tr class="filters">
        {selected !== null && <td />}
        {fields.map((field) => (
          <td key={field.name}>
            {isStored(field) && <FilterCell field={field} filters={filters} />}
          </td>
        ))}
      </tr>
    </thead>
  );
}

function NameCell({ field, query, widths }: {
  readonly field: FieldFacts;
  readonly query: ListQuery;
  readonly widths: ColumnWidths;
}) {
  const keys = parseOrder(query.orderBy);
  const at = keys.findIndex((key) => key.field === field.name);
  const key = keys[at];
  const direction = key === undefined ? "none" : key.isDescending ? "descending" : "ascending";
  return (
    <th
      scope="col"
      aria-sort={direction}
      class={isNumeric(field) && !field.references ? "number" : ""}
    >
      {isStored(field)
        ? (
          <button
            type="button"
            title={`${
              titleOf(field)
            }. Click sorts, shift-click sorts by this as well, Alt and an arrow resize`}
            onKeyDown={({ altKey, key }) => {
              const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
              if (altKey && step !== undefined) widths.set(field, widths.of(field) + step);
            }}
            onClick={({ shiftKey }) => {
              const next = toggleOrder(keys, field.name, shiftKey);
              changeQuery({ orderBy: printOrder(next) || null });
            }}
          >
            {field.name}
            {key && (
              <span class="direction" aria-hidden="true">
                {key.isDescending ? "↓" : "↑"}
                {keys.length > 1 && at + 1}
              </span>
            )}
          </button>
        )
        : <span title={titleOf(field)}>{field.name}</span>}
      <span
        class="resize"
        title="Drag to resize, double-click for the usual width"
        onPointerDown={(event) => drag(event, (width) => widths.set(field, width))}
        onDblClick={() => widths.set(field, null)}
      />
    </th>
  );
}

/** Follows the pointer, and calls back with the width of the column in rem. */
function drag(event: PointerEvent, resize: (width: number) => void): void {
  const { currentTarget: handle, clientX, pointerId } = event;
  if (!(handle instanceof HTMLElement) || handle.parentElement === null) return;
  event.preventDefault();
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const { width } = handle.parentElement.getBoundingClientRect();
  handle.setPointerCapture(pointerId);
  const follow = (moved: PointerEvent) => resize((width + moved.clientX - clientX) / rem);
  handle.addEventListener("pointermove", follow);
  handle.addEventListener(
    "lostpointercapture",
    () => handle.removeEventListener("pointermove", follow),
    { once: true },
  );
}

function titleOf({ type, description }: FieldFacts): string {
  return description === null ? type : `${type}: ${description}`;
}

function FilterCell({ field, filters }: {
  readonly field: FieldFacts;
  /** Null where the filter was written as text, and does not fit into columns. */
  readonly filters: readonly ColumnFilter[] | null;
}) {
  const possible = operatorsOf(field);
  const current = filters?.find((one) => one.field === field.name);
  const [operator, setOperator] = useState(current?.operator ?? possible[0] ?? "==");
  const [value, setValue] = useState(current?.value ?? "");
  useEffect(() => {
    setValue(current?.value ?? "");
    if (current) setOperator(current.operator);
  }, [current?.value, current?.operator]);
  const write = (operator: string, value: string) => {
    const isNone = operator === noCondition || takesValue(operator) && value === "";
    const next = isNone ? null : { field: field.name, operator, value };
    const others = filters?.filter((one) => one.field !== field.name) ?? [];
    const text = printFilters(next === null ? others : [...others, next]);
    changeQuery({ filter: text || null });
  };
  const isDisabled = filters === null;
  const why = isDisabled ? "The filter is written as text above" : undefined;
  return (
    <div class="condition">
      <select
        aria-label={`Condition on ${field.name}`}
        title={why ?? operators[operator]?.[1]}
        disabled={isDisabled}
        value={operator}
        onChange={({ currentTarget }) => {
          const next = currentTarget.value;
          setOperator(next);
          if (!takesValue(next) || value !== "" || current) write(next, value);
        }}
      >
        {possible.map((one) => (
          <option value={one}>{`${operators[one]?.[0]}  ${operators[one]?.[1]}`}</option>
        ))}
      </select>
      {takesValue(operator) && valuesOf(field) && (
        <datalist id={`values-${field.name}`}>
          {valuesOf(field)?.map((one) => <option key={one} value={one} />)}
        </datalist>
      )}
      {takesValue(operator) && (
        <input
          aria-label={`Value for ${field.name}`}
          title={why}
          disabled={isDisabled}
          value={value}
          autocomplete="off"
          list={valuesOf(field) && `values-${field.name}`}
          onInput={({ currentTarget }) => setValue(currentTarget.value)}
          onChange={({ currentTarget }) => write(operator, currentTarget.value)}
        />
      )}
    </div>
  );
}

/** The values that a field can have, where they are few. */
function valuesOf({ type, enum: values }: FieldFacts): readonly string[] | undefined {
  return type === "boolean" ? ["true", "false"] : values ?? undefined;
}
