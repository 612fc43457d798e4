import { createHash } from "node:crypto";
import { quoteIdentifier, quoteText } from "../../../sql/fragment.ts";
import { columnSqlOf, imageJson } from "./image_json.ts";
import {
  type ReplacementTrigger,
  replacementTriggers,
  sqliteReplacedRowsTable,
} from "./replaced_rows.ts";
import type { RecordedTable } from "./recorded_table.ts";

/** 48 random bits, which distinguish changes with the same number in two copies of a file. */
export const sqliteMarkColumn = "mark INTEGER NOT NULL DEFAULT (random() & 281474976710655)";

export const sqliteLogTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS "_service_meta" (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
  // AUTOINCREMENT never assigns the number of a deleted change again.
  `CREATE TABLE IF NOT EXISTS "_service_changes" (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  "table" TEXT NOT NULL,
  op TEXT NOT NULL,
  before TEXT,
  after TEXT,
  optimistic_id TEXT,
  at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)),
  ${sqliteMarkColumn}
)`,
  sqliteReplacedRowsTable,
];

export const sqliteTriggerPrefix = "_service_changes_";

export interface SqliteTrigger {
  readonly name: string;
  readonly text: string;
}

/** Returns triggers in order of creation: the last runs first. They use only built-in functions. */
export function sqliteLogTriggers(
  table: RecordedTable,
  lifetime: "permanent" | "temporary",
): readonly SqliteTrigger[] {
  // Without a schema, a temporary trigger would look for the table among temporary tables first.
  const schemaPrefix = lifetime === "temporary" ? "main." : "";
  const parts = [...recordingTriggers(table), ...replacementTriggers(table, schemaPrefix)];
  const hash = createHash("sha256").update(JSON.stringify([table.name, parts])).digest("hex");
  const create = lifetime === "temporary" ? "CREATE TEMP TRIGGER" : "CREATE TRIGGER";
  return parts.map(({ label, moment, when, body }) => {
    const trigger = `${sqliteTriggerPrefix}${hash.slice(0, 16)}_${label}`;
    return {
      name: trigger,
      text: `${create} ${quoteIdentifier(trigger)} ${moment} ON ${schemaPrefix}${
        quoteIdentifier(table.name)
      } FOR EACH ROW${when === null ? "" : ` WHEN ${when}`} BEGIN
${body.map((statement) => `  ${statement};\n`).join("")}END`,
    };
  });
}

function recordingTriggers({ name, recorded }: RecordedTable): readonly ReplacementTrigger[] {
  const [before, after] = [
    imageJson(recorded, columnSqlOf("OLD")),
    imageJson(recorded, columnSqlOf("NEW")),
  ];
  const images = {
    insert: `NULL, ${after}`,
    update: `${before}, ${after}`,
    delete: `${before}, NULL`,
  };
  return Object.entries(images).map(([event, values]) => ({
    label: event,
    moment: `AFTER ${event.toUpperCase()}`,
    when: null,
    body: [
      `INSERT INTO "_service_changes" ("table", op, before, after) VALUES (${
        quoteText(name)
      }, '${event}', ${values})`,
    ],
  }));
}
