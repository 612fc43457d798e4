import { listableFields, type ResourceDescription } from "../service/facts.ts";
import { type AnyClient, keyOfRow, type Row, valueIn } from "../service/resources.ts";
import type { FieldFacts } from "../service/facts.ts";
import { filterOfKeys } from "./selection.ts";
import { printTsv, tsvCellOf } from "./tsv.ts";

/** A filter in a URL has at most 100 comparisons. */
const keysOfRequest = 50;

/** Copies rows as TSV, with a line of the names of the fields. */
export async function copyRows(
  resource: ResourceDescription,
  client: AnyClient,
  rows: readonly Row[],
): Promise<void> {
  const fields = listableFields(resource).filter(({ name }) =>
    rows.some((row) => Object.hasOwn(row, name))
  );
  const head = fields.map(({ name }) => ({ text: name, isQuoted: false }));
  const whole = await wholeRows(resource, client, rows);
  await write(printTsv([head, ...cellsOf(whole, fields)]));
}

/** Returns the cells of rows, in the order of the fields. */
export function cellsOf(rows: readonly Row[], fields: readonly FieldFacts[]) {
  return rows.map((row) => fields.map((field) => tsvCellOf(valueIn(row, field.name), field)));
}

/** Returns true if the service has sent only the beginning of a value of the row. */
export function isCutRow({ _cut: cut }: Row): boolean {
  return Array.isArray(cut);
}

/** Reads the complete values of the rows whose values the list has only in part. */
export async function wholeRows(
  resource: ResourceDescription,
  client: AnyClient,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const cut = rows.filter(isCutRow);
  if (cut.length === 0) return rows;
  const keys = cut.map((row) => keyOfRow(resource, row));
  const whole = new Map<string, Row>();
  for (let from = 0; from < keys.length; from += keysOfRequest) {
    const filter = filterOfKeys(resource, keys.slice(from, from + keysOfRequest));
    const { items } = await client.list({ filter, limit: keysOfRequest });
    for (const row of items) whole.set(keyOfRow(resource, row).join(), row);
  }
  return rows.map((row) => whole.get(keyOfRow(resource, row).join()) ?? row);
}

/** Writes a text to the clipboard. Browsers permit that only on HTTPS and on this machine. */
export async function write(text: string): Promise<void> {
  const { clipboard } = navigator;
  if (clipboard === undefined) {
    throw new Error("The browser permits no access to the clipboard: open the dashboard by HTTPS");
  }
  await clipboard.writeText(text);
}
