import type { MigrationsEngine, PausedTable } from "../../../db/engine/migrations_engine.ts";
import { postgresSyntax } from "../sql/syntax.ts";
import { toPostgresTypeName } from "../sql/type_names.ts";
import { columnConversionSql } from "./postgres_columns.ts";
import { readPostgresShapes, shapesPrintedByPostgres } from "./postgres_shapes.ts";
import { postgresMigrationSteps } from "./postgres_steps.ts";
import { postgresLockOf } from "./statement_locks.ts";
import { postgresWrittenParts } from "./written_parts.ts";
import type { Connection } from "../../../db/driver.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { hexToBytes } from "../../../protocol/byte_text.ts";
import { sqlName } from "../../../sql/fragment.ts";
import { recordGap, setUpPostgresLogWithin } from "../changes/set_up_postgres_log.ts";
import { postgresTriggerName } from "../sql/change_log_schema.ts";
import { hasEnoughDigits, typeParts } from "../../../db/migrations/plan/widened_types.ts";

export const postgresMigrationsEngine: MigrationsEngine = {
  comparison: {
    syntax: postgresSyntax,
    shapes: readPostgresShapes,
    declaredShape: (parsed) => ({
      ...parsed,
      columns: parsed.columns.map((column) => ({
        ...column,
        type: toPostgresTypeName(column.type),
        notNull: column.notNull || parsed.key.includes(column.name),
      })),
    }),
    isSameType: (wanted, has) => wanted.toLowerCase() === has.toLowerCase(),
    written: shapesPrintedByPostgres,
  },
  planning: {
    steps: (_connection, changed, missing) =>
      Promise.resolve(postgresMigrationSteps(changed, missing)),
    lockOf: postgresLockOf,
    writtenParts: postgresWrittenParts,
    dropsTogether: true,
    renamesConstraints: true,
    references: {
      ...{ from: "conrelid::regclass::text", to: "c.relname" },
      rows: "FROM pg_constraint JOIN pg_class c ON c.oid = confrelid WHERE contype = 'f'",
    },
    mayBeRename: (left, right) => left === right,
    isWider: isWiderPostgresType,
    unfit: () => null,
    castsCanFail: true,
    conversion: columnConversionSql,
    // Without a cast, Postgres would treat the literal as a string.
    cast: (value, type) => `CAST(${value} AS ${type})`,
  },
  running: {
    compare: (driver, work) => driver.transaction(work),
    restructure: (driver, work) =>
      driver.transaction(async (connection) => {
        for (const text of serverLock) await connection.query({ text, values: [] });
        return await work(connection);
      }),
    async apart(driver, work) {
      if (driver.isPooled === true) {
        throw new Error(
          "Cannot migrate: a file without a transaction needs a direct connection to the server, " +
            `and ${driver.label} is a pooler`,
        );
      }
      return await driver.transaction((connection) => runApart(connection, work));
    },
    async asItself(connection, work) {
      const run = async (text: string) => await connection.query({ text, values: [] });
      try {
        for (const text of beginAsItself) await run(text);
        const result = await work();
        await run("COMMIT");
        return result;
      } catch (error) {
        await run("ROLLBACK").catch(() => {});
        throw error;
      }
    },
    undoSettings: () => undoSettings,
    async unusableIndexes(connection) {
      const name = { name: cell.text("relname") };
      const from = "FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE NOT indisvalid";
      return (await selectNamed(connection, name, from)).map(({ name }) => name);
    },
    hasOneWriter: false,
    integrity: () => Promise.resolve(() => Promise.resolve()),
    whyNot: (statement) =>
      /^(?:\s|--[^\n]*\n)*COPY\b[^]*\b(?:FROM\s+STDIN|TO\s+STDOUT)\b/i.test(statement)
        ? "has a COPY from or to its client, which only psql runs: write INSERT"
        : null,
    turnsKeysOff: () => false,
  },
  recording: {
    // The log's triggers name only excluded columns. They prevent no migration, so they stay.
    pause: recordedOnServer,
    // A renamed table keeps its triggers, which the usual setup of the log then updates.
    resumed: recordedOnServer,
    async of(connection, table) {
      const [trigger] = await selectNamed(
        connection,
        { args: cell.text("encode(tgargs, 'hex')") },
        "FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = $2",
        sqlName(table),
        postgresTriggerName,
      );
      return trigger === undefined ? null : { hidden: hiddenIn(trigger.args), mode: "triggers" };
    },
    async record(connection, table, { changes, random, startsAgain }) {
      const described = await setUpPostgresLogWithin(connection, [table], changes, random);
      if (startsAgain) { for (const one of described) await recordGap(one, connection); }
    },
  },
};

/** Only waits for table locks have a limit: requests to a table wait while a migration waits. */
const serverLock: readonly string[] = [
  "SET LOCAL lock_timeout = 0",
  "SET LOCAL statement_timeout = 0",
  "SELECT pg_advisory_xact_lock(7237120945)",
  "SET LOCAL lock_timeout TO DEFAULT",
];

/**
 * Ends a connection's transaction, and runs `work` under an advisory lock. Processes poll for the
 * lock, because a statement that waits for it is an open transaction. The lock holder's index build
 * would wait for this transaction: a deadlock.
 */
async function runApart<T>(
  connection: Connection,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const run = async (text: string) => await connection.query({ text, values: [] });
  await run("COMMIT");
  await run("SET statement_timeout = 0");
  const lock = { taken: cell.flag("pg_try_advisory_lock(7237120946)") };
  while (!(await selectNamed(connection, lock, "")).some(({ taken }) => taken)) {
    await run("SELECT pg_sleep(0.2)");
  }
  try {
    return await work({
      async query(statement) {
        // A concurrent build can wait without a limit, because it does not block reads and writes.
        const isConcurrent = /\bCONCURRENTLY\b/i.test(statement.text);
        await run(isConcurrent ? "SET lock_timeout = 0" : "RESET lock_timeout");
        return await connection.query(statement);
      },
    });
  } finally {
    // A lost connection is no problem: its lock and its settings have ended with its session.
    for (const text of endApart) await run(text).catch(() => {});
  }
}

/** RESET ALL keeps the role, but resets the time zone, which PGlite's driver has set to UTC. */
const undoSettings = [
  "SET SESSION AUTHORIZATION DEFAULT",
  "RESET role",
  "RESET ALL",
  "SET TimeZone TO 'UTC'",
];

const endApart = ["SELECT pg_advisory_unlock(7237120946)", ...undoSettings];

const beginAsItself = [
  "BEGIN READ WRITE",
  "SET LOCAL SESSION AUTHORIZATION DEFAULT",
  "SET LOCAL role TO DEFAULT",
  "SET LOCAL search_path TO DEFAULT",
];

async function recordedOnServer(connection: Connection): Promise<readonly PausedTable[]> {
  const rows = await selectNamed(
    connection,
    {
      name: cell.text("c.relname"),
      schema: cell.textOrNull("CASE WHEN n.nspname <> current_schema() THEN n.nspname END"),
      args: cell.text("encode(t.tgargs, 'hex')"),
    },
    `FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE t.tgname = $1 AND t.tgparentid = 0`,
    postgresTriggerName,
  );
  return rows.map(({ args, ...table }) => ({ ...table, hidden: hiddenIn(args) }));
}

function hiddenIn(args: string): readonly string[] {
  return new TextDecoder().decode(hexToBytes(args)).split("\0").slice(1, -1);
}

export function isWiderPostgresType(from: string, to: string): boolean {
  const [one, other] = [typeParts(from), typeParts(to)];
  if (other.name === "text") return !binary.has(one.name);
  if (one.name === other.name) return hasEnoughDigits(one, other);
  if (other.name === "character varying") {
    return one.name === "text" ? other.numbers.length === 0 : false;
  }
  const isBare = other.numbers.length === 0 || other.numbers[0] === 6;
  return isBare && (wider.get(one.name) ?? []).includes(other.name) &&
    !(other.name === "numeric" && one.name.includes("real"));
}

/** The types that no migration converts to strings, because the result would surprise users. */
const binary: ReadonlySet<string> = new Set(["bytea"]);

const wider: ReadonlyMap<string, readonly string[]> = new Map([
  ["smallint", ["integer", "bigint", "numeric", "real", "double precision"]],
  ["integer", ["bigint", "numeric", "double precision"]],
  ["bigint", ["numeric"]],
  ["real", ["double precision"]],
  ["boolean", ["bigint", "integer", "smallint", "numeric"]],
  ["date", ["timestamp with time zone", "timestamp without time zone"]],
  ["timestamp without time zone", ["timestamp with time zone"]],
  ["json", ["jsonb"]],
]);
