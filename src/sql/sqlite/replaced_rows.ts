import { quoteIdentifier } from "../fragment.ts";
import { imageJson, sqliteLiteral, valuesOf } from "./image_json.ts";
import type { RecordedTable, UniqueRule } from "./recorded_table.ts";

/**
 * Rows that stand in the way of one that is being written. REPLACE drives them out without running
 * a delete trigger, unless the connection asked for recursive triggers.
 */
export const sqliteReplacedTable =
  `CREATE TABLE IF NOT EXISTS "_service_replaced" (id INTEGER PRIMARY KEY, "table", "row", rival, image)`;

/** A trigger without its name and its table. */
export interface TriggerPart {
  /** Distinguishes it from the others of its table. */
  readonly label: string;
  /** E.g. `AFTER INSERT`. */
  readonly moment: string;
  readonly when: string | null;
  readonly body: readonly string[];
}

/**
 * The triggers that find out which rows were driven out, whoever writes. Before a row is written,
 * those that hold one of its unique values are noted, with what they conflict with: their rival.
 * Once it was written those that are gone are recorded as deleted. A statement that changes or
 * deletes a noted row is recorded anyway, and brings the note up to date.
 *
 * Where the write did not take place (OR IGNORE, DO NOTHING, DO UPDATE, OR FAIL) notes are left
 * over. They do no harm, as they are kept up to date, and only the last of them are kept.
 */
export function replacedTriggers(table: RecordedTable, place: string): readonly TriggerPart[] {
  const isNoted = `EXISTS (SELECT 1 FROM ${notesOf(table)})`;
  const uniques = updatesOfUniques(table);
  const isOther = `${rowText(quoteIdentifier(table.name), table)} IS NOT ${rowText("OLD", table)}`;
  const changed = { moment: "AFTER UPDATE", when: isNoted, body: [follow(table)] };
  const updated = [`"row" <> ${rowText("OLD", table)}`];
  return [
    ...doubts(table, place),
    { label: "changed", ...changed },
    { label: "deleted", moment: "AFTER DELETE", when: isNoted, body: [forget(table)] },
    {
      label: "replaced_by_insert",
      moment: "AFTER INSERT",
      when: isNoted,
      body: settle(table, place, []),
    },
    {
      label: "replaced_by_update",
      moment: `AFTER ${uniques}`,
      when: isNoted,
      body: settle(table, place, updated),
    },
    { label: "noted_by_insert", moment: "BEFORE INSERT", ...note(table, place, []) },
    { label: "noted_by_update", moment: `BEFORE ${uniques}`, ...note(table, place, [isOther]) },
  ];
}

function notesOf({ name }: RecordedTable): string {
  return `"_service_replaced" WHERE "table" = ${sqliteLiteral(name)}`;
}

function note(
  table: RecordedTable,
  place: string,
  conditions: readonly string[],
): Pick<TriggerPart, "when" | "body"> {
  const notes = notesOf(table);
  const found = candidates(table, place, conditions);
  const name = quoteIdentifier(table.name);
  const { rowId, values } = rivalsText("NEW", table);
  // A row id that is yet to be given reads as -1.
  const rivals = [...rowId.map((id) => `nullif(${id}, -1)`), ...values];
  return {
    when: [
      `EXISTS (SELECT 1 FROM ${notes})`,
      ...found.map(({ from }) => `EXISTS (SELECT 1 ${from})`),
    ].join(" OR "),
    body: [
      ...doubt(table, place),
      `DELETE FROM ${notes} AND rival IN (${rivals.join(", ")})`,
      ...found.map(({ from, rival }) =>
        `INSERT INTO "_service_replaced" ("table", "row", rival, image)
    SELECT ${sqliteLiteral(table.name)}, ${rowText(name, table)}, ${rival}, ${
          imageJson(table.recorded, valuesOf(name))
        } ${from}`
      ),
      `DELETE FROM "_service_replaced" WHERE id <= (SELECT max(id) FROM "_service_replaced") - ${maxNotes}`,
    ],
  };
}

/**
 * Where a noted row is gone before its write has ended, the present write comes from a trigger,
 * while rows are being driven out. It may take the place of one of them, or be driven out itself
 * without a note, so that the log cannot say what happened. It says that something did.
 */
function doubt(table: RecordedTable, place: string): readonly string[] {
  if (!table.mayBeInterrupted) return [];
  const gone = `${notesOf(table)} AND ${isAbsent(table, place)}`;
  return [`${touch(table)} WHERE EXISTS (SELECT 1 FROM ${gone})`, `DELETE FROM ${gone}`];
}

/** Where the place of a deleted row is taken, a trigger did so first, and the log has it first. */
function doubts(table: RecordedTable, place: string): readonly TriggerPart[] {
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
  const when = `EXISTS (SELECT 1 FROM ${place}${name} WHERE ${same.join(" AND ")})`;
  return [{ label: "doubted", moment: "AFTER DELETE", when, body: [touch(table)] }];
}

function touch({ name }: RecordedTable): string {
  return `INSERT INTO "_service_changes" ("table", op) SELECT ${sqliteLiteral(name)}, 'touch'`;
}

/** Whether the row of a note is not in the table. */
function isAbsent(table: RecordedTable, place: string): string {
  const name = quoteIdentifier(table.name);
  const { key, rowId } = table;
  const isIt = rowId !== null
    ? `${rowText(name, table)} = "_service_replaced"."row"`
    : key.map((column) =>
      `${name}.${quoteIdentifier(column.name)} = json_extract("_service_replaced"."row", ${
        sqliteLiteral(`$.${JSON.stringify(column.name)}`)
      })`
    ).join(" AND ");
  // Floating-point numbers and bytes of a key have no plain form by which they could be looked up.
  const isPlain = rowId !== null
    ? ""
    : `"row" NOT LIKE '%\n%' AND "row" NOT LIKE '%"$bytes"%' AND `;
  return `${isPlain}NOT EXISTS (SELECT 1 FROM ${place}${name} WHERE ${isIt})`;
}

/** Records the noted rows that the write has driven out. */
function settle(
  table: RecordedTable,
  place: string,
  conditions: readonly string[],
): readonly string[] {
  const notes = notesOf(table);
  const { rowId, values } = rivalsText("NEW", table);
  const isRival = `rival IN (${[...rowId, ...values].join(", ")})`;
  const isTaken = `"row" = ${rowText("NEW", table)}`;
  // Without row ids it cannot be looked up; but nothing that conflicts can be there any more.
  const isGone = table.rowId === null ? "1" : `${isTaken} OR ${isAbsent(table, place)}`;
  const all = [
    notes,
    `(${table.hasStableIdentity ? `${isRival} OR ${isTaken}` : isRival})`,
    `(${isGone})`,
    ...conditions,
  ].join(" AND ");
  return [
    `INSERT INTO "_service_changes" ("table", op, before)
    SELECT "table", 'delete', image FROM ${all} GROUP BY "row" ORDER BY min(id)`,
    `DELETE FROM ${notes} AND "row" IN (SELECT "row" FROM ${all})`,
    `DELETE FROM ${notes} AND ${isRival}`,
  ];
}

/** A row that changes while it is driven out is noted as it is then. */
function follow(table: RecordedTable): string {
  if (table.rowId === null) return forget(table);
  return `UPDATE "_service_replaced" SET "row" = ${rowText("NEW", table)}, image = ${
    imageJson(table.recorded, valuesOf("NEW"))
  } WHERE "table" = ${sqliteLiteral(table.name)} AND "row" = ${rowText("OLD", table)}`;
}

function forget(table: RecordedTable): string {
  return `DELETE FROM ${notesOf(table)} AND "row" = ${rowText("OLD", table)}`;
}

/** A row conflicts with one other for each of its unique values; the rest is for nested writes. */
const maxNotes = 64;

/** What writes unique values: the only updates that can drive rows out. */
function updatesOfUniques(table: RecordedTable): string {
  const { columns, rowId } = table;
  const deciding = decidingColumns(table);
  // Nothing tells what a generated column is made of.
  if (columns.some(({ name, generated }) => generated && deciding.has(name))) return "UPDATE";
  for (const { name, isRowId } of columns) if (isRowId) deciding.add(name);
  const names = [...(rowId === null ? [] : rowIdNames), ...deciding];
  return `UPDATE OF ${names.map(quoteIdentifier).join(", ")}`;
}

/** All of them name the row id where no column is called so. */
export const rowIdNames: readonly string[] = ["rowid", "_rowid_", "oid"];

function decidingColumns({ uniques }: RecordedTable): Set<string> {
  return new Set(uniques.flatMap(({ columns }) => columns));
}

/** Tells a row from the others of its table. */
function rowText(row: string, { key, rowId }: RecordedTable): string {
  return rowId === null ? imageJson(key, valuesOf(row)) : `${row}.${quoteIdentifier(rowId)}`;
}

/**
 * What a note and the write that drives its row out have in common: the row id, and the values that
 * decide about the other rules. A new row id is not known before the write.
 */
function rivalsText(
  row: string,
  table: RecordedTable,
): { readonly rowId: readonly string[]; readonly values: readonly string[] } {
  const { columns, recorded, rowId, uniques } = table;
  const deciding = decidingColumns(table);
  const isMade = columns.some(({ name, generated }) => generated && deciding.has(name));
  const some = recorded.filter(({ name, generated, isRowId }) =>
    !generated && !isRowId && (isMade || deciding.has(name))
  );
  const values = imageJson(some, (name) => newValue(row, name, table));
  return {
    rowId: rowId === null ? [] : [`${row}.${quoteIdentifier(rowId)}`],
    values: uniques.length === 0 ? [] : [values],
  };
}

interface Candidates {
  /** FROM and WHERE, with the rows that hold one of the unique values of NEW. */
  readonly from: string;
  readonly rival: string;
}

function candidates(
  table: RecordedTable,
  place: string,
  conditions: readonly string[],
): readonly Candidates[] {
  const name = quoteIdentifier(table.name);
  const { rowId, values } = rivalsText("NEW", table);
  const of = (rival: string, holds: readonly string[]) => ({
    from: `FROM ${place}${name} WHERE ${[...holds, ...conditions].join(" AND ")}`,
    rival,
  });
  return [
    ...rowId.map((id) => of(id, [`${rowText(name, table)} = ${id}`])),
    ...values.flatMap((all) => table.uniques.map((rule) => of(all, conflict(rule, table)))),
  ];
}

/** As the index compares: by its collations, and never NULL. */
function conflict({ parts, where }: UniqueRule, table: RecordedTable): readonly string[] {
  const name = quoteIdentifier(table.name);
  const values = table.columns.map((column) =>
    `${newValue("NEW", column.name, table)} AS ${quoteIdentifier(column.name)}`
  );
  const ofNew = (text: string) => `(SELECT ${text} FROM (SELECT ${values.join(", ")}) AS ${name})`;
  return [
    ...parts.map(({ text, column, collation }) =>
      `${column === null ? text : `${name}.${quoteIdentifier(column)}`} = ${
        column === null ? ofNew(text) : newValue("NEW", column, table)
      } COLLATE ${quoteIdentifier(collation)}`
    ),
    ...(where === null ? [] : [`(${where})`, ofNew(where)]),
  ];
}

/** REPLACE puts the default into a column that must not be NULL, behind the BEFORE triggers. */
function newValue(row: string, column: string, { columns }: RecordedTable): string {
  const value = `${row}.${quoteIdentifier(column)}`;
  const absent = columns.find(({ name }) => name === column)?.replaceDefault ?? null;
  return absent === null ? value : `coalesce(${value}, (${absent}))`;
}
