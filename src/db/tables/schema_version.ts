import type { Driver } from "../driver.ts";

/**
 * A string that is another one once any table of the database has other columns, constraints or triggers: much
 * cheaper than an introspection. It may change where no description does.
 */
export async function schemaVersion(driver: Driver): Promise<string> {
  const text = driver.dialect.engine === "sqlite" ? "PRAGMA schema_version" : postgresCatalogue;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}

/** The rows of the catalogue are never changed in place, so that a change gives others. */
const postgresCatalogue = `WITH own AS (
    SELECT c.oid, c.xmin FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^(pg_|information_schema$)'
  )
  SELECT md5(coalesce(string_agg(part, ',' ORDER BY part), '')) FROM (
    SELECT oid || ' ' || xmin::text FROM own
    UNION ALL SELECT attrelid || '.' || attnum || ' ' || a.xmin::text
      FROM pg_attribute a JOIN own ON own.oid = a.attrelid WHERE attnum > 0
    UNION ALL SELECT c.oid || ' ' || c.xmin::text
      FROM pg_constraint c JOIN own ON own.oid = c.conrelid
    UNION ALL SELECT i.indexrelid || ' ' || i.xmin::text
      FROM pg_index i JOIN own ON own.oid = i.indrelid
    UNION ALL SELECT t.oid || ' ' || t.xmin::text
      FROM pg_trigger t JOIN own ON own.oid = t.tgrelid
    UNION ALL SELECT e.oid || ' ' || e.xmin::text FROM pg_enum e
  ) AS parts (part)`;
