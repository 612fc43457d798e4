import {
  DatabaseError,
  type DatabaseErrorKind,
  type FailedConstraint,
} from "../../../db/database_error.ts";
import { toClientMessage } from "../../../db/raised_message.ts";

export function toSqliteError(error: unknown, name: string | null, showsRaised = false): unknown {
  if (name === null || error instanceof DatabaseError) return error;
  if (name === "SQLITE_CONSTRAINT_TRIGGER") return triggerError(error, showsRaised);
  const kind = kinds.get(name) ?? kinds.get(primaryName(name)) ?? otherKind(error);
  return new DatabaseError(kind, error, failedConstraint(name, error));
}

/** Translates the error of RAISE in a trigger. A RESTRICT foreign key has the same result code. */
function triggerError(error: unknown, showsMessage: boolean): DatabaseError {
  const text = error instanceof Error ? error.message : "";
  if (text === "FOREIGN KEY constraint failed") return new DatabaseError("foreign-key", error);
  const message = showsMessage ? toClientMessage(text) : null;
  return new DatabaseError("check", error, null, { message, status: null });
}

/** Returns the kind. A message with `main.` is about a broken foreign key, trigger or view. */
function otherKind(error: unknown): DatabaseErrorKind {
  const message = error instanceof Error ? error.message : "";
  return /^(?:no such table: main\.|foreign key mismatch - |no such collation sequence: )/.test(
      message,
    )
    ? "broken-table"
    : "other";
}

/** Finds the missing or unusable function, collation or module that SQLite's message names. */
export function missingFunctionOrCollation(
  message: string,
): { readonly name: string; readonly reason: string } | null {
  for (const missing of missingParts) {
    const [reason, name] = missing.exec(message) ?? [];
    if (reason !== undefined && name !== undefined) return { name, reason };
  }
  return null;
}

const missingParts: readonly RegExp[] = [
  /^no such (?:function|collation sequence|module): ([^]+)$/,
  /^(?:unknown function:|wrong number of arguments to function|unsafe use of) ([^]+)\(\)$/,
];

/** Returns the failed constraint that SQLite's message names. Messages of RAISE are not parsed. */
function failedConstraint(name: string, error: unknown): FailedConstraint | null {
  const message = error instanceof Error ? messages.get(name)?.exec(error.message) : undefined;
  const [, failed] = message ?? [];
  if (failed === undefined) return null;
  return { schema: null, table: null, column: null, type: null, name: failed };
}

const failedAfterColon = /^[A-Z ]+ constraint failed: ([^]*)$/;

const messages: ReadonlyMap<string, RegExp> = new Map([
  ["SQLITE_CONSTRAINT_UNIQUE", failedAfterColon],
  ["SQLITE_CONSTRAINT_PRIMARYKEY", failedAfterColon],
  ["SQLITE_CONSTRAINT_ROWID", failedAfterColon],
  ["SQLITE_CONSTRAINT_NOTNULL", failedAfterColon],
  ["SQLITE_CONSTRAINT_CHECK", failedAfterColon],
  ["SQLITE_CONSTRAINT_DATATYPE", /^cannot store \w+ value in \w+ column ([^]*)$/],
]);

export function isBusyError(name: string | null): boolean {
  return name !== null && primaryName(name) === "SQLITE_BUSY";
}

export function isUnwritable(name: string | null): boolean {
  return name !== null && ["SQLITE_CANTOPEN", "SQLITE_READONLY"].includes(primaryName(name));
}

export function resultCodeName(code: number): string {
  return codes.get(code) ?? codes.get(code & 0xff) ?? "SQLITE_ERROR";
}

/** Returns `SQLITE_IOERR` for `SQLITE_IOERR_WRITE`. */
function primaryName(name: string): string {
  const end = name.indexOf("_", "SQLITE_".length);
  return end === -1 ? name : name.slice(0, end);
}

const results: readonly (readonly [code: number, name: string, kind: DatabaseErrorKind])[] = [
  [2067, "SQLITE_CONSTRAINT_UNIQUE", "unique"],
  [1555, "SQLITE_CONSTRAINT_PRIMARYKEY", "unique"],
  [2579, "SQLITE_CONSTRAINT_ROWID", "unique"],
  [787, "SQLITE_CONSTRAINT_FOREIGNKEY", "foreign-key"],
  [1299, "SQLITE_CONSTRAINT_NOTNULL", "not-null"],
  [3091, "SQLITE_CONSTRAINT_DATATYPE", "invalid-value"],
  [275, "SQLITE_CONSTRAINT_CHECK", "check"],
  [1811, "SQLITE_CONSTRAINT_TRIGGER", "check"],
  [19, "SQLITE_CONSTRAINT", "check"],
  [20, "SQLITE_MISMATCH", "invalid-value"],
  [18, "SQLITE_TOOBIG", "invalid-value"],
  [9, "SQLITE_INTERRUPT", "timeout"],
  [5, "SQLITE_BUSY", "unavailable"],
  [6, "SQLITE_LOCKED", "unavailable"],
  [15, "SQLITE_PROTOCOL", "unavailable"],
  [13, "SQLITE_FULL", "unavailable"],
  [10, "SQLITE_IOERR", "unavailable"],
  [7, "SQLITE_NOMEM", "unavailable"],
  [14, "SQLITE_CANTOPEN", "unavailable"],
  [8, "SQLITE_READONLY", "read-only"],
  [11, "SQLITE_CORRUPT", "replaced"],
  [26, "SQLITE_NOTADB", "replaced"],
  // The content of a full-text table does not match its index. The file itself is intact.
  [267, "SQLITE_CORRUPT_VTAB", "other"],
];
const codes = new Map(results.map(([code, name]) => [code, name]));
const kinds = new Map(results.map(([, name, kind]) => [name, kind]));
