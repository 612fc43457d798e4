import { postgresTriggerName } from "../../sql/change_log_schema.ts";

/** SQL: true if a trigger function can return NULL, which prevents the write, or change the row. */
const mayPrevent = `(l.lanname <> 'plpgsql' OR p.prosrc ~* ('\\mreturn\\M(?!\\s+'
    || CASE WHEN tgtype & 8 = 0 THEN 'new' WHEN tgtype & 20 = 0 THEN 'old' ELSE '-' END || '\\s*;)')
  OR p.prosrc ~* '\\m(new|old)\\s*:?=|\\minto\\s+(strict\\s+)?(new|old)\\M')`;

/**
 * Finds tables with a rule or a trigger after a write. Bits of `tgtype` in the Postgres source: 1
 * row, 2 before, 4 insert, 8 delete, 16 update, 64 instead.
 */
export const tablesWithAfterTriggersSql: string = tablesWith(
  "tgtype & 66 = 0 AND tgtype & 20 > 0 OR tgtype & 64 > 0",
);

export const tablesChangedByEmptyWriteSql: string = tablesWith(
  `tgtype & 28 > 0 AND (tgtype & 1 = 0 OR tgtype & 66 > 0 AND ${mayPrevent})`,
);

/** Finds tables with rules, or with triggers that match the SQL, and their parents and views. */
function tablesWith(triggers: string): string {
  return `
  WITH RECURSIVE changed AS (
    SELECT tgrelid AS oid FROM pg_trigger
    JOIN pg_proc p ON p.oid = tgfoid JOIN pg_language l ON l.oid = p.prolang
    WHERE NOT tgisinternal AND tgname NOT LIKE '${postgresTriggerName}%' AND (${triggers})
    UNION SELECT ev_class FROM pg_rewrite WHERE ev_type <> '1'
    UNION SELECT up.parent FROM changed JOIN (
      SELECT inhrelid AS child, inhparent AS parent FROM pg_inherits
      UNION ALL SELECT d.refobjid, r.ev_class FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid
        AND d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
    ) AS up ON up.child = changed.oid
  )
  SELECT CASE WHEN n.nspname = current_schema THEN NULL ELSE n.nspname END, c.relname
  FROM changed JOIN pg_class c ON c.oid = changed.oid
  JOIN pg_namespace n ON n.oid = c.relnamespace`;
}
