import type { PostgresConnection, PostgresResult, PostgresSession } from "./postgres_connection.ts";

/** The members of a PGlite that the driver uses if it shares the PGlite with the program. */
export interface PgliteClient extends PgliteQueries {
  /** Resolves when the database can be used. */
  readonly waitReady: Promise<void>;
  /** The library's conversions of results, by the numbers of the types. */
  readonly parsers: Readonly<Record<string, unknown>>;
  /** The library's conversions of bound values. */
  readonly serializers: Readonly<Record<string, unknown>>;
  /** Runs `work` in a transaction. Other statements of the program wait until it ends. */
  transaction<T>(work: (transaction: PgliteTransaction) => Promise<T>): Promise<T>;
}

export interface PgliteQueries {
  query(text: string, values: unknown[], options: object): Promise<PgliteResult>;
}

export interface PgliteTransaction extends PgliteQueries {
  /** Ends the transaction without a commit. */
  rollback(): Promise<void>;
}

/** The result of a statement of a PGlite, with rows as arrays. */
export interface PgliteResult {
  /** One array for each row. */
  readonly rows: unknown[];
  /** The executed command, for example `INSERT`. */
  readonly command?: string;
  /** The number of changed or returned rows. */
  readonly rowCount?: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/**
 * Creates the session of a PGlite that the program uses as well. The conversions of the PGlite stay
 * unchanged, because each statement of the session passes its own conversions. The library starts
 * each transaction, so statements of the program wait until the transaction ends.
 */
export function createSharedPgliteSession(client: PgliteClient): PostgresSession {
  const options = textOptions(client);
  let open: OpenTransaction | null = null;
  /** The current wait for the program's statements, or null. */
  let waiting: { isOver: boolean } | null = null;

  async function begin(): Promise<PostgresResult> {
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const wait = waiting = { isOver: false };
    const done = client.transaction(async (transaction) => {
      // The request has stopped waiting, so the transaction must not write anything.
      if (wait.isOver) return await transaction.rollback();
      waiting = null;
      open = { transaction, end: end.resolve, done };
      begun.resolve();
      await end.promise;
    });
    done.catch(begun.reject);
    await begun.promise;
    return ended("BEGIN");
  }

  async function finish(
    { transaction, end, done }: OpenTransaction,
    text: string,
  ): Promise<PostgresResult> {
    open = null;
    const isWhole = text === "COMMIT" && await isUsable(transaction);
    // The library commits a transaction when its function ends, unless it was rolled back.
    if (!isWhole) await transaction.rollback();
    end();
    await done;
    return ended(isWhole ? "COMMIT" : "ROLLBACK");
  }

  const connection: PostgresConnection = {
    opening: null,
    lost: false,
    async run(text, values) {
      if (open !== null && (text === "COMMIT" || text === "ROLLBACK")) {
        return await finish(open, text);
      }
      if (text === "BEGIN") return await begin();
      return resultOf(await (open?.transaction ?? client).query(text, [...values], options));
    },
    // The library returns all rows together. It blocks the process and cannot abort a statement.
    read(text, values, keep) {
      const result = connection.run(text, values).then((all) =>
        all.rows.every(keep) ? all : { ...all, rows: [] }
      );
      return { result, cancel: () => Promise.resolve() };
    },
    drop() {
      if (waiting !== null) waiting.isOver = true;
      waiting = null;
      const left = open;
      if (left !== null) void finish(left, "ROLLBACK").catch(() => {});
    },
  };
  return { connection: () => connection, close: () => Promise.resolve() };
}

interface OpenTransaction {
  readonly transaction: PgliteTransaction;
  readonly end: () => void;
  readonly done: Promise<void>;
}

/** Returns false if a statement has failed. COMMIT would then roll back without an error. */
async function isUsable(transaction: PgliteTransaction): Promise<boolean> {
  try {
    await transaction.query("SELECT 1", [], {});
    return true;
  } catch {
    return false;
  }
}

/** Disables the library's conversions, which lose digits and alter invalid values. */
function textOptions({ parsers, serializers }: PgliteClient): object {
  const asText = (conversions: Readonly<Record<string, unknown>>, convert: unknown) =>
    Object.fromEntries(Object.keys(conversions).map((type) => [type, convert]));
  return {
    rowMode: "array",
    parsers: asText(parsers, (text: string) => text),
    serializers: asText(serializers, String),
  };
}

function resultOf({ rows, command = "", rowCount, fields }: PgliteResult): PostgresResult {
  return {
    // The cast is safe: with these options, each row is an array of strings.
    rows: rows as (string | null)[][],
    command,
    count: rowCount ?? 0,
    get columns() {
      return fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }));
    },
  };
}

function ended(command: string): PostgresResult {
  return { rows: [], command, count: 0, columns: [] };
}
