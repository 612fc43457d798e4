import { postgresTriggerName } from "../../sql/change_log_schema.ts";

/**
 * Finds the tables with a rule, and the tables with a trigger that runs after an INSERT or UPDATE
 * of a row. The triggers of foreign keys and of the change log do not count. A partition's trigger
 * also counts for the partitioned table. The bits of `tgtype` are those of the Postgres source: 2
 * before, 4 insert, 16 update, 64 instead.
 */
export const tablesWithLaterChangesSql = `
  WITH RECURSIVE changed AS (
    SELECT tgrelid AS oid FROM pg_trigger
    WHERE NOT tgisinternal AND tgtype & 66 = 0 AND tgtype & 20 > 0
      AND tgname NOT LIKE '${postgresTriggerName}%'
    UNION SELECT ev_class FROM pg_rewrite WHERE ev_type <> '1'
    UNION SELECT i.inhparent FROM pg_inherits i JOIN changed ON i.inhrelid = changed.oid
  )
  SELECT CASE WHEN n.nspname = current_schema THEN NULL ELSE n.nspname END, c.relname
  FROM changed JOIN pg_class c ON c.oid = changed.oid
  JOIN pg_namespace n ON n.oid = c.relnamespace`;
