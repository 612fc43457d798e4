import type { MigrationsEngine } from "../../../db/engine/migrations_engine.ts";
import { affinityOfType } from "../sql/column_type.ts";
import { sqliteSyntax } from "../sql/syntax.ts";
import { readFileIntegrity, requireFileIntegrity } from "./file_integrity.ts";
import { sqliteRecordingEngine } from "./sqlite_recording.ts";
import { readSqliteShapes } from "./sqlite_shapes.ts";
import { sqliteMigrationSteps } from "./sqlite_steps.ts";
import { isSameSqliteType, isWiderSqliteType } from "./sqlite_types.ts";

export const sqliteMigrationsEngine: MigrationsEngine = {
  comparison: {
    syntax: sqliteSyntax,
    shapes: readSqliteShapes,
    declaredShape: (parsed) => parsed,
    isSameType: isSameSqliteType,
    written: null,
  },
  planning: {
    steps: sqliteMigrationSteps,
    // SQLite checks foreign keys at the end of the transaction, so tables are dropped one by one.
    dropsTogether: false,
    renamesConstraints: false,
    references: {
      ...{ from: "t.name", to: 'k."table"' },
      rows:
        "FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS k WHERE t.type = 'table'",
    },
    mayBeRename: (left, right) => affinityOfType(left) === affinityOfType(right),
    isWider: isWiderSqliteType,
    notNumeric: (type, column) =>
      /INT|REAL|NUM/i.test(type)
        ? `typeof(${column}) IN ('text', 'blob') AND (${column} = '' OR ${column} GLOB '*[^-+.0-9eE]*')`
        : null,
    cast: (value) => value,
  },
  running: {
    // `compare` writes nothing, because the file may be open only for reading.
    compare: (driver, work) => work(driver),
    async restructure(driver, work) {
      if (driver.restructure === undefined) {
        throw new Error(`Cannot migrate ${driver.label}: its driver cannot make tables again`);
      }
      return await driver.restructure(work);
    },
    hasOneWriter: true,
    async integrity(connection) {
      const before = await readFileIntegrity(connection);
      return (tables, file) => requireFileIntegrity(connection, before, tables, file);
    },
    whyNot: () => null,
    turnsKeysOff: (statement) =>
      /^(?:\s|--[^\n]*\n)*PRAGMA\s+foreign_keys\s*=\s*(?:off|0|false|no)\s*$/i.test(statement),
  },
  recording: sqliteRecordingEngine,
};
