import type { ComponentChildren } from "preact";
import { formatTime, formatValue } from "./format.ts";

/** A column of a table: its name, and what it shows of a record; the member of that name unless set. */
export interface RecordColumn<T> {
  readonly name: string;
  readonly title?: string;
  readonly kind?: "number" | "time";
  readonly show?: (record: T) => ComponentChildren;
}

/** A table of records. */
export function RecordTable<T extends object>({ label, columns, records, empty }: {
  readonly label: string;
  readonly columns: readonly RecordColumn<T>[];
  readonly records: readonly T[];
  /** What is said where there are none. */
  readonly empty: string;
}) {
  if (records.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name, title = name, kind }) => (
              <th key={name} scope="col" class={kind ?? ""}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record, index) => (
            <tr key={index}>
              {columns.map((column) => (
                <td key={column.name} class={column.kind ?? ""}>{shown(column, record)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function shown<T extends object>({ name, kind, show }: RecordColumn<T>, record: T) {
  if (show) return show(record);
  const value: unknown = Reflect.get(record, name);
  if (value === null || value === undefined) return <span class="null">–</span>;
  if (kind === "time") return formatTime(value);
  return typeof value === "number" ? value.toLocaleString("en") : formatValue(value);
}

/** The list at a member of a report; empty where it has none. */
export function listAt(
  report: unknown,
  name: string,
): readonly Readonly<Record<string, unknown>>[] {
  const value: unknown = Object(report)[name];
  return Array.isArray(value) ? value.map((one) => Object(one)) : [];
}

/** The columns of records whose members are not known before: those of the first ones. */
export function columnsOf(records: readonly object[]): readonly RecordColumn<object>[] {
  const names = new Set(records.slice(0, 50).flatMap((record) => Object.keys(record)));
  return [...names].map((name) => ({
    name,
    ...isTimeName(name) && { kind: "time" as const },
    ...records.some((record) => typeof Reflect.get(record, name) === "number") &&
      !isTimeName(name) && { kind: "number" as const },
  }));
}

function isTimeName(name: string): boolean {
  return /^(at|since)$|At$/.test(name);
}
