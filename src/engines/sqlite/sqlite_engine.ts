import type { DatabaseEngine } from "../../db/engine/engine.ts";
import {
  columnsOfBrokenReferences,
  columnsViolatedOnSqlite,
} from "./constraints/sqlite_constraint.ts";
import { introspectSqlite } from "./driver/introspect_sqlite.ts";
import { sqliteTriggerPrefix } from "./sql/change_log_schema.ts";
import { sqliteConflictTables } from "./tables/conflict_tables.ts";
import { sqliteChangesEngine } from "./changes/sqlite_changes.ts";
import { readSqlitePlan } from "./driver/read_plan.ts";

export const sqliteEngine: DatabaseEngine = {
  name: "sqlite",
  catalog: {
    introspect: introspectSqlite,
    schemaVersion: "PRAGMA schema_version",
    hasTable: ({ name }) => ({
      text: `SELECT 1 FROM sqlite_schema
        WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE`,
      values: [name],
    }),
    creationLock: null,
    searchLock: null,
    canCompareTypes: () => true,
    allowsForwardReferences: true,
    foldName: (name) => name.toLowerCase(),
    maxNameBytes: null,
    mayCreateTables: null,
    tablesWithLaterChanges: null,
    tablesWithEffectsAlone: null,
    conflictTables: sqliteConflictTables,
  },
  changes: sqliteChangesEngine,
  plan: readSqlitePlan,
  constraints: {
    async columnsOf(error, { table, values, driver }) {
      if (error.kind !== "foreign-key") return await columnsViolatedOnSqlite(error, table, driver);
      const broken = values === null ? [] : await columnsOfBrokenReferences(values, table, driver);
      return broken.map(({ dbName }) => dbName);
    },
  },
  installed: {
    triggers: `SELECT group_concat(name || ' ' || tbl_name) FROM (
  SELECT name, tbl_name FROM sqlite_schema
  WHERE type = 'trigger' AND name GLOB '${sqliteTriggerPrefix}*' ORDER BY name)`,
    relations: "sqlite_schema",
    async changesOfServing(connection) {
      const text = "SELECT * FROM pragma_journal_mode";
      const { rows } = await connection.query({ text, values: [] });
      return String(rows[0]?.[0]) === "wal" ? [] : ["it is put into WAL mode"];
    },
    // `uninstallFromFile` opens the file itself, because no driver may have the file open then.
    uninstall: null,
    logParts: "tables named _service_* are to be added, for the changes that live streams show",
  },
  roles: null,
  migrations: async () =>
    (await import("./migrations/sqlite_migrations.ts")).sqliteMigrationsEngine,
};
