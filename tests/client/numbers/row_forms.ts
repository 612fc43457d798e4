import { documentText, type Stored, wholeNumbers } from "./snow_service.ts";

/** What a test asserts. */
// deno-lint-ignore no-explicit-any -- a test says what an answer holds by asserting it
export type Data = any;

/** A row in the safe form, as JavaScript has it, with its numbers by their digits. */
export function safe(row: unknown): Stored {
  const { id, ref, price, ratio, doc } = row as Data;
  return { id, ref, price, ratio: `${ratio}`, doc: safeDocument(doc) };
}

function safeDocument(value: unknown): unknown {
  if (typeof value === "number") return `# ${value}`;
  if (Array.isArray(value)) return value.map(safeDocument);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value);
  const [[name, digits] = []] = members;
  return name === "$number"
    ? `# ${digits}`
    : Object.fromEntries(members.map(([name, member]) => [name, safeDocument(member)]));
}

/** A row whose numbers {@link marked} has read. */
export function plain({ id, ref, price, ratio, doc }: Data): Stored {
  const digits = (value: string) => value.replace(/^# /, "");
  return { id: digits(id), ref: digits(ref), price, ratio: `${+digits(ratio)}`, doc };
}

/** Rows in the safe form, in the order of their ids. */
export function sorted(rows: readonly unknown[]): readonly Stored[] {
  const ordered = rows.map(safe);
  return ordered.sort((a, b) =>
    wholeNumbers.findIndex((id) => id === a.id) -
    wholeNumbers.findIndex((id) => id === b.id)
  );
}

/** The members of a row that a door shows. */
export function onlyMembersOf(shown: Partial<Stored>, row: Stored): Partial<Stored> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name in shown));
}

/** What the client is given to create a row. */
export function bodyOf(row: Stored) {
  const { id, ref, price, ratio } = row;
  const doc = JSON.parse(JSON.stringify(row.doc).replace(/"# ([^"]*)"/g, '{"$number":"$1"}'));
  return { ...{ id, ref, price, doc }, ratio: Number(ratio), v: "v", pages: 3 };
}

/** What a program of another language sends. */
export function jsonOf(row: Stored): string {
  const { id, ref, price, ratio } = row;
  return `{"id":${id},"ref":${ref},"price":"${price}","ratio":${ratio},"v":"v","pages":3,` +
    `"doc":${documentText(row)}}`;
}
