import type { MigrationsEngine } from "../../../db/engine/migrations_engine.ts";
import { postgresSyntax } from "../sql/syntax.ts";
import { postgresTypeName } from "../sql/type_names.ts";
import { postgresRecording } from "./postgres_recording.ts";
import { postgresShapes } from "./postgres_shapes.ts";
import { postgresSteps } from "./postgres_steps.ts";
import { isWiderInPostgres } from "./postgres_types.ts";
import { writtenByPostgres } from "./written_by_postgres.ts";

/** The migrations of Postgres databases. */
export const postgresMigrations: MigrationsEngine = {
  comparison: {
    syntax: postgresSyntax,
    shapes: postgresShapes,
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
    written: writtenByPostgres,
  },
  planning: {
    steps: (_connection, changed, missing) => Promise.resolve(postgresSteps(changed, missing)),
    dropsTogether: true,
    renamesConstraints: true,
    references: {
      ...{ from: "conrelid::regclass::text", to: "c.relname" },
      rows: "FROM pg_constraint JOIN pg_class c ON c.oid = confrelid WHERE contype = 'f'",
    },
    mayBeRename: (left, right) => left === right,
    isWider: isWiderInPostgres,
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
  recording: postgresRecording,
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
