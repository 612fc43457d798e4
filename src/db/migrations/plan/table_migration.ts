import { quoteIdentifier, sqlName } from "../../../sql/fragment.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import type { Connection } from "../../driver.ts";
import type { PlanningFacts } from "../../engine/migration_facts.ts";
import type { PairedTable } from "../compare/compare_tables.ts";
import type { Difference } from "../compare/difference.ts";
import { isSameName, type TableShape } from "../compare/table_shape.ts";
import type { MigrationRights, MigrationStep, PossibleRename } from "../migration_plan.ts";

/** What changes in one existing table, and what its plan is made from. */
export class TableMigration {
  /** The table, whatever it is called now. */
  readonly pair: PairedTable;
  /** Those of this table. */
  readonly differences: readonly Difference[];
  /** True if there is any row in it. */
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

  /** Its name in paths and for `allowDrop`. */
  get label(): string {
    return this.pair.table.label;
  }

  /** Its new name as SQL. */
  get name(): string {
    return sqlName(this.pair.shape);
  }

  /** The differences of one kind. */
  of<Kind extends Difference["kind"]>(kind: Kind): readonly Extract<Difference, { kind: Kind }>[] {
    return this.differences.filter((one): one is Extract<Difference, { kind: Kind }> =>
      one.kind === kind
    );
  }

  /** Returns true if what is called `name` in this table may be lost. */
  mayLose(name: string): boolean {
    return isNamed(this.#context.rights.allowDrop, `${this.label}.${name}`);
  }

  /** Returns true if a column that is not declared was said to stay. */
  isKept(name: string): boolean {
    return isNamed(this.#context.rights.keep, `${this.label}.${name}`);
  }

  refuse(reason: string): void {
    this.#context.refusals.push(reason);
  }

  ask(question: PossibleRename): void {
    this.#context.questions.push(question);
  }

  /** Columns that are declared under new names, and which the table has under both. */
  get twins(): readonly PossibleRename[] {
    const { table, shape, existing } = this.pair;
    const has = (name: string) => existing.columns.some((one) => one.name === name);
    return shape.columns.flatMap(({ name }) => {
      const from = table.columns.find(({ dbName }) => dbName === name)?.formerName ?? null;
      return from !== null && from !== name && has(from) && has(name)
        ? [{ table: this.label, from, to: name }]
        : [];
    });
  }

  /** Returns true if a new column may be one that is declared no more, under its new name. */
  mayBeRename(name: string): boolean {
    return this.#context.questions.some(({ table, to }) => table === this.label && to === name);
  }

  leave(notice: string): void {
    this.#context.left.push(notice);
  }

  /** Returns true if a row of the existing table meets a condition, in which columns have their new names. */
  async hasRowWith(condition: string): Promise<boolean> {
    if (!this.hasRows) return false;
    const { connection } = this.#context;
    const text = `SELECT 1 FROM ${this.#rows()} WHERE ${condition} LIMIT 1`;
    return (await connection.query({ text, values: [] })).rows.length > 0;
  }

  /** Returns true if several rows, of those that `where` is about, share the values of these columns: no NULL. */
  async sharesValues(columns: readonly string[], where: string | null = null): Promise<boolean> {
    const names = columns.map(quoteIdentifier);
    const conditions = names.map((name) => `${name} IS NOT NULL`);
    if (where !== null) conditions.push(`(${where}\n)`);
    const present = conditions.join(" AND ");
    return await this.hasRowWith(`${present} GROUP BY ${names.join(", ")} HAVING count(*) > 1`);
  }

  /** The rows as they are now, under the new names; columns that are added have their defaults. */
  #rows(): string {
    const { existing, columns } = this.pair;
    const present = existing.columns.map((column) => {
      const to = [...columns.renamed].find(([, from]) => from === column.name)?.[0] ?? column.name;
      return `${quoteIdentifier(column.name)} AS ${quoteIdentifier(to)}`;
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

/** What all tables of a plan share. */
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

/** Returns true if a name is among those that were given. */
export function isNamed(names: readonly string[], name: string): boolean {
  return names.some((one) => isSameName(one, name));
}

/** A statement that loses nothing. */
export function step(sql: string, purpose: string, loses: string | null = null): MigrationStep {
  return { sql, purpose, loses };
}

/** A statement that alters a table. */
export function alter(
  { name, label }: Pick<TableMigration, "name" | "label">,
  action: string,
  purpose: string,
  loses: string | null = null,
): MigrationStep {
  return step(`ALTER TABLE ${name} ${action}`, `${label}: ${purpose}`, loses);
}

/** The names of the indexes that are missing. */
export function wantedNames(table: TableMigration): ReadonlySet<string | null> {
  return new Set(
    [...table.of("missing-index"), ...table.of("missing-unique")].map(({ declared }) =>
      declared.name
    ),
  );
}

/** Those that may be dropped, and those whose name another one takes. */
export function droppedIndexes(table: TableMigration): readonly string[] {
  const wanted = wantedNames(table);
  return table.of("superfluous-index").flatMap(({ existing: { name } }) =>
    wanted.has(name) || table.mayLose(name) ? [name] : []
  );
}

/** The steps that create the indexes of a new table, those that keep columns distinct included. */
export function createdIndexes({ name, indexes, uniques }: TableShape): readonly MigrationStep[] {
  const all = [
    ...indexes.map(({ name, sql }) => [name, sql]),
    ...uniques.map((one) => [one.name, one.index]),
  ];
  return all.flatMap(([called, sql]) =>
    typeof sql === "string" ? [step(sql, `${name}: add the index ${called}`)] : []
  );
}

/** The steps that add indexes, those that keep columns distinct included. */
export function addedIndexes(table: TableMigration): readonly MigrationStep[] {
  const uniques = table.of("missing-unique").flatMap(({ declared: { name, index } }) =>
    index === null ? [] : [{ name, sql: index }]
  );
  return [...table.of("missing-index").map(({ declared }) => declared), ...uniques].map((one) =>
    step(one.sql, `${table.label}: add the index ${one.name}`)
  );
}

/** Tables in the order in which they can be renamed: a name is free once its table has another one. */
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
