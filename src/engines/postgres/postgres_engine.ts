import type { DatabaseEngine } from "../../db/engine/engine.ts";
import { maxNameBytes } from "../../schema/constraint_name.ts";
import { columnsViolatedOnPostgres } from "./constraints/postgres_constraint.ts";
import { introspectPostgres } from "./driver/tables/introspect_postgres.ts";
import { readPostgresPolicyBypasses, readPostgresRoleLimits } from "./driver/row_security.ts";
import { postgresSchemaVersion } from "./driver/schema_version_query.ts";
import { uninstallFromServer } from "./installed/uninstall_from_server.ts";
import { canCompareTypes } from "./migrations/comparable_types.ts";
import {
  tablesChangedByEmptyWriteSql,
  tablesWithAfterTriggersSql,
} from "./driver/tables/tables_with_triggers_sql.ts";
import { postgresTriggerName } from "./sql/change_log_schema.ts";
import { postgresChangesEngine } from "./changes/postgres_changes.ts";
import { readPostgresPlan } from "./driver/read_plan.ts";

export const postgresEngine: DatabaseEngine = {
  name: "postgres",
  catalog: {
    introspect: introspectPostgres,
    schemaVersion: postgresSchemaVersion,
    hasTable: ({ schema, name }) => ({
      text: `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = coalesce($1, current_schema()) AND c.relname = $2
          AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`,
      values: [schema, name],
    }),
    // The lock numbers are arbitrary, but must be equal in every process of the service.
    creationLock: { text: "SELECT pg_advisory_xact_lock(7237120945)", values: [] },
    searchLock: { text: "SELECT pg_advisory_xact_lock(7237120946)", values: [] },
    canCompareTypes,
    allowsForwardReferences: false,
    foldName: (name) => name,
    maxNameBytes,
    mayCreateTables: "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)",
    tablesWithLaterChanges: tablesWithAfterTriggersSql,
    tablesWithEffectsAlone: tablesChangedByEmptyWriteSql,
    conflictTables: () => Promise.resolve([]),
  },
  changes: postgresChangesEngine,
  plan: readPostgresPlan,
  constraints: {
    columnsOf: (error, { table, driver }) => columnsViolatedOnPostgres(error, table, driver),
  },
  installed: {
    triggers: `SELECT string_agg(
    tgrelid || ' ' || tgname || tgenabled::text || encode(tgargs, 'hex'), ',' ORDER BY tgrelid, tgname)
  FROM pg_trigger WHERE tgname LIKE '${postgresTriggerName}%'`,
    relations: "(SELECT relname AS name FROM pg_class WHERE pg_table_is_visible(oid)) AS relations",
    changesOfServing: () => Promise.resolve([]),
    uninstall: uninstallFromServer,
    logParts: "tables and functions named _service_* are to be added, for the changes that live " +
      "streams show",
  },
  roles: {
    limits: readPostgresRoleLimits,
    bypasses: readPostgresPolicyBypasses,
    acting: async (...given) =>
      await (await import("./driver/transactions/acting_roles.ts")).readActingRoles(...given),
  },
  migrations: async () =>
    (await import("./migrations/postgres_migrations.ts")).postgresMigrationsEngine,
};
