/**
 * A query for a string that changes with every table, constraint or trigger. The rows of the catalogue are never changed in place, so that a
 * change gives others.
 */
export const postgresSchemaVersion = `WITH own AS (
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
