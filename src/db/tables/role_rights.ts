import type { Clock, Runtime } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { sqlName } from "../../engines/postgres/sql/change_log_schema.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { selectNamed } from "../named_columns.ts";
import type { TableOfDriver } from "./check_tables.ts";

/** The parts of one table that a database hides from the service's role. */
export interface RoleLimits {
  readonly role: string;
  /** True if policies decide which rows the role sees. */
  readonly hidesRows: boolean;
  /** The columns that the role may not read. */
  readonly unreadable: readonly ColumnInfo[];
  /** True if the table has row level security that does not apply to the role. */
  readonly isExempt: boolean;
}

/** Reads the limits of the role in these tables. SQLite has no roles. */
export async function readRoleLimits(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<ReadonlyMap<TableInfo, RoleLimits>> {
  if (driver.dialect.engine === "sqlite" || tables.length === 0) return new Map();
  const rows = await selectNamed(
    driver,
    {
      place: "t.place",
      role: "current_user",
      hasPolicies: "c.relrowsecurity",
      // The function considers owners, FORCE, BYPASSRLS and superusers.
      isActive: "row_security_active(c.oid)",
      unreadable: `(SELECT json_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid
        AND a.attnum > 0 AND NOT a.attisdropped
        AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT'))`,
    },
    `FROM json_array_elements_text($1::json) WITH ORDINALITY AS t(name, place)
     JOIN pg_class c ON c.oid = to_regclass(t.name)`,
    JSON.stringify(tables.map(sqlName)),
  );
  const limits = new Map<TableInfo, RoleLimits>();
  for (const row of rows) {
    const table = tables[Number(row.place) - 1];
    if (table === undefined) continue;
    const unreadable: readonly string[] = JSON.parse(String(row.unreadable ?? "[]"));
    limits.set(table, {
      role: String(row.role),
      hidesRows: row.isActive === "t",
      unreadable: table.columns.filter(({ dbName }) => unreadable.includes(dbName)),
      isExempt: row.hasPolicies === "t" && row.isActive !== "t",
    });
  }
  return limits;
}

/** The maximum age of the limits that decide a request, in milliseconds. */
const roleRecheckMs = 60_000;

/**
 * The last known limits of the roles in an app's databases. Results of the role's own statements
 * obey them automatically. Images of a change log, a search index and the statistics of a table do
 * not.
 */
export class RoleRights {
  readonly #tables: ReadonlyMap<Driver, ReadonlySet<TableInfo>>;
  /** The limits by table, or null if there are none. */
  readonly #known = new Map<TableInfo, RoleLimits | null>();
  readonly #clock: Clock;
  #readAtMs = 0;
  #reading: Promise<void> | null = null;

  /** Creates the collection, in which nothing is known yet. */
  constructor(served: readonly TableOfDriver[], { clock }: Pick<Runtime, "clock">) {
    this.#clock = clock;
    const byDriver = Map.groupBy(served, ({ driver }) => driver);
    this.#tables = new Map(
      [...byDriver].map(([driver, some]) => [driver, new Set(some.map(({ table }) => table))]),
    );
  }

  /** True if a database has roles. */
  get mayChange(): boolean {
    return [...this.#tables.keys()].some(({ dialect }) => dialect.engine !== "sqlite");
  }

  /** Reads all limits. If a database does not respond, it rejects and keeps the known ones. */
  read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => this.#reading = null);
    return this.#reading;
  }

  /** Reads all limits again. A read in progress may have started before a change. */
  async readAgain(): Promise<void> {
    await this.#reading?.catch(() => {});
    await this.read();
  }

  /** Reads all limits at the start, when a database may not be reachable yet. */
  async readFirst(): Promise<void> {
    try {
      await this.read();
    } catch (error) {
      // The limits stay unknown, and are read before the first stream.
      if (!(error instanceof DatabaseError)) throw error;
    }
  }

  /** Returns the known limits of a table, null for none, and undefined if they are unknown. */
  known(table: TableInfo): RoleLimits | null | undefined {
    return this.#known.get(table);
  }

  /** Returns the limits of a table. Reads unknown ones, and those older than a minute. */
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
