import type { MigrationsEngine } from "../../../db/engine/migrations_engine.ts";
import { postgresSyntax } from "../sql/syntax.ts";
import { postgresTypeName } from "../sql/type_names.ts";
import { postgresRecordingEngine } from "./postgres_recording.ts";
import { readPostgresShapes } from "./postgres_shapes.ts";
import { postgresMigrationSteps } from "./postgres_steps.ts";
import { isWiderPostgresType } from "./postgres_types.ts";
import { shapesPrintedByPostgres } from "./shapes_printed_by_postgres.ts";

/** The migrations of Postgres databases. */
export const postgresMigrationsEngine: MigrationsEngine = {
  comparison: {
    syntax: postgresSyntax,
    shapes: readPostgresShapes,
    declaredShape: (parsed) => ({
      ...parsed,
      columns: parsed.columns.map((column) => ({
        ...column,
        type: postgresTypeName(column.type),
        // A primary key is NOT NULL even if its declaration does not say so.
        notNull: column.notNull || parsed.key.includes(column.name),
      })),
    }),
    isSameType: (wanted, has) => wanted.toLowerCase() === has.toLowerCase(),
    written: shapesPrintedByPostgres,
  },
  planning: {
    steps: (_connection, changed, missing) =>
      Promise.resolve(postgresMigrationSteps(changed, missing)),
    dropsTogether: true,
    renamesConstraints: true,
    references: {
      ...{ from: "conrelid::regclass::text", to: "c.relname" },
      rows: "FROM pg_constraint JOIN pg_class c ON c.oid = confrelid WHERE contype = 'f'",
    },
    mayBeRename: (left, right) => left === right,
    isWider: isWiderPostgresType,
    notNumeric: () => null,
    // Postgres treats a bare literal as a string.
    cast: (value, type) => `CAST(${value} AS ${type})`,
  },
  running: {
    compare: (driver, work) => driver.transaction(work),
    restructure: (driver, work) =>
      driver.transaction(async (connection) => {
        for (const text of serverLock) await connection.query({ text, values: [] });
        return await work(connection);
      }),
    hasOneWriter: false,
    integrity: () => Promise.resolve(() => Promise.resolve()),
    whyNot: (statement) =>
      /^(?:\s|--[^\n]*\n)*COPY\b[^]*\b(?:FROM\s+STDIN|TO\s+STDOUT)\b/i.test(statement)
        ? "has a COPY from or to its client, which only psql runs: write INSERT"
        : null,
    turnsKeysOff: () => false,
  },
  recording: postgresRecordingEngine,
};

/**
 * A migration takes the same advisory lock as the method `createTables` of a database. Waiting for
 * this lock and rewriting a table have no time limit. Waiting for the lock of a table has a limit,
 * because later requests for the table wait, too.
 */
const serverLock: readonly string[] = [
  "SET LOCAL lock_timeout = 0",
  "SET LOCAL statement_timeout = 0",
  "SELECT pg_advisory_xact_lock(7237120945)",
  "SET LOCAL lock_timeout TO DEFAULT",
];
