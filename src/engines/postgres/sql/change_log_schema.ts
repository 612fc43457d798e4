import { createHash } from "node:crypto";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier, quoteText, type SqlValue } from "../../../sql/fragment.ts";
import { shapeOfColumn } from "./stored_values.ts";
import { structureFromImage } from "./structured_values.ts";

/** The name of the log's triggers on Postgres, which run first: `!` is first in the alphabet. */
export const postgresTriggerName = "!service_changes";
export const postgresTruncateTriggerName = "!service_changes_truncate";

export const changesChannel = "service_changes";

/** The Postgres setting that is `on` in sessions of a process that sends signals after commits. */
export const signalsAfterCommitSetting = "resource_api.announces";

export function postgresLogStatements(schema: string) {
  const schemaName = quoteIdentifier(schema);
  const whole = [recordChange("", ""), image("")].join();
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, 16);
  const functionName = `_service_record_change_${hash}`;
  const imageName = `${schemaName}.${quoteIdentifier(`_service_image_${hash}`)}`;
  const recordName = `${schemaName}.${quoteIdentifier(functionName)}`;
  return {
    /** The name of the trigger function. It contains a hash of the function's definition. */
    functionName,
    tables: [
      `CREATE TABLE IF NOT EXISTS ${schemaName}."_service_meta" (name text PRIMARY KEY, value text NOT NULL)`,
      // With a larger CACHE, each session would reserve numbers, which would then be out of order.
      `CREATE TABLE IF NOT EXISTS ${schemaName}."_service_changes" (
  seq bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  "table" text NOT NULL,
  op text NOT NULL,
  before json,
  after json,
  optimistic_id text,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
      `CREATE INDEX IF NOT EXISTS "_service_changes_xid" ON ${schemaName}."_service_changes" (xid)`,
    ],
    // Logs of older versions lack this unlogged table. Recovery and promotion empty it.
    epochTable: `CREATE UNLOGGED TABLE IF NOT EXISTS ${schemaName}."_service_epoch" (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  epoch text NOT NULL
)`,
    functions: [
      image(imageName),
      `CREATE OR REPLACE FUNCTION ${recordName}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $body$${recordChange(schemaName, imageName)}$body$`,
      // Only the owner may execute these functions. Otherwise every role could write to the log.
      ...[`${recordName}()`, `${imageName}(anyelement, text[])`].map((name) =>
        `REVOKE ALL ON FUNCTION ${name} FROM PUBLIC`
      ),
    ],
  };
}

export function postgresLogTriggers(
  name: string,
  args: readonly string[],
  functionName: string,
): readonly string[] {
  const call = `EXECUTE FUNCTION ${functionName}(${args.map(postgresLiteral).join(", ")})`;
  const [rows, truncate] = [postgresTriggerName, postgresTruncateTriggerName].map(quoteIdentifier);
  return [
    `DROP TRIGGER IF EXISTS ${rows} ON ${name}`,
    `DROP TRIGGER IF EXISTS ${truncate} ON ${name}`,
    `CREATE TRIGGER ${rows} AFTER INSERT OR UPDATE OR DELETE ON ${name} FOR EACH ROW ${call}`,
    `CREATE TRIGGER ${truncate} AFTER TRUNCATE ON ${name} FOR EACH STATEMENT ${call}`,
    // Ordinary triggers do not run for replicated changes, which the log must contain, too.
    `ALTER TABLE ${name} ENABLE ALWAYS TRIGGER ${rows}`,
    `ALTER TABLE ${name} ENABLE ALWAYS TRIGGER ${truncate}`,
  ];
}

export function logTableNameSql(name: string): string {
  const part = (column: string) => `'"' || replace(${column}, '"', '""') || '"'`;
  return `(SELECT ${part("n.nspname")} || '.' || ${part("c.relname")} FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(${name}))`;
}

/** SQL: true if JSON cannot represent a type (`t` in `pg_type`). The log then contains text. */
export const isTextInImagesSql = `(t.typcategory OPERATOR(pg_catalog.=) ANY ('{A,C}'::"char"[])
  OR EXISTS (SELECT FROM pg_catalog.pg_cast c
    WHERE c.castsource OPERATOR(pg_catalog.>=) 16384::oid
    AND c.castsource OPERATOR(pg_catalog.=) ANY (ARRAY[t.oid, t.typbasetype])
    AND c.casttarget OPERATOR(pg_catalog.=) 'pg_catalog.json'::pg_catalog.regtype::oid))`;

export function postgresImageSql(
  row: string,
  columns: readonly ColumnInfo[],
  texts: ReadonlySet<string>,
): string {
  const names = columns.map(({ dbName }) => {
    const name = quoteIdentifier(dbName);
    return texts.has(dbName) ? `${row}.${name}::text AS ${name}` : `${row}.${name}`;
  });
  // `r.*` is the whole row, even if a column is also called `r`.
  return `(SELECT row_to_json(r.*) FROM (SELECT ${names.join(", ")}) AS r)`;
}

export function postgresLiteral(text: string): string {
  const quoted = quoteText(text);
  return text.includes("\\") ? ` E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

export function decodePostgresCell(raw: string, column: ColumnInfo): SqlValue {
  if (raw === "null") return null;
  const shape = shapeOfColumn(column);
  if (shape.kind !== "text") return structureFromImage(raw, shape, decodePostgresCell);
  if (column.kind === "json") return raw;
  if (column.kind === "boolean" && (raw === "true" || raw === "false")) return raw.charAt(0);
  if (!raw.startsWith('"')) return raw;
  const text: string = JSON.parse(raw);
  if (column.kind === "timestamp") {
    return text.replace(/^(\d{4,}-\d\d-\d\d)T/, "$1 ").replace(/\+00:00( BC)?$/, "+00$1");
  }
  // Postgres ignores the spaces that pad a `char(n)`.
  return paddedType.test(column.existingType ?? "") ? text.replace(/ +$/, "") : text;
}

const paddedType = /^(?:bpchar|char(?:acter)?)\s*(?:\(\d+\))?$/i;

/** The session settings that determine the form of timestamps, floats and others in images. */
const settings: Readonly<Record<string, string>> = {
  TimeZone: "UTC",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
};

/**
 * Returns the trigger function. Its owner's rights apply, so writers need no rights on the log.
 * Qualified names exclude search paths. Images are json, because jsonb rejects some documents.
 */
function recordChange(schemaName: string, imageName: string): string {
  const names = Object.keys(settings).map((name) => `pg_catalog.current_setting('${name}')`);
  return `
DECLARE
  old_image json;
  new_image json;
  hidden text[];
  sent text;
BEGIN
  IF TG_OP OPERATOR(pg_catalog.=) 'TRUNCATE' THEN
    old_image := NULL;
  ELSIF TG_NARGS OPERATOR(pg_catalog.=) 1
    AND pg_catalog.concat_ws('/', ${names.join(", ")}) OPERATOR(pg_catalog.=) ${
    postgresLiteral(Object.values(settings).join("/"))
  } THEN
    old_image := pg_catalog.row_to_json(OLD);
    new_image := pg_catalog.row_to_json(NEW);
  ELSE
    hidden := coalesce(TG_ARGV[2:], '{}');
    IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' THEN old_image := ${imageName}(OLD, hidden); END IF;
    IF TG_OP OPERATOR(pg_catalog.<>) 'DELETE' THEN new_image := ${imageName}(NEW, hidden); END IF;
  END IF;
  INSERT INTO ${schemaName}."_service_changes" ("table", op, before, after)
  VALUES (TG_ARGV[0], pg_catalog.lower(TG_OP), old_image, new_image);
  IF ${isUnannounced} THEN sent := pg_catalog.pg_notify('${changesChannel}', ''); END IF;
  RETURN NULL;
END `;
}

/**
 * SQL that is true if the trigger must send the signal. Transactions with NOTIFY commit one after
 * the other, so only one at a time sends it. No trigger sends it if the session's process signals
 * after its commits, or if prepared transactions (which reject NOTIFY) are enabled.
 */
const isUnannounced = [
  `coalesce(pg_catalog.current_setting('${signalsAfterCommitSetting}', true), '') OPERATOR(pg_catalog.<>) 'on'`,
  `pg_catalog.current_setting('max_prepared_transactions') OPERATOR(pg_catalog.=) '0'`,
  `pg_catalog.pg_try_advisory_xact_lock(7237120947)`,
].join(" AND ");

/** Reads the columns of an image from the catalog, because columns can change. */
function image(name: string): string {
  const sets = Object.entries(settings).map(([setting, value]) => `SET ${setting} = '${value}'`);
  return `CREATE OR REPLACE FUNCTION ${name}(written anyelement, hidden text[]) RETURNS json
LANGUAGE plpgsql ${sets.join(" ")} AS $body$
DECLARE
  list text;
  result json;
BEGIN
  SELECT pg_catalog.string_agg(pg_catalog.format(CASE WHEN ${isTextInImagesSql}
      THEN '($1).%1$I::pg_catalog.text AS %1$I' ELSE '($1).%1$I' END, a.attname), ', ' ORDER BY a.attnum)
    INTO list FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
    WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
      AND a.attname::text OPERATOR(pg_catalog.<>) ALL (hidden)
      AND a.attrelid OPERATOR(pg_catalog.=) (SELECT r.typrelid FROM pg_catalog.pg_type r
        WHERE r.oid OPERATOR(pg_catalog.=) pg_catalog.pg_typeof(written)::oid);
  EXECUTE 'SELECT pg_catalog.row_to_json(r.*) FROM (SELECT ' OPERATOR(pg_catalog.||) list
    OPERATOR(pg_catalog.||) ') AS r' INTO result USING written;
  RETURN result;
END $body$`;
}
