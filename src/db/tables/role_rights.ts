import type { Clock, Runtime } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import { sqlName } from "../../engines/postgres/sql/change_log_schema.ts";
import { DatabaseError } from "../database_error.ts";
import type { Driver } from "../driver.ts";
import { selectNamed } from "../named_columns.ts";
import type { TableOfDriver } from "./check_tables.ts";

/** What a database keeps from the role of the service in one table. */
export interface RoleLimits {
  readonly role: string;
  /** True if policies decide which rows the role sees. */
  readonly hidesRows: boolean;
  /** The columns that the role may not read. */
  readonly unreadable: readonly ColumnInfo[];
  /** True if the table has row level security that does not apply to the role. */
  readonly isExempt: boolean;
}

/** Reads what a database keeps from its role in these tables. SQLite has no roles. */
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
      // It knows owners, FORCE, BYPASSRLS and superusers.
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

/** How old the limits may be that decide a request. */
const roleRecheckMs = 60_000;

/**
 * The limits of the roles that an app has in its databases, as they were read last. What statements
 * of the role return obeys them by itself; the images of a change log, a search index and the
 * statistics of a table do not.
 */
export class RoleRights {
  readonly #tables: ReadonlyMap<Driver, ReadonlySet<TableInfo>>;
  /** Null if nothing is kept from the role. */
  readonly #known = new Map<TableInfo, RoleLimits | null>();
  readonly #clock: Clock;
  #readAtMs = 0;
  #reading: Promise<void> | null = null;

  /** Nothing is known yet. */
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

  /** Reads all of them. Rejects where a database does not answer, and then keeps what was known. */
  read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => this.#reading = null);
    return this.#reading;
  }

  /** Reads all of them by a read that begins now: one that is under way may have begun before a change. */
  async readAgain(): Promise<void> {
    await this.#reading?.catch(() => {});
    await this.read();
  }

  /** The same at the start, when a database may not be there yet. */
  async readFirst(): Promise<void> {
    try {
      await this.read();
    } catch (error) {
      // It stays unknown, and is asked for before the first stream.
      if (!(error instanceof DatabaseError)) throw error;
    }
  }

  /** The limits in a table; null for none, undefined if they are not known yet. */
  known(table: TableInfo): RoleLimits | null | undefined {
    return this.#known.get(table);
  }

  /** The same, and reads what is not known, or was read more than a minute ago. */
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
