import { quoteIdentifier, quoteText } from "../../../sql/fragment.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import type { VersionsSql } from "../../../db/engine/engine.ts";
import { columnSqlOf, type ImageColumn, imageJson, imagePath } from "./image_json.ts";
import type { RecordedTable } from "./recorded_table.ts";

export const sqliteHistoryTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS "_service_history" (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, "table" TEXT NOT NULL COLLATE NOCASE, "key" TEXT NOT NULL,
  op TEXT NOT NULL, image TEXT NOT NULL, at INTEGER NOT NULL, user_id TEXT, operation TEXT
)`,
  `CREATE INDEX IF NOT EXISTS "_service_history_row" ON "_service_history" ("table", "key", seq)`,
  `CREATE INDEX IF NOT EXISTS "_service_history_age" ON "_service_history" ("table", at)`,
  // A stack of acting users and operations: empty at the end of the service's transactions.
  `CREATE TABLE IF NOT EXISTS "_service_actor" (
  depth INTEGER PRIMARY KEY, user_id TEXT, operation TEXT NOT NULL
)`,
];

/**
 * Returns the trigger that records the versions of a table's rows. If a row before a change differs
 * from its last recorded version, the trigger records it as `known`, a version of unknown origin.
 * One INSERT computes the keys only once, because the trigger runs in every program that writes.
 */
export function sqliteHistoryTrigger(
  { name, recorded }: RecordedTable,
  key: readonly ColumnInfo[],
): string {
  const places = key.map(({ dbName }) =>
    recorded.findIndex((one) => one.name.toLowerCase() === dbName.toLowerCase())
  );
  const keyOf = (image: string) => keySql(image, recorded, places);
  return `AFTER INSERT ON "_service_changes" FOR EACH ROW
WHEN NEW."table" = ${quoteText(name)} AND NEW.op IN ('insert', 'update', 'delete')
  AND NEW.before IS NOT NEW.after BEGIN
  INSERT INTO "_service_history" ("table", "key", op, image, at, user_id, operation)
  SELECT NEW."table", CASE part WHEN 3 THEN new_key ELSE old_key END,
    CASE part WHEN 1 THEN 'known' WHEN 2 THEN 'delete'
      ELSE CASE WHEN old_key IS new_key THEN 'update' ELSE 'insert' END END,
    CASE part WHEN 3 THEN NEW.after ELSE NEW.before END,
    CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), user_id, operation
  FROM (SELECT ${keyOf("NEW.before")} AS old_key, ${keyOf("NEW.after")} AS new_key LIMIT 1)
  CROSS JOIN (SELECT 1 AS part UNION ALL SELECT 2 UNION ALL SELECT 3)
  LEFT JOIN (SELECT user_id, operation FROM "_service_actor" ORDER BY depth DESC LIMIT 1) ON part > 1
  WHERE CASE part
    WHEN 1 THEN old_key IS NOT NULL AND (SELECT image FROM "_service_history"
      WHERE "table" = NEW."table" AND "key" = old_key ORDER BY seq DESC LIMIT 1) IS NOT NEW.before
    WHEN 2 THEN old_key IS NOT NULL AND old_key IS NOT new_key
    ELSE new_key IS NOT NULL END;
END`;
}

export const sqliteVersions: VersionsSql = {
  tableName: ({ name }, place) => place(name),
  keyOf({ name, primaryKey }: TableInfo) {
    const columns = primaryKey.map(({ dbName }) => ({ name: dbName, mayBeReal: true }));
    const image = imageJson(columns, columnSqlOf(quoteIdentifier(name)));
    const key = keySql("image", columns, columns.keys().toArray());
    return `(SELECT ${key} FROM (SELECT ${image} AS image LIMIT 1))`;
  },
  beginActor: ({ user, operation }) => ({
    text: `INSERT INTO "_service_actor" (user_id, operation) VALUES (?, ?)`,
    values: [user, operation],
  }),
  endActor: {
    text: `DELETE FROM "_service_actor" WHERE depth = (SELECT max(depth) FROM "_service_actor")`,
    values: [],
  },
  endsWithTransaction: false,
};

/**
 * Returns SQL for the values of the columns at `places` of an image. Without columns that may
 * contain floating-point numbers, an image is one line of JSON, and always valid.
 */
function keySql(image: string, columns: readonly ImageColumn[], places: readonly number[]): string {
  const end = `instr(${image} || char(10), char(10))`;
  const hasReals = columns.some(({ mayBeReal }) => mayBeReal);
  const document = hasReals ? `substr(${image}, 1, ${end} - 1)` : image;
  const cells = places.map((place) => {
    const value = `json_extract(${document}, ${quoteText(imagePath(columns, place))})`;
    if (columns[place]?.mayBeReal !== true) return value;
    const path = quoteText(`$."${columns[place].name}"`);
    const real = `json_extract(nullif(substr(${image}, ${end} + 1), ''), ${path})`;
    return `CASE WHEN ${real} IS NULL THEN ${value} ELSE json_object('r', ${real}) END`;
  });
  const key = `json_array(${cells.join(", ")})`;
  return `CASE WHEN ${
    hasReals ? `json_valid(${document})` : `${image} IS NOT NULL`
  } THEN ${key} END`;
}
