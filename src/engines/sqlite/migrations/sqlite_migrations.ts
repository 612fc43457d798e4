import type { MigrationsEngine } from "../../../db/engine/migrations_engine.ts";
import { affinityOfType } from "../sql/column_type.ts";
import { sqliteSyntax } from "../sql/syntax.ts";
import { checkFile, fileState } from "./file_state.ts";
import { sqliteRecording } from "./sqlite_recording.ts";
import { sqliteShapes } from "./sqlite_shapes.ts";
import { sqliteSteps } from "./sqlite_steps.ts";
import { isSameInSqlite, isWiderInSqlite } from "./sqlite_types.ts";

/** The migrations of SQLite. */
export const sqliteMigrations: MigrationsEngine = {
  comparison: {
    syntax: sqliteSyntax,
    shapes: sqliteShapes,
    declaredShape: (parsed) => parsed,
    isSameType: isSameInSqlite,
    written: null,
  },
  planning: {
    steps: sqliteSteps,
    // SQLite checks foreign keys at the end, so a step can drop a single table.
    dropsTogether: false,
    renamesConstraints: false,
    references: {
      ...{ from: "t.name", to: 'k."table"' },
      rows:
        "FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS k WHERE t.type = 'table'",
    },
    mayBeRename: (left, right) => affinityOfType(left) === affinityOfType(right),
    isWider: isWiderInSqlite,
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
      const before = await fileState(connection);
      return (tables, file) => checkFile(connection, before, tables, file);
    },
    whyNot: () => null,
    turnsKeysOff: (statement) =>
      /^(?:\s|--[^\n]*\n)*PRAGMA\s+foreign_keys\s*=\s*(?:off|0|false|no)\s*$/i.test(statement),
  },
  recording: sqliteRecording,
};
