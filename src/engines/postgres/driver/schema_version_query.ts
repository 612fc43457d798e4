/** A fingerprint of the schema: each change of a row in the catalog has a new `xmin`. */
export const postgresSchemaVersion = `WITH own AS (
    SELECT c.oid, c.xmin FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'c') AND n.nspname !~ '^(pg_|information_schema$)'
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
    UNION ALL SELECT r.oid || ' ' || r.xmin::text
      FROM pg_rewrite r JOIN own ON own.oid = r.ev_class
    UNION ALL SELECT d.oid || ' ' || d.xmin::text
      FROM pg_attrdef d JOIN own ON own.oid = d.adrelid
    UNION ALL SELECT d.objoid || '.' || d.objsubid || ' ' || d.xmin::text
      FROM pg_description d JOIN own ON own.oid = d.objoid WHERE d.classoid = 'pg_class'::regclass
    UNION ALL SELECT p.oid || ' ' || p.xmin::text FROM pg_proc p
      JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname !~ '^(pg_|information_schema$)' AND p.proname !~ '^_service_'
    UNION ALL SELECT e.oid || ' ' || e.xmin::text FROM pg_enum e
    UNION ALL SELECT t.oid || ' ' || t.xmin::text FROM pg_type t WHERE t.typtype = 'd'
    UNION ALL SELECT c.oid || ' ' || c.xmin::text FROM pg_constraint c WHERE c.contypid <> 0
  ) AS parts (part)`;
