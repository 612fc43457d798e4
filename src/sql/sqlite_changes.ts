import { createHash } from "node:crypto";
import { jsonMembers } from "../schema/exact_json.ts";
import { quoteIdentifier, type SqlValue } from "./fragment.ts";

/** The tables of the log, as SQLite has them. */
export const sqliteLogTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS "_service_meta" (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
  // AUTOINCREMENT: a number that was forgotten is never given again.
  `CREATE TABLE IF NOT EXISTS "_service_changes" (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  "table" TEXT NOT NULL,
  op TEXT NOT NULL,
  before TEXT,
  after TEXT,
  optimistic_id TEXT,
  at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER))
)`,
];

/** What the names of our triggers begin with. */
export const sqliteTriggerPrefix = "_service_changes_";

/** A table to watch. */
export interface WatchedTable {
  /** As the database spells it. */
  readonly name: string;
  /** The columns to record, in the spelling of the database. */
  readonly columns: readonly string[];
}

/** A trigger by its name, and the statement that creates it. */
export interface SqliteTrigger {
  readonly name: string;
  readonly text: string;
}

/**
 * The triggers that record the changes of a table. They use built-in functions only, since every
 * program that writes the table runs them. Their names depend on all that they say.
 */
export function sqliteTriggers(
  table: WatchedTable,
  lifetime: "permanent" | "temporary",
): readonly SqliteTrigger[] {
  const [before, after] = [image("OLD", table.columns), image("NEW", table.columns)];
  const bodies = {
    insert: `'insert', NULL, ${after}`,
    update: `'update', ${before}, ${after}`,
    delete: `'delete', ${before}, NULL`,
  };
  const name = `'${table.name.replaceAll("'", "''")}'`;
  const hash = createHash("sha256").update(JSON.stringify([table.name, bodies])).digest("hex");
  const create = lifetime === "temporary" ? "CREATE TEMP TRIGGER" : "CREATE TRIGGER";
  // A temporary trigger would look for an unqualified table among the temporary ones first.
  const place = lifetime === "temporary" ? "main." : "";
  return Object.entries(bodies).map(([event, values]) => {
    const trigger = `${sqliteTriggerPrefix}${hash.slice(0, 16)}_${event}`;
    return {
      name: trigger,
      text: `${create} ${quoteIdentifier(trigger)} AFTER ${event.toUpperCase()} ON ${place}${
        quoteIdentifier(table.name)
      } FOR EACH ROW BEGIN
  INSERT INTO "_service_changes" ("table", op, before, after) VALUES (${name}, ${values});
END`,
    };
  });
}

/** What a cell of an image was in its column: as a driver reads it. */
export function sqliteCell(raw: string): SqlValue {
  switch (raw.charAt(0)) {
    case '"':
      return JSON.parse(raw);
    case "n":
      return null;
    case "{":
      return Uint8Array.fromHex(raw.slice(bytesHead.length, -2));
    default:
      return numberOf(raw);
  }
}

/** The members of an image, those of a wide table too. */
export function sqliteMembers(image: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (let rest: string | undefined = image; rest !== undefined;) {
    const part = jsonMembers(rest);
    const next = part.get(moreName);
    rest = next?.startsWith("{") === true && !next.startsWith(bytesHead) ? next : undefined;
    for (const [name, raw] of part) if (raw !== rest) members.set(name, raw);
  }
  return members;
}

/** A function takes 127 arguments in libraries of some years ago, and two make a member. */
const mostMembers = 60;

/** Under it stand the columns that found no place. */
const moreName = "$more";
const bytesHead = '{"$bytes":"';

/**
 * JSON has no bytes, and `json_object` refuses them: an ordinary value would make the write fail.
 * A text stays a text whatever it holds.
 */
function image(row: "OLD" | "NEW", columns: readonly string[]): string {
  const members = columns.slice(0, mostMembers).map((column) => {
    const value = `${row}.${quoteIdentifier(column)}`;
    return `'${
      column.replaceAll("'", "''")
    }', CASE typeof(${value}) WHEN 'blob' THEN json_object('$bytes', hex(${value})) ELSE ${value} END`;
  });
  const rest = columns.slice(mostMembers);
  if (rest.length > 0) members.push(`'${moreName}', ${image(row, rest)}`);
  return `json_object(${members.join(", ")})`;
}

function numberOf(raw: string): number | bigint {
  // Libraries of some years ago write Inf, which is no JSON; newer ones 9.0e+999.
  if (raw.endsWith("nf")) return raw.startsWith("-") ? -Infinity : Infinity;
  const number = Number(raw);
  return /^-?\d+$/.test(raw) && !Number.isSafeInteger(number) ? BigInt(raw) : number;
}
