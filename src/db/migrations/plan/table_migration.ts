import { isSameName, quoteIdentifier, sqlName } from "../../../sql/fragment.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import { DatabaseError, fullReasonOf } from "../../database_error.ts";
import { runInSavepoint } from "../../database_handle.ts";
import type { Connection } from "../../driver.ts";
import type { PlanningFacts } from "../../engine/migration_facts.ts";
import type { PairedTable } from "../compare/compare_tables.ts";
import type { Difference } from "../compare/difference.ts";
import type { TableShape } from "../compare/table_shape.ts";
import type { MigrationRights, MigrationStep, PossibleRename } from "../migration_plan.ts";

export class TableMigration {
  readonly pair: PairedTable;
  readonly differences: readonly Difference[];
  readonly hasRows: boolean;
  readonly dialect: Dialect;
  readonly planning: PlanningFacts;
  readonly #context: PlanContext;

  constructor(pair: PairedTable, context: PlanContext, hasRows: boolean) {
    this.pair = pair;
    this.hasRows = hasRows;
    this.dialect = context.dialect;
    this.planning = context.planning;
    this.differences = context.differences.filter(({ table }) => table === pair.table.label);
    this.#context = context;
  }

  get label(): string {
    return this.pair.table.label;
  }

  get name(): string {
    return sqlName(this.pair.shape);
  }

  of<Kind extends Difference["kind"]>(kind: Kind): readonly Extract<Difference, { kind: Kind }>[] {
    return this.differences.filter((one): one is Extract<Difference, { kind: Kind }> =>
      one.kind === kind
    );
  }

  mayLose(name: string): boolean {
    return includesName(this.#context.rights.allowDrop, `${this.label}.${name}`);
  }

  isKept(name: string): boolean {
    return includesName(this.#context.rights.keep, `${this.label}.${name}`);
  }

  refuse(reason: string): void {
    this.#context.refusals.push(reason);
  }

  ask(question: PossibleRename): void {
    this.#context.questions.push(question);
  }

  /** The renames that cannot be made, because the table has both the old and the new column. */
  get conflictingRenames(): readonly PossibleRename[] {
    const { table, shape, existing } = this.pair;
    const has = (name: string) => existing.columns.some((one) => one.name === name);
    return shape.columns.flatMap(({ name }) => {
      const from = table.columns.find(({ dbName }) => dbName === name)?.formerName ?? null;
      return from !== null && from !== name && has(from) && has(name)
        ? [{ table: this.label, from, to: name }]
        : [];
    });
  }

  mayBeRename(name: string): boolean {
    return this.#context.questions.some(({ table, to }) => table === this.label && to === name);
  }

  leave(notice: string): void {
    this.#context.left.push(notice);
  }

  async hasRowWith(condition: string, isRetyped: Retyped = () => false): Promise<boolean> {
    if (!this.hasRows) return false;
    const { connection } = this.#context;
    const text = `SELECT 1 FROM ${this.#rows(isRetyped)} WHERE ${condition} LIMIT 1`;
    return (await connection.query({ text, values: [] })).rows.length > 0;
  }

  /** Returns why the database cannot convert the column's values. Null if it can convert all. */
  async conversionFault(column: string): Promise<string | null> {
    if (!this.planning.castsCanFail) return null;
    const rows = this.#rows((name) => name === column);
    const { connection } = this.#context;
    const text = `SELECT count(${quoteIdentifier(column)}) FROM ${rows}`;
    try {
      await runInSavepoint(
        connection,
        "conversion",
        async () => await connection.query({ text, values: [] }),
      );
      return null;
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== "invalid-value") throw error;
      return `the database cannot convert each value (${fullReasonOf(error)})`;
    }
  }

  /** Returns true if two rows that meet `where` have equal non-NULL values in all these columns. */
  async sharesValues(
    columns: readonly string[],
    where: string | null = null,
    isRetyped: Retyped = () => false,
  ): Promise<boolean> {
    const names = columns.map(quoteIdentifier);
    const conditions = names.map((name) => `${name} IS NOT NULL`);
    if (where !== null) conditions.push(`(${where}\n)`);
    const present = conditions.join(" AND ");
    const groups = `GROUP BY ${names.join(", ")} HAVING count(*) > 1`;
    return await this.hasRowWith(`${present} ${groups}`, isRetyped);
  }

  /** Returns a subquery of the rows, with the declared names, and with defaults in new columns. */
  #rows(isRetyped: Retyped): string {
    const { existing, columns } = this.pair;
    const present = existing.columns.map((column) => {
      const to = [...columns.renamed].find(([, from]) => from === column.name)?.[0] ?? column.name;
      const name = quoteIdentifier(column.name);
      const change = isRetyped(to) ? this.of("type").find((one) => one.column === to) : undefined;
      const value = change === undefined
        ? name
        : this.planning.conversion(name, change.existing, change.declared);
      return `${value} AS ${quoteIdentifier(to)}`;
    });
    const added = columns.missing.filter(({ generated }) => generated === null).map((column) => {
      const value = column.default === null ? "NULL" : `(${column.default})`;
      return `${this.planning.cast(value, column.type)} AS ${quoteIdentifier(column.name)}`;
    });
    const from = sqlName(existing);
    return `(SELECT ${[...present, ...added].join(", ")} FROM ${from}) AS ${
      quoteIdentifier(existing.name)
    }`;
  }
}

type Retyped = (column: string) => boolean;

export interface PlanContext {
  readonly connection: Connection;
  readonly planning: PlanningFacts;
  readonly dialect: Dialect;
  readonly rights: MigrationRights;
  readonly differences: readonly Difference[];
  readonly refusals: string[];
  readonly questions: PossibleRename[];
  readonly left: string[];
}

export function includesName(names: readonly string[], name: string): boolean {
  return names.some((one) => isSameName(one, name));
}

export function newStep(sql: string, purpose: string, loses: string | null = null): MigrationStep {
  return { sql, purpose, loses, lock: null };
}

export function alter(
  { name, label }: Pick<TableMigration, "name" | "label">,
  action: string,
  purpose: string,
  loses: string | null = null,
): MigrationStep {
  return newStep(`ALTER TABLE ${name} ${action}`, `${label}: ${purpose}`, loses);
}

export function renameSteps(table: TableMigration): readonly MigrationStep[] {
  const { existing, shape, columns: { renamed } } = table.pair;
  const target = quoteIdentifier(shape.name);
  const rename = `ALTER TABLE ${sqlName(existing)} RENAME TO ${target}`;
  return [
    ...table.of("renamed-table").map(() =>
      newStep(rename, `${table.label}: rename from ${existing.name}`)
    ),
    ...[...renamed].map(([to, from]) => {
      const action = `RENAME COLUMN ${quoteIdentifier(from)} TO ${quoteIdentifier(to)}`;
      return alter(table, action, `rename ${from} to ${to}`);
    }),
  ];
}

export function dropIndex({ label, pair }: TableMigration, name: string): MigrationStep {
  const { schema } = pair.shape;
  return newStep(`DROP INDEX ${sqlName({ schema, name })}`, `${label}: drop the index ${name}`);
}

export function missingIndexNames(table: TableMigration): ReadonlySet<string | null> {
  return new Set(
    [...table.of("missing-index"), ...table.of("missing-unique")].map(({ declared }) =>
      declared.name
    ),
  );
}

export function indexesToDrop(table: TableMigration): readonly string[] {
  const wanted = missingIndexNames(table);
  return table.of("superfluous-index").flatMap(({ existing: { name } }) =>
    wanted.has(name) || table.mayLose(name) ? [name] : []
  );
}

export function createIndexSteps({ name, indexes, uniques }: TableShape): readonly MigrationStep[] {
  const all = [
    ...indexes.map(({ name, sql }) => [name, sql]),
    ...uniques.map((one) => [one.name, one.index]),
  ];
  return all.flatMap(([called, sql]) =>
    typeof sql === "string" ? [newStep(sql, `${name}: add the index ${called}`)] : []
  );
}

export function addIndexSteps(table: TableMigration): readonly MigrationStep[] {
  const uniques = table.of("missing-unique").flatMap(({ declared: { name, index } }) =>
    index === null ? [] : [{ name, sql: index }]
  );
  return [...table.of("missing-index").map(({ declared }) => declared), ...uniques].map((one) =>
    newStep(one.sql, `${table.label}: add the index ${one.name}`)
  );
}

/** Orders tables for renames, so that each new name is free when its table is renamed. */
export function inRenameOrder(tables: readonly TableMigration[]): readonly TableMigration[] {
  const ordered = new Set<TableMigration>();
  const visit = (table: TableMigration, above: readonly TableMigration[]) => {
    if (ordered.has(table) || above.includes(table)) return;
    const inPlace = tables.find((one) =>
      one !== table && one.pair.existing.schema === table.pair.shape.schema &&
      isSameName(one.pair.existing.name, table.pair.shape.name)
    );
    if (inPlace !== undefined) visit(inPlace, [...above, table]);
    ordered.add(table);
  };
  for (const table of tables) visit(table, []);
  return [...ordered];
}
