import { DatabaseError, reasonOf } from "../db/database_error.ts";
import { withoutSecrets } from "../engines/server_url.ts";
import { Misuse } from "./command_options.ts";

/** Replaces control characters, with which a name in the database could control the terminal. */
export function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, "\ufffd");
}

export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

export function printValue(json: boolean, value: object, line: () => string): void {
  console.log(json ? JSON.stringify(value) : printable(line()));
}

/** Thrown if a command cannot do what the user expects. The message is for the user. */
export class Failure extends Error {}

/**
 * Prints an error, without a stack if it is expected. Returns 2 for a mistake of the user, 1 for a
 * failure, and `exitCode` for an error that can be either.
 */
export function reportFailure(error: unknown, exitCode: number, database?: string | null): number {
  const isExpected = error instanceof DatabaseError ||
    (error instanceof Error && [Error, Failure, Misuse].some((one) => error.constructor === one));
  if (!isExpected) {
    console.error(Deno.inspect(error));
    return 1;
  }
  console.error(printableLines(messageOf(error, database ?? null)));
  if (error instanceof Misuse) return 2;
  return error.constructor === Error ? exitCode : 1;
}

function messageOf(error: Error, database: string | null): string {
  if (error.message.endsWith("the port is taken")) {
    return `${error.message}; try --port 0, which takes a free one`;
  }
  if (!(error instanceof DatabaseError)) return error.message;
  const remedy = /malformed/.test(reasonOf(error)) ? damagedRemedy : "";
  const name = database === null ? "the database" : withoutSecrets(database);
  return `Cannot use ${name}: ${reasonOf(error)}${remedy}`;
}

const damagedRemedy =
  "; restore a backup, or copy the readable rows into a new file: sqlite3 FILE .recover";
