import { readdir, readFile } from "node:fs/promises";
import type { Dialect } from "../../../sql/dialect.ts";
import type { SqlSyntax } from "../../../sql/statements/normal_sql.ts";
import { engineOf } from "../../engine/engine.ts";
import {
  isTransactionBoundary,
  splitStatements,
} from "../../../sql/statements/split_statements.ts";

/** An SQL file that is run once. The number at the start of its name determines the order. */
export interface MigrationFile {
  readonly name: string;
  readonly number: number;
  /** The whole SQL, with `\n` as the line end. */
  readonly sql: string;
  readonly statements: readonly string[];
  /** True if the file begins with `-- no transaction`. Each statement then commits separately. */
  readonly isApart: boolean;
  /** True if the file begins by turning SQLite's foreign keys off, in order to rebuild a table. */
  readonly withoutKeys: boolean;
}

export async function readMigrationFiles(
  folder: string,
  dialect: Pick<Dialect, "parts" | "syntax">,
): Promise<readonly MigrationFile[]> {
  const files: MigrationFile[] = [];
  const isFile = (name: string) => name.endsWith(".sql") && !name.endsWith(".down.sql");
  for (const name of (await namesOf(folder)).filter(isFile)) {
    files.push(await readOne(folder, name, dialect));
  }
  files.sort((left, right) => left.number - right.number);
  files.forEach(({ name, number }, index) => {
    const before = files[index - 1];
    if (before?.number === number) {
      throw new Error(`Cannot migrate: ${before.name} and ${name} have the same number`);
    }
  });
  return files;
}

export async function readDownFile(
  folder: string,
  applied: string,
  dialect: Pick<Dialect, "parts" | "syntax">,
): Promise<MigrationFile> {
  const name = applied.replace(/\.sql$/, ".down.sql");
  if (!(await namesOf(folder)).includes(name)) {
    throw new Error(`Cannot undo ${applied}: ${folder} has no ${name}`);
  }
  const file = await readOne(folder, name, dialect);
  if (!file.isApart) return file;
  throw new Error(`Cannot undo ${applied}: ${name} must run in a transaction`);
}

async function namesOf(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    throw new Error(`Cannot migrate: the folder ${folder} cannot be read`, { cause });
  }
}

function textOf(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error(`Cannot migrate: ${name} is no UTF-8`, { cause });
  }
}

async function readOne(
  folder: string,
  name: string,
  dialect: Pick<Dialect, "parts" | "syntax">,
): Promise<MigrationFile> {
  const [, digits] = /^(\d+)_[^/]*\.sql$/.exec(name) ?? [];
  if (digits === undefined) {
    throw new Error(`Cannot migrate: ${name} has no name like 0001_notes.sql`);
  }
  const text = textOf(name, await readFile(`${folder}/${name}`));
  const { running } = await engineOf({ dialect }).migrations();
  // A checkout on another operating system has other line ends, but must have the same checksum.
  const sql = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  if (sql.includes("\0")) throw new Error(`Cannot migrate: ${name} contains a NUL character`);
  // Removes the psql commands \restrict and \unrestrict, which pg_dump writes around a dump.
  const commands = /^\\(?:un)?restrict \w+$/gm;
  const all = statementsOf(name, sql.replaceAll(commands, ""), dialect.syntax);
  const boundary = all.find(isTransactionBoundary);
  const isApart = /^(?:\s|--[^\n]*\n)*?-- *no transaction *(?:\n|$)/i.test(sql);
  if (boundary !== undefined) {
    const how = isApart ? "commits each statement alone" : "runs in a transaction by itself";
    const statement = boundary.replace(/^(?:\s|--[^\n]*\n)+/, "");
    throw new Error(`Cannot migrate: ${name} has ${statement}, and ${how}`);
  }
  for (const statement of all) {
    const [, alone] = isApart ? [] : runsAlone.exec(statement) ?? [];
    const reason = alone === undefined
      ? running.whyNot(statement)
      : `has ${alone}, which no transaction can contain: ${
        name.endsWith(".down.sql")
          ? "a down file runs in a transaction"
          : "put the statement into a file that begins with the line -- no transaction"
      }`;
    if (reason !== null) throw new Error(`Cannot migrate: ${name} ${reason}`);
  }
  const off = isApart ? -1 : all.findIndex((statement) => running.turnsKeysOff(statement));
  if (!all.slice(0, Math.max(off, 0)).every((statement) => pragma.test(statement))) {
    throw new Error(
      `Cannot migrate: ${name} turns foreign keys off after other statements, which has no effect ` +
        "in its transaction: move the PRAGMA to the beginning",
    );
  }
  const withoutKeys = off >= 0;
  const statements = withoutKeys ? all.toSpliced(off, 1) : all;
  return { name, number: Number(digits), sql, statements, withoutKeys, isApart };
}

const pragma = /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*PRAGMA\b/i;

const runsAlone =
  /^(?:\s|--[^\n]*\n)*(VACUUM\b|(?:CREATE(?: UNIQUE)?|DROP|REINDEX) (?:INDEX|TABLE) CONCURRENTLY\b)/i;

function statementsOf(name: string, sql: string, syntax: SqlSyntax): readonly string[] {
  try {
    return splitStatements(sql, syntax);
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    throw new Error(`Cannot migrate: in ${name}, ${cause.message}`, { cause });
  }
}
