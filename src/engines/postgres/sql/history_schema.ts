import { quoteIdentifier, sqlName } from "../../../sql/fragment.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import { shortHash } from "../../../db/changes/version_triggers.ts";
import type { VersionsSql } from "../../../db/engine/engine.ts";
import { logTableNameSql, postgresImageSql, postgresLiteral } from "./change_log_schema.ts";
import { shapeOfColumn } from "./stored_values.ts";

/** The setting with the actors of a transaction: one line of JSON for each, the last one first. */
const actorSetting = "resource_api.actor";
const actors = `current_setting('${actorSetting}', true)`;

/** Qualified names are not needed in the functions, because their search path is fixed. */
const inCatalog = "SET search_path = pg_catalog, pg_temp";

/**
 * Returns the key in an image. `json` rejects some escapes that documents can contain, such as that
 * of NUL, when a member is read. Therefore all of these escapes are replaced. A long key is hashed,
 * because an index entry has a maximum size.
 */
const keyBody = `
  SELECT CASE WHEN length(key) > 400 THEN encode(sha256(convert_to(key, 'UTF8')), 'hex') ELSE key END
  FROM (SELECT string_agg((document -> name)::text, ',' ORDER BY place) AS key
    FROM (SELECT replace(image::text, chr(92) || 'u', chr(92) || 'n')::json AS document) AS one,
      unnest(names) WITH ORDINALITY AS named (name, place)) AS whole `;

function recordVersion(history: string, keyName: string): string {
  return `
DECLARE
  old_key text := ${keyName}(NEW.before, VARIADIC TG_ARGV[0:]);
  new_key text := ${keyName}(NEW.after, VARIADIC TG_ARGV[0:]);
  actor json := nullif(split_part(${actors}, chr(10), 1), '')::json;
  now_ms bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
BEGIN
  IF old_key IS NOT NULL AND (SELECT image FROM ${history} WHERE "table" = NEW."table"
      AND "key" = old_key ORDER BY seq DESC LIMIT 1) IS DISTINCT FROM NEW.before::text THEN
    INSERT INTO ${history} ("table", "key", op, image, at)
    VALUES (NEW."table", old_key, 'known', NEW.before::text, now_ms);
  END IF;
  IF old_key IS NOT NULL AND old_key IS DISTINCT FROM new_key THEN
    INSERT INTO ${history} ("table", "key", op, image, at, user_id, operation) VALUES
      (NEW."table", old_key, 'delete', NEW.before::text, now_ms, actor ->> 'user', actor ->> 'operation');
  END IF;
  IF new_key IS NOT NULL THEN
    INSERT INTO ${history} ("table", "key", op, image, at, user_id, operation) VALUES (NEW."table", new_key,
      CASE WHEN old_key IS NOT DISTINCT FROM new_key THEN 'update' ELSE 'insert' END,
      NEW.after::text, now_ms, actor ->> 'user', actor ->> 'operation');
  END IF;
  RETURN NULL;
END `;
}

const hash = shortHash(keyBody + recordVersion("", ""));
const keyFunction = quoteIdentifier(`_service_version_key_${hash}`);

export function postgresHistoryStatements(schema: string) {
  const schemaName = quoteIdentifier(schema);
  const [history, keyName, recordName] = [
    `${schemaName}."_service_history"`,
    `${schemaName}.${keyFunction}`,
    `${schemaName}."_service_record_version_${hash}"`,
  ];
  return {
    recordName,
    create: [
      `CREATE TABLE IF NOT EXISTS ${history} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "table" text NOT NULL, "key" text NOT NULL,
  op text NOT NULL, image text NOT NULL, at bigint NOT NULL, user_id text, operation text
)`,
      `CREATE INDEX IF NOT EXISTS "_service_history_row" ON ${history} ("table", "key", seq)`,
      `CREATE INDEX IF NOT EXISTS "_service_history_age" ON ${history} ("table", at)`,
      `CREATE OR REPLACE FUNCTION ${keyName}(image json, VARIADIC names text[]) RETURNS text
LANGUAGE sql IMMUTABLE STRICT ${inCatalog} AS $body$${keyBody}$body$`,
      `CREATE OR REPLACE FUNCTION ${recordName}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER ${inCatalog} AS $body$${recordVersion(history, keyName)}$body$`,
      // By default, every role may execute a function, and could then write versions.
      `REVOKE ALL ON FUNCTION ${recordName}() FROM PUBLIC`,
    ],
  };
}

/** Returns the trigger of the change log that records the versions of a table's rows. */
export function postgresHistoryTrigger(
  { table, name }: { readonly table: TableInfo; readonly name: string },
  { schema, recordName }: { readonly schema: string; readonly recordName: string },
): string {
  const key = table.primaryKey.map(({ dbName }) => postgresLiteral(dbName));
  return `AFTER INSERT ON ${quoteIdentifier(schema)}."_service_changes" FOR EACH ROW
WHEN (NEW."table" = ${postgresLiteral(name)} AND NEW.op IN ('insert', 'update', 'delete')
  AND NEW.before::text IS DISTINCT FROM NEW.after::text)
EXECUTE FUNCTION ${recordName}(${key.join(", ")})`;
}

export const postgresVersions: VersionsSql = {
  tableName: (table, place) => logTableNameSql(place(sqlName(table))),
  keyOf({ name, primaryKey }) {
    const texts = primaryKey.filter((column) => shapeOfColumn(column).kind !== "text");
    const image = postgresImageSql(
      quoteIdentifier(name),
      primaryKey,
      new Set(texts.map(({ dbName }) => dbName)),
    );
    const names = primaryKey.map(({ dbName }) => postgresLiteral(dbName));
    return `${keyFunction}(${image}, ${names.join(", ")})`;
  },
  beginActor: (actor) => ({
    text: `SELECT set_config('${actorSetting}', $1 || chr(10) || coalesce(${actors}, ''), true)`,
    values: [JSON.stringify(actor)],
  }),
  endActor: {
    text:
      `SELECT set_config('${actorSetting}', substr(${actors}, strpos(${actors}, chr(10)) + 1), true)`,
    values: [],
  },
  endsWithTransaction: true,
};
