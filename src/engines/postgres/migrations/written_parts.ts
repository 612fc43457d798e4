import { constraintName, hashOf } from "../../../schema/constraint_name.ts";
import { quoteIdentifier } from "../../../sql/fragment.ts";
import type { WrittenPart } from "../../../db/engine/migrations_engine.ts";
import type { MigrationStep } from "../../../db/migrations/migration_plan.ts";
import { postgresLockOf } from "./statement_locks.ts";

/** Moves index builds and steps that read all rows to a second file without a transaction. */
export function postgresWrittenParts(steps: readonly MigrationStep[]): readonly WrittenPart[] {
  const created = new Set(steps.flatMap(({ sql }) => create.exec(sql)?.[1] ?? []));
  // A foreign key of a new table can refer to a column that only the second part makes unique.
  const addsUnique = steps.some(({ sql }) => /^[^(]* UNIQUE /.test(sql));
  const inTransaction: MigrationStep[] = [];
  const apart: MigrationStep[] = [];
  for (const step of steps) {
    const [, table = ""] = owner.exec(step.sql) ?? [];
    const isLate = addsUnique && /^[^(]* FOREIGN KEY/.test(step.sql);
    const slow = created.has(table) && !isLate ? null : unlocked(step.sql, table);
    if (slow === null) inTransaction.push(step);
    else apart.push(...slow.map((sql) => ({ ...step, sql, lock: postgresLockOf(sql) })));
  }
  return [{ isApart: false, steps: inTransaction }, { isApart: true, steps: apart }];
}

const name = String.raw`"(?:[^"]|"")*"`;
const create = new RegExp(String.raw`^CREATE TABLE ((?:${name}\.)?${name})`);
const owner = new RegExp(
  String.raw`^(?:ALTER TABLE|CREATE (?:UNIQUE )?INDEX ${name} ON) ((?:${name}\.)?${name})`,
);
const added = new RegExp(
  String.raw`^ADD (?:CONSTRAINT (${name}) )?((CHECK|FOREIGN KEY|UNIQUE) \(([^]*))$`,
);

function unlocked(sql: string, table: string): readonly string[] | null {
  const index = /^CREATE (UNIQUE )?INDEX ([^]*)$/.exec(sql);
  if (index !== null) return [`CREATE ${index[1] ?? ""}INDEX CONCURRENTLY ${index[2]}`];
  const alter = `ALTER TABLE ${table}`;
  const action = sql.startsWith(alter) ? sql.slice(alter.length + 1) : "";
  const [, column] = new RegExp(`^ALTER COLUMN (${name}) SET NOT NULL$`).exec(action) ?? [];
  if (column !== undefined) {
    const check = nameOf(table, column, "present");
    return [
      `${alter} ADD CONSTRAINT ${check} CHECK (${column} IS NOT NULL) NOT VALID`,
      `${alter} VALIDATE CONSTRAINT ${check}`,
      // The valid check excludes NULL, so Postgres does not read the rows again.
      sql,
      `${alter} DROP CONSTRAINT ${check}`,
    ];
  }
  const [, given, constraint = "", kind = "", rest = ""] = added.exec(action) ?? [];
  if (constraint === "") return null;
  const called = given ??
    nameOf(table, kind === "CHECK" ? rest : rest.split(")")[0] ?? "", suffixes[kind] ?? "");
  if (kind === "UNIQUE") {
    return [
      `CREATE UNIQUE INDEX CONCURRENTLY ${called} ON ${table} (${rest}`,
      `${alter} ADD CONSTRAINT ${called} UNIQUE USING INDEX ${called}`,
    ];
  }
  return [
    `${alter} ADD CONSTRAINT ${called} ${constraint} NOT VALID`,
    `${alter} VALIDATE CONSTRAINT ${called}`,
  ];
}

const suffixes: Readonly<Record<string, string>> = {
  "CHECK": "check",
  "FOREIGN KEY": "fkey",
  "UNIQUE": "key",
};

function nameOf(table: string, columns: string, suffix: string): string {
  const quoted = [...`${table.split(".").at(-1)} ${columns}`.matchAll(/"((?:[^"]|"")*)"/g)];
  const names = [...new Set(quoted.map(([, name = ""]) => name.replaceAll('""', '"')))];
  // A table can have several checks of the same columns, so their names also contain a hash.
  const parts = suffix === "check" ? [...names, hashOf([columns])] : names;
  return quoteIdentifier(constraintName(parts, suffix));
}
