import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { engineOf, type PolicyBypass, type RoleLimits } from "../engine/engine.ts";
import type { TableOfDriver } from "./check_tables.ts";
import type { Clock, Runtime } from "../../runtime/runtime.ts";

/** Facts about tables that only the database knows. {@link addTableFacts} fills the sets. */
export interface TableFacts {
  readonly indexed: Set<ColumnInfo>;
  /** The tables whose definitions contain ON CONFLICT, such as ON CONFLICT REPLACE. */
  readonly conflicting: Set<TableInfo>;
  /** The tables in which no trigger or rule changes a row after the statement that writes it. */
  readonly final: Set<TableInfo>;
  /** The tables whose triggers and rules change nothing if a statement writes no row. */
  readonly withoutEffects: Set<TableInfo>;
}

export function emptyTableFacts(): TableFacts {
  return {
    indexed: new Set(),
    conflicting: new Set(),
    final: new Set(),
    withoutEffects: new Set(),
  };
}

/** Adds the facts about tables. For an unreachable database, adds only what is safe to assume. */
export async function addTableFacts(
  served: readonly TableOfDriver[],
  facts: TableFacts,
): Promise<void> {
  const byDriver = Map.groupBy(served, ({ driver }) => driver);
  for (const [driver, some] of byDriver) {
    await addFactsOf(driver, some.map(({ table }) => table), facts);
  }
}

async function addFactsOf(
  driver: Driver,
  tables: readonly TableInfo[],
  { indexed, conflicting, final, withoutEffects }: TableFacts,
): Promise<void> {
  const { catalog } = engineOf(driver);
  for (const table of await catalog.conflictTables(driver, tables)) conflicting.add(table);
  const leading = await listed(driver.dialect.leadingColumns, driver);
  const changing = await listed(catalog.tablesWithLaterChanges, driver);
  const affecting = await listed(catalog.tablesWithEffectsAlone, driver);
  for (const table of tables) {
    const { schema, name, columns, primaryKey } = table;
    if (changing?.has(JSON.stringify([schema, name])) === false) final.add(table);
    if (affecting?.has(JSON.stringify([schema, name])) === false) withoutEffects.add(table);
    for (const column of leading === null ? [] : columns) {
      const isFirst = leading?.has(JSON.stringify([schema, name, column.dbName]));
      if (isFirst || column === primaryKey[0]) indexed.add(column);
    }
  }
}

async function listed(text: string | null, driver: Driver): Promise<ReadonlySet<string> | null> {
  if (text === null) return null;
  try {
    const { rows } = await driver.query({ text, values: [] });
    return new Set(rows.map((row) => JSON.stringify(row)));
  } catch (error) {
    if (error instanceof DatabaseError) return null;
    throw error;
  }
}

/** Reads the limits of the service's role: unreadable columns, and policies that hide rows. */
export async function readRoleLimits(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<ReadonlyMap<TableInfo, RoleLimits>> {
  const { roles } = engineOf(driver);
  return roles === null || tables.length === 0 ? new Map() : await roles.limits(driver, tables);
}

/** Reads the policies that the service's role bypasses. Empty if the database does not respond. */
export async function readPolicyBypasses(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<ReadonlyMap<TableInfo, readonly PolicyBypass[]>> {
  try {
    return await engineOf(driver).roles?.bypasses(driver, tables) ?? new Map();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return new Map();
  }
}

const roleRecheckMs = 60_000;

/** The rights of database roles, which the service applies to change events and search results. */
export class RoleRights {
  readonly #tables: ReadonlyMap<Driver, ReadonlySet<TableInfo>>;
  readonly #known = new Map<TableInfo, RoleLimits | null>();
  readonly reportedBypasses: Set<string> = new Set();
  readonly #clock: Clock;
  #readAtMs = 0;
  #reading: Promise<void> | null = null;

  constructor(served: readonly TableOfDriver[], { clock }: Pick<Runtime, "clock">) {
    this.#clock = clock;
    const byDriver = Map.groupBy(served, ({ driver }) => driver);
    this.#tables = new Map(
      [...byDriver].map(([driver, some]) => [driver, new Set(some.map(({ table }) => table))]),
    );
  }

  get mayChange(): boolean {
    return [...this.#tables.keys()].some((driver) => engineOf(driver).roles !== null);
  }

  /** Reads all limits. If a database does not respond, rejects and keeps the known limits. */
  read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => this.#reading = null);
    return this.#reading;
  }

  /** Reads all limits again. First waits for a running read, whose result can be outdated. */
  async readAgain(): Promise<void> {
    await this.#reading?.catch(() => {});
    await this.read();
  }

  async readFirst(): Promise<void> {
    try {
      await this.read();
    } catch (error) {
      // The limits stay unknown for now. They are read before the first stream opens.
      if (!(error instanceof DatabaseError)) throw error;
    }
  }

  /** Returns the known limits of a table, null if it has none, or undefined if they are unknown. */
  known(table: TableInfo): RoleLimits | null | undefined {
    return this.#known.get(table);
  }

  async of(table: TableInfo): Promise<RoleLimits | null> {
    const isOld = this.#clock.elapsedMs() - this.#readAtMs > roleRecheckMs;
    if (isOld || !this.#known.has(table)) await this.read();
    return this.#known.get(table) ?? null;
  }

  async #readAll(): Promise<void> {
    const atMs = this.#clock.elapsedMs();
    await Promise.all([...this.#tables].map(([driver, tables]) => this.#read(driver, tables)));
    this.#readAtMs = atMs;
  }

  async #read(driver: Driver, tables: ReadonlySet<TableInfo>): Promise<void> {
    const limits = await readRoleLimits(driver, [...tables]);
    for (const table of tables) this.#known.set(table, limits.get(table) ?? null);
  }
}
