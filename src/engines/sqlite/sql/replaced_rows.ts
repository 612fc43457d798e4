import { quoteIdentifier, quoteText } from "../../../sql/fragment.ts";
import { columnSqlOf, imageJson } from "./image_json.ts";
import { type RecordedTable, type RecordedUniqueIndex, rowIdNames } from "./recorded_table.ts";

/**
 * The SQLite table of "notes": rows that a write may replace. REPLACE deletes them without a delete
 * trigger. `rival` contains the row id or the unique values in conflict.
 */
export const sqliteReplacedRowsTable =
  `CREATE TABLE IF NOT EXISTS "_service_replaced" (id INTEGER PRIMARY KEY, "table", "row", rival, image)`;

export interface ReplacementTrigger {
  readonly label: string;
  readonly moment: string;
  readonly when: string | null;
  readonly body: readonly string[];
}

/**
 * Returns the SQLite triggers that find replaced rows, whichever program writes. Before a row is
 * written, they note the existing rows that share a unique value with it, together with the key of
 * the conflict. After the write, noted rows that no longer exist are recorded as deleted. A
 * statement that changes or deletes a noted row is recorded anyway, and updates the note.
 *
 * If the row was not written (OR IGNORE, DO NOTHING, DO UPDATE, OR FAIL), the notes remain. They
 * are harmless, because they are kept up to date, and only the latest ones are kept.
 */
export function replacementTriggers(
  table: RecordedTable,
  schemaPrefix: string,
): readonly ReplacementTrigger[] {
  const isNoted = `EXISTS (SELECT 1 FROM ${notesOf(table)})`;
  const uniques = updatesOfUniques(table);
  const isOther = `${rowText(quoteIdentifier(table.name), table)} IS NOT ${rowText("OLD", table)}`;
  const changed = { moment: "AFTER UPDATE", when: isNoted, body: [updateNote(table)] };
  const updated = [`"row" <> ${rowText("OLD", table)}`];
  return [
    ...touchesOfTakenRows(table, schemaPrefix),
    { label: "changed", ...changed },
    { label: "deleted", moment: "AFTER DELETE", when: isNoted, body: [deleteNote(table)] },
    {
      label: "replaced_by_insert",
      moment: "AFTER INSERT",
      when: isNoted,
      body: recordReplaced(table, schemaPrefix, []),
    },
    {
      label: "replaced_by_update",
      moment: `AFTER ${uniques}`,
      when: isNoted,
      body: recordReplaced(table, schemaPrefix, updated),
    },
    { label: "noted_by_insert", moment: "BEFORE INSERT", ...note(table, schemaPrefix, []) },
    {
      label: "noted_by_update",
      moment: `BEFORE ${uniques}`,
      ...note(table, schemaPrefix, [isOther]),
    },
  ];
}

function notesOf({ name }: RecordedTable): string {
  return `"_service_replaced" WHERE "table" = ${quoteText(name)}`;
}

function note(
  table: RecordedTable,
  schemaPrefix: string,
  conditions: readonly string[],
): Pick<ReplacementTrigger, "when" | "body"> {
  const notes = notesOf(table);
  const found = candidates(table, schemaPrefix, conditions);
  const name = quoteIdentifier(table.name);
  const { rowId, values } = conflictKeys("NEW", table);
  // Before the write, a row id that SQLite will assign reads as -1.
  const keys = [...rowId.map((id) => `nullif(${id}, -1)`), ...values];
  return {
    when: [
      `EXISTS (SELECT 1 FROM ${notes})`,
      ...found.map(({ from }) => `EXISTS (SELECT 1 ${from})`),
    ].join(" OR "),
    body: [
      ...touchOfMissingRows(table, schemaPrefix),
      `DELETE FROM ${notes} AND rival IN (${keys.join(", ")})`,
      ...found.map(({ from, conflictKey }) =>
        `INSERT INTO "_service_replaced" ("table", "row", rival, image)
    SELECT ${quoteText(table.name)}, ${rowText(name, table)}, ${conflictKey}, ${
          imageJson(table.recorded, columnSqlOf(name))
        } ${from}`
      ),
      `DELETE FROM "_service_replaced" WHERE id <= (SELECT max(id) FROM "_service_replaced") - ${maxNotes}`,
    ],
  };
}

/**
 * Records a `touch` (a write of unknown rows) if a noted row is gone while its write still runs:
 * then a trigger writes during the replacement, so the order of changes is unknown.
 */
function touchOfMissingRows(table: RecordedTable, schemaPrefix: string): readonly string[] {
  if (!table.mayBeInterrupted) return [];
  const gone = `${notesOf(table)} AND ${isAbsent(table, schemaPrefix)}`;
  return [`${touch(table)} WHERE EXISTS (SELECT 1 FROM ${gone})`, `DELETE FROM ${gone}`];
}

function touchesOfTakenRows(
  table: RecordedTable,
  schemaPrefix: string,
): readonly ReplacementTrigger[] {
  const { key, uniques, rowId, hasStableIdentity: isRowLasting } = table;
  const names = rowId !== null && isRowLasting ? [rowId] : key.map(({ name }) => name);
  const isKey = isRowLasting ||
    uniques.some(({ columns, where }) =>
      where === null && columns.length === names.length &&
      columns.every((column) => names.includes(column))
    );
  if (!table.mayBeInterrupted || !isKey) return [];
  const name = quoteIdentifier(table.name);
  const same = names.map(quoteIdentifier).map((column) => `${name}.${column} = OLD.${column}`);
  const when = `EXISTS (SELECT 1 FROM ${schemaPrefix}${name} WHERE ${same.join(" AND ")})`;
  return [{ label: "doubted", moment: "AFTER DELETE", when, body: [touch(table)] }];
}

function touch({ name }: RecordedTable): string {
  return `INSERT INTO "_service_changes" ("table", op) SELECT ${quoteText(name)}, 'touch'`;
}

function isAbsent(table: RecordedTable, schemaPrefix: string): string {
  const name = quoteIdentifier(table.name);
  const { key, rowId } = table;
  const isIt = rowId !== null
    ? `${rowText(name, table)} = "_service_replaced"."row"`
    : key.map((column) =>
      `${name}.${quoteIdentifier(column.name)} = json_extract("_service_replaced"."row", ${
        quoteText(`$.${JSON.stringify(column.name)}`)
      })`
    ).join(" AND ");
  // A note encodes floating-point numbers and bytes, so a row with such a key cannot be looked up.
  const isPlain = rowId !== null
    ? ""
    : `"row" NOT LIKE '%\n%' AND "row" NOT LIKE '%"$bytes"%' AND `;
  return `${isPlain}NOT EXISTS (SELECT 1 FROM ${schemaPrefix}${name} WHERE ${isIt})`;
}

function recordReplaced(
  table: RecordedTable,
  schemaPrefix: string,
  conditions: readonly string[],
): readonly string[] {
  const notes = notesOf(table);
  const { rowId, values } = conflictKeys("NEW", table);
  const hasConflict = `rival IN (${[...rowId, ...values].join(", ")})`;
  const isTaken = `"row" = ${rowText("NEW", table)}`;
  // Without a row id, the noted rows are not looked up: after the write, no row is in conflict with
  // the new row, so a noted row that was in conflict is gone.
  const isGone = table.rowId === null ? "1" : `${isTaken} OR ${isAbsent(table, schemaPrefix)}`;
  const all = [
    notes,
    `(${table.hasStableIdentity ? `${hasConflict} OR ${isTaken}` : hasConflict})`,
    `(${isGone})`,
    ...conditions,
  ].join(" AND ");
  return [
    `INSERT INTO "_service_changes" ("table", op, before)
    SELECT "table", 'delete', image FROM ${all} GROUP BY "row" ORDER BY min(id)`,
    `DELETE FROM ${notes} AND "row" IN (SELECT "row" FROM ${all})`,
    `DELETE FROM ${notes} AND ${hasConflict}`,
  ];
}

function updateNote(table: RecordedTable): string {
  if (table.rowId === null) return deleteNote(table);
  return `UPDATE "_service_replaced" SET "row" = ${rowText("NEW", table)}, image = ${
    imageJson(table.recorded, columnSqlOf("NEW"))
  } WHERE "table" = ${quoteText(table.name)} AND "row" = ${rowText("OLD", table)}`;
}

function deleteNote(table: RecordedTable): string {
  return `DELETE FROM ${notesOf(table)} AND "row" = ${rowText("OLD", table)}`;
}

/** The maximum number of notes. A write conflicts with at most one row for each unique value. */
const maxNotes = 64;

/** Returns the UPDATE event for the columns with unique values: other updates replace no rows. */
function updatesOfUniques(table: RecordedTable): string {
  const { columns, rowId } = table;
  const deciding = decidingColumns(table);
  // The columns of a generated column's expression are unknown, so any update can change it.
  if (columns.some(({ name, generated }) => generated && deciding.has(name))) return "UPDATE";
  for (const { name, isRowId } of columns) if (isRowId) deciding.add(name);
  const names = [...(rowId === null ? [] : rowIdNames), ...deciding];
  return `UPDATE OF ${names.map(quoteIdentifier).join(", ")}`;
}

function decidingColumns({ uniques }: RecordedTable): Set<string> {
  return new Set(uniques.flatMap(({ columns }) => columns));
}

function rowText(row: string, { key, rowId }: RecordedTable): string {
  return rowId === null ? imageJson(key, columnSqlOf(row)) : `${row}.${quoteIdentifier(rowId)}`;
}

function conflictKeys(
  row: string,
  table: RecordedTable,
): { readonly rowId: readonly string[]; readonly values: readonly string[] } {
  const { columns, recorded, rowId, uniques } = table;
  const deciding = decidingColumns(table);
  const isGenerated = columns.some(({ name, generated }) => generated && deciding.has(name));
  const some = recorded.filter(({ name, generated, isRowId }) =>
    !generated && !isRowId && (isGenerated || deciding.has(name))
  );
  const values = imageJson(some, (name) => newValue(row, name, table));
  return {
    rowId: rowId === null ? [] : [`${row}.${quoteIdentifier(rowId)}`],
    values: uniques.length === 0 ? [] : [values],
  };
}

interface Candidates {
  readonly from: string;
  readonly conflictKey: string;
}

function candidates(
  table: RecordedTable,
  schemaPrefix: string,
  conditions: readonly string[],
): readonly Candidates[] {
  const name = quoteIdentifier(table.name);
  const { rowId, values } = conflictKeys("NEW", table);
  const candidatesOf = (conflictKey: string, holds: readonly string[]) => ({
    from: `FROM ${schemaPrefix}${name} WHERE ${[...holds, ...conditions].join(" AND ")}`,
    conflictKey,
  });
  return [
    ...rowId.map((id) => candidatesOf(id, [`${rowText(name, table)} = ${id}`])),
    ...values.flatMap((all) =>
      table.uniques.map((rule) => candidatesOf(all, conflict(rule, table)))
    ),
  ];
}

/** Returns conditions that compare like the index: by its collations, and NULL equals nothing. */
function conflict({ parts, where }: RecordedUniqueIndex, table: RecordedTable): readonly string[] {
  const name = quoteIdentifier(table.name);
  const values = table.columns.map((column) =>
    `${newValue("NEW", column.name, table)} AS ${quoteIdentifier(column.name)}`
  );
  const onCreate = (text: string) =>
    `(SELECT ${text} FROM (SELECT ${values.join(", ")}) AS ${name})`;
  return [
    ...parts.map(({ text, column, collation }) =>
      `${column === null ? text : `${name}.${quoteIdentifier(column)}`} = ${
        column === null ? onCreate(text) : newValue("NEW", column, table)
      } COLLATE ${quoteIdentifier(collation)}`
    ),
    ...(where === null ? [] : [`(${where})`, onCreate(where)]),
  ];
}

/** REPLACE replaces a NULL by the column's default only after the BEFORE triggers have run. */
function newValue(row: string, column: string, { columns }: RecordedTable): string {
  const value = `${row}.${quoteIdentifier(column)}`;
  const replaceDefault = columns.find(({ name }) => name === column)?.replaceDefault ?? null;
  return replaceDefault === null ? value : `coalesce(${value}, (${replaceDefault}))`;
}
