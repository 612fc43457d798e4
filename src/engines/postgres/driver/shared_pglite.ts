import type { PostgresConnection, PostgresResult, PostgresSession } from "./postgres_connection.ts";

/** A PGlite that the program has open, too, as far as the driver uses it. */
export interface PgliteClient extends PgliteQueries {
  /** Resolves when it can be used. */
  readonly waitReady: Promise<void>;
  /** The library's conversions of values that it gives, by the numbers of their types. */
  readonly parsers: Readonly<Record<string, unknown>>;
  /** The library's conversions of values that it is given. */
  readonly serializers: Readonly<Record<string, unknown>>;
  /** Runs `work` in a transaction, which no other statement of the program gets into. */
  transaction<T>(work: (transaction: PgliteTransaction) => Promise<T>): Promise<T>;
}

/** What runs statements of a PGlite. */
export interface PgliteQueries {
  /** Runs one statement. */
  query(text: string, values: unknown[], options: object): Promise<PgliteResult>;
}

/** An open transaction of a PGlite. */
export interface PgliteTransaction extends PgliteQueries {
  /** Ends it without a commit. */
  rollback(): Promise<void>;
}

/** The result of a statement of a PGlite, whose rows are asked for as arrays. */
export interface PgliteResult {
  /** One array for each row. */
  readonly rows: unknown[];
  /** The command that was run, e.g. `INSERT`. */
  readonly command?: string;
  /** Rows that were changed, or given. */
  readonly rowCount?: number | null;
  /** The columns. */
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/**
 * The session of a PGlite that the program uses as well. Its conversions stay as they are, those of
 * each statement here are given with it; and a transaction is one of the library, so that statements
 * of the program wait for its end, and are not a part of it.
 */
export function sharedSession(client: PgliteClient): PostgresSession {
  const options = textOptions(client);
  let open: OpenTransaction | null = null;
  /** The wait for the end of what the program runs. */
  let waiting: { isOver: boolean } | null = null;

  async function begin(): Promise<PostgresResult> {
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const wait = waiting = { isOver: false };
    const done = client.transaction(async (transaction) => {
      // Its request has given up: nothing may be written in it.
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
    // The library commits by itself at the end, unless it was rolled back.
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
    // The library gives the rows of a statement together, and cannot end one: it keeps the process.
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

/** Returns true if no statement of a transaction has failed: the library would commit it without an error. */
async function isUsable(transaction: PgliteTransaction): Promise<boolean> {
  try {
    await transaction.query("SELECT 1", [], {});
    return true;
  } catch {
    return false;
  }
}

/** The library's conversions, also those of arrays, lose digits and change bad values. */
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
    // Rows of strings, by the options.
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
