import { cell, selectNamed } from "../../../../db/named_columns.ts";
import type { Driver } from "../../../../db/driver.ts";
import type { ActingRole, ActingRoles, RoleOnTable } from "../../../../db/engine/acting_roles.ts";
import type { TableInfo } from "../../../../schema/table_info.ts";

export async function readActingRoles(
  driver: Driver,
  names: readonly string[],
  tables: readonly TableInfo[],
): Promise<ActingRoles> {
  const roles = JSON.stringify(names);
  const [known, rights, faults] = await Promise.all([
    selectNamed(
      driver,
      {
        name: cell.text("r.rolname"),
        isLogin: cell.flag("r.rolname = current_user"),
        isMember: cell.flag("pg_has_role(current_user, r.oid, 'MEMBER')"),
        isSuperuser: cell.flag("r.rolsuper"),
        bypasses: cell.flag("r.rolbypassrls"),
      },
      `FROM pg_roles r WHERE r.rolname = current_user
        OR r.rolname IN (SELECT json_array_elements_text($1::json))`,
      roles,
    ),
    selectNamed(
      driver,
      {
        place: cell.number("t.place"),
        role: cell.text("r.rolname"),
        reads: cell.flag("has_any_column_privilege(r.oid, c.oid, 'SELECT')"),
        hasPolicies: cell.flag("c.relrowsecurity"),
        isView: cell.flag("c.relkind IN ('v', 'm')"),
        isExempt: cell.flag(`c.relkind NOT IN ('v', 'm') AND NOT c.relforcerowsecurity
          AND pg_has_role(r.oid, c.relowner, 'USAGE')`),
        unreadable: cell.list(withoutRight("SELECT")),
        notInsertable: cell.list(withoutRight("INSERT")),
        notUpdatable: cell.list(withoutRight("UPDATE")),
      },
      // to_regclass is not used: it needs a right to the schema, which the login role can lack.
      `FROM json_to_recordset($2::json) AS t(place int, schema text, name text)
       JOIN pg_class c ON c.relname = t.name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
         AND CASE WHEN t.schema IS NULL THEN pg_table_is_visible(c.oid)
           ELSE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = t.schema) END
       JOIN pg_roles r ON r.rolname = current_user
         OR r.rolname IN (SELECT json_array_elements_text($1::json))`,
      roles,
      JSON.stringify(tables.map(({ schema, name }, place) => ({ place, schema, name }))),
    ),
    selectNamed(
      driver,
      { isPolicy: cell.flag("is_policy"), message: cell.text("message") },
      faulty,
    ),
  ]);
  const roleOf = ({ isLogin: _isLogin, ...role }: typeof known[number]): ActingRole => role;
  return {
    login: known.filter(({ isLogin }) => isLogin).map(roleOf)[0] ?? null,
    roles: known.map(roleOf),
    faults,
    rights: rights.flatMap(({ place, ...facts }): readonly RoleOnTable[] => {
      const table = tables[place];
      if (table === undefined) return [];
      const named = (names: readonly string[]) =>
        new Set(table.columns.filter(({ dbName }) => names.includes(dbName)));
      return [{
        ...facts,
        table,
        unreadable: named(facts.unreadable),
        notInsertable: named(facts.notInsertable),
        notUpdatable: named(facts.notUpdatable),
      }];
    }),
  };
}

/** A FROM clause that finds faults, e.g. a policy with an IMMUTABLE function that reads a role. */
const faulty = `FROM (WITH RECURSIVE sources AS (
    SELECT p.oid, p.proname, CASE provolatile WHEN 'i' THEN p.oid END AS wrong,
      lower(coalesce(nullif(p.prosrc, ''), pg_get_functiondef(p.oid))) AS source
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname NOT IN ('c', 'internal')
    WHERE p.prokind = 'f' AND p.pronamespace <> 'pg_catalog'::regnamespace),
  reading AS (
    SELECT oid, proname, wrong FROM sources WHERE source
      ~ '\\m(current_(setting|user|role)|session_user|pg_has_role|has_\\w+_privilege)\\M'
    UNION SELECT s.oid, s.proname, coalesce(s.wrong, r.wrong) FROM sources s JOIN reading r
      ON strpos(s.source, lower(r.proname)) > 0 AND r.proname ~ '^\\w+$'
        AND s.source ~ ('\\m' || lower(r.proname) || '"?\\s*\\('))
  SELECT d.classid = 'pg_policy'::regclass AS is_policy, format('the %s can use values of another '
    'user: %s reads the role or a setting but is IMMUTABLE: ALTER FUNCTION %2$s STABLE',
    pg_describe_object(d.classid, d.objid, 0), wrong::regprocedure) AS message
  FROM reading r JOIN pg_depend d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = r.oid
    AND d.classid::regclass::text IN ('pg_policy', 'pg_rewrite', 'pg_attrdef') AND wrong IS NOT NULL
  UNION SELECT true, 'the setting row_security is off, so reads that policies would filter fail: '
    || 'ALTER ROLE ' || quote_ident(session_user) || ' SET row_security = on'
  WHERE NOT current_setting('row_security')::bool) AS f ORDER BY 1 DESC, 2`;

function withoutRight(right: string): string {
  return `(SELECT json_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid
    AND a.attnum > 0 AND NOT a.attisdropped
    AND NOT has_column_privilege(r.oid, c.oid, a.attnum, '${right}'))`;
}
