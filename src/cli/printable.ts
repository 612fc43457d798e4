import { DatabaseError } from "../db/database_error.ts";

/** Replaces control characters, with which a name in the database could control the terminal. */
export function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, "\ufffd");
}

/** Replaces control characters except line breaks. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

export function printValue(json: boolean, value: object, line: () => string): void {
  console.log(json ? JSON.stringify(value) : printable(line()));
}

/** Prints an error. If it is expected, prints no stack and returns `exitCode`; otherwise 1. */
export function reportFailure(error: unknown, exitCode: number): number {
  const isMistake = error instanceof DatabaseError ||
    (error instanceof Error && error.constructor === Error);
  console.error(isMistake ? printableLines(messageOf(error)) : Deno.inspect(error));
  return isMistake ? exitCode : 1;
}

function messageOf(error: Error): string {
  if (error.cause instanceof Deno.errors.AddrInUse) {
    return `${error.message}; try --port 0, which takes a free one`;
  }
  if (!(error instanceof DatabaseError)) return error.message;
  const reason = error.cause instanceof Error ? error.cause.message : error.kind;
  return `Cannot use the database: ${reason}`;
}
