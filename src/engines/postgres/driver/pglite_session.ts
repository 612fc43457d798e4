import type { PostgresConnection, PostgresResult, PostgresSession } from "./postgres_connection.ts";

/** The PGlite members that the driver uses. The PGlite can be from another copy of the package. */
export interface PgliteClient extends PgliteQueries {
  readonly waitReady: Promise<void>;
  /** How the library converts results, by type OID. */
  readonly parsers: Readonly<Record<string, unknown>>;
  /** How the library converts bound values, by type OID. */
  readonly serializers: Readonly<Record<string, unknown>>;
  /** Runs `work` in a transaction. Until it ends, other statements of the program wait. */
  transaction<T>(work: (transaction: PgliteTransaction) => Promise<T>): Promise<T>;
}

export interface PgliteQueries {
  query(text: string, values: unknown[], options: object): Promise<PgliteResult>;
}

export interface PgliteTransaction extends PgliteQueries {
  rollback(): Promise<void>;
}

export interface PgliteResult {
  readonly rows: unknown[];
  readonly command?: string;
  readonly rowCount?: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/**
 * Creates the session of a PGlite that the program uses as well. Each statement passes its own
 * conversions, and the library begins each transaction, so the program's statements are unaffected.
 * `restores` are the statements that reset the session after a function may have changed it.
 */
export function createPgliteSession(
  client: PgliteClient,
  restores: readonly string[],
): PostgresSession {
  const options = textOptions(client);
  let open: OpenTransaction | null = null;
  /** The transaction that waits until statements of the program have ended, or null. */
  let waiting: { isOver: boolean } | null = null;

  async function begin(): Promise<PostgresResult> {
    const begun = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const wait = waiting = { isOver: false };
    const done = client.transaction(async (transaction) => {
      // The request has stopped waiting, so this transaction must not write.
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
    // After `end()`, the library commits a transaction unless it was rolled back.
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
    // PGlite returns all rows together, blocks the process, and cannot abort a statement.
    read(text, values, keep) {
      const result = connection.run(text, values).then((all) =>
        all.rows.every(keep) ? all : { ...all, rows: [] }
      );
      return { result, cancel: () => Promise.resolve() };
    },
    async end(command) {
      const texts = command === "COMMIT" ? restores : [];
      for (const text of texts) await connection.run(text, []);
      return await connection.run(command, []);
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

/** Returns false if a statement has failed, so that COMMIT would roll back without an error. */
async function isUsable(transaction: PgliteTransaction): Promise<boolean> {
  try {
    await transaction.query("SELECT 1", [], {});
    return true;
  } catch {
    return false;
  }
}

/** Turns off the library's conversions, which lose digits and change invalid values. */
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
    // The cast is safe: with these options, each row is an array of strings and nulls.
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
