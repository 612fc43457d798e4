import type { Connection } from "../../../../src/db/driver.ts";
import { DatabaseError } from "../../../../src/db/database_error.ts";
import { kinds } from "../../../../src/schema/kind_of.ts";
import type { ColumnInfo } from "../../../../src/schema/table_info.ts";
import type { SqlValue } from "../../../../src/sql/fragment.ts";
import { statement } from "../../../support/scratch.ts";
import type { Chance } from "../chance.ts";
import { tables, undoneMark } from "./world.ts";
import { codes, edited, maxThings, owners, thing, valueFor } from "./write_values.ts";
import type { Database } from "../../../../src/db/database.ts";

/** Writes by plain SQL, past all of the service; `between` runs before each statement. */
export async function writeBySql(
  db: Database,
  chance: Chance,
  between: (connection: Connection) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const script = new SqlScript(db, chance);
  try {
    await db.driver.transaction(async (connection) => {
      const turns = chance.once(3) ? 1 + chance.below(5) : 1;
      for (let turn = 0; turn < turns; turn++) {
        await between(connection);
        await script.write(connection);
      }
      if (!chance.once(6)) return;
      await script.markUndone(connection);
      throw takenBack;
    });
  } catch (error) {
    // A key that is taken, or that leads nowhere: then nothing of it was written.
    if (error !== takenBack && !(error instanceof DatabaseError && refusals.has(error.kind))) {
      throw error;
    }
  }
}

const takenBack = new Error("taken back on purpose");
const refusals: ReadonlySet<string> = new Set(["unique", "foreign-key", "retryable"]);

class SqlScript {
  readonly #db: Database;
  readonly #chance: Chance;

  constructor(db: Database, chance: Chance) {
    this.#db = db;
    this.#chance = chance;
  }

  write(connection: Connection): Promise<void> {
    const isSqlite = this.#db.dialect.engine === "sqlite";
    const path = this.#chance.weighted({
      ...{ many: 6, phases: 6, upsert: 4, replace: isSqlite ? 4 : 0, key: 3, cascade: 2 },
      ...{ resumeToken: 3, savepoint: 2, part: 4, one: 10 },
    });
    return this[path](connection);
  }

  /** Rows that the transaction takes back. */
  async markUndone(connection: Connection): Promise<void> {
    await this.#run(connection, "UPDATE things SET title = ? WHERE id < 20", `${undoneMark}a`);
    await this.#insert(connection, { id: 1_000 + this.#id(), title: `${undoneMark}b` });
  }

  async one(connection: Connection): Promise<void> {
    await this.#edit(connection, `id = ${this.#id()}`, this.#chance.sample(edited, 2));
  }

  async many(connection: Connection): Promise<void> {
    const chance = this.#chance;
    const which = chance.pick([`id % 3 = ${chance.below(3)}`, "age < 10", "ok IS NULL", "1 = 1"]);
    if (chance.once(6)) await this.#run(connection, `DELETE FROM things WHERE ${which} AND id > 9`);
    else await this.#edit(connection, which, chance.sample(edited, 1 + chance.below(3)));
  }

  /** A row is taken away, put back, edited in every column, and edited back. */
  async phases(connection: Connection): Promise<void> {
    const id = this.#id();
    await this.#run(connection, "DELETE FROM things WHERE id = ?", id);
    await this.#insert(connection, thing(this.#chance, id));
    await this.#edit(connection, `id = ${id}`, edited);
    await this.#edit(connection, `id = ${id}`, edited);
  }

  async upsert(connection: Connection): Promise<void> {
    const id = this.#id();
    await this.#insert(
      connection,
      { ...thing(this.#chance, id) },
      "INSERT",
      " ON CONFLICT (id) DO UPDATE SET title = excluded.title, owner_id = excluded.owner_id",
    );
  }

  async replace(connection: Connection): Promise<void> {
    await this.#insert(connection, thing(this.#chance, this.#id()), "INSERT OR REPLACE");
  }

  async key(connection: Connection): Promise<void> {
    const [from, to] = [this.#id(), this.#id()];
    await this.#run(connection, "UPDATE things SET id = ? WHERE id = ?", to, from);
  }

  async cascade(connection: Connection): Promise<void> {
    await this.#run(connection, "DELETE FROM things WHERE id IN (?, ?)", this.#id(), this.#id());
  }

  async resumeToken(connection: Connection): Promise<void> {
    const column = tables.things.byName.get("deletedAt");
    if (column === undefined) throw new Error("There is a mark");
    const at = this.#chance.once(2) ? null : "2024-01-01T00:00:00Z";
    const value = at === null ? null : this.#stored(at, column);
    await this.#run(connection, "UPDATE things SET deleted_at = ? WHERE id = ?", value, this.#id());
  }

  async savepoint(connection: Connection): Promise<void> {
    await this.one(connection);
    await this.#run(connection, "SAVEPOINT inner_part");
    await this.markUndone(connection);
    await this.#run(connection, "ROLLBACK TO SAVEPOINT inner_part");
    await this.#run(connection, "RELEASE SAVEPOINT inner_part");
    await this.one(connection);
  }

  async part(connection: Connection): Promise<void> {
    const chance = this.#chance;
    const [code, thingId] = [chance.pick(codes), this.#id()];
    switch (chance.weighted({ add: 4, move: 4, rename: 2, key: 1, remove: 1 })) {
      case "add":
        return await this.#run(
          connection,
          `INSERT INTO parts (code, thing_id, label)
           SELECT ?, id, 'new' FROM things WHERE id >= ${thingId} ORDER BY id LIMIT 1
           ON CONFLICT DO NOTHING`,
          code,
        );
      case "move":
        return await this.#run(
          connection,
          `UPDATE parts SET thing_id = (SELECT max(id) FROM things WHERE id <= ${thingId})
           WHERE code = ?`,
          code,
        );
      case "rename":
        return await this.#run(connection, "UPDATE parts SET label = ?", chance.pick(["a", "b"]));
      case "key":
        return await this.#run(
          connection,
          "UPDATE parts SET code = ? WHERE code = ?",
          chance.pick(codes),
          code,
        );
      case "remove":
        return await this.#run(connection, "DELETE FROM parts WHERE code = ?", code);
    }
  }

  #id(): number {
    return this.#chance.below(maxThings);
  }

  async #edit(
    connection: Connection,
    which: string,
    columns: readonly ColumnInfo[],
  ): Promise<void> {
    const settings = columns.map(({ dbName }) => `"${dbName}" = ?`);
    const values = columns.map((column) => this.#valueFor(column));
    if (this.#chance.once(3)) {
      settings.push("owner_id = ?");
      values.push(this.#chance.pick(owners));
    }
    const text = `UPDATE things SET ${settings.join(", ")} WHERE ${which}`;
    await this.#run(connection, text, ...values);
  }

  async #insert(
    connection: Connection,
    row: Readonly<Record<string, unknown>>,
    verb = "INSERT",
    rest = "",
  ): Promise<void> {
    const columns = tables.things.columns.filter(({ name }) => Object.hasOwn(row, name));
    await this.#run(
      connection,
      `${verb} INTO things (${columns.map(({ dbName }) => `"${dbName}"`).join(", ")})
       VALUES (${columns.map(() => "?").join(", ")})${rest}`,
      ...columns.map((column) => this.#stored(row[column.name], column)),
    );
  }

  #valueFor(column: ColumnInfo): SqlValue {
    return this.#stored(valueFor(column, this.#chance), column);
  }

  #stored(value: unknown, column: ColumnInfo): SqlValue {
    if (value === null) return null;
    const { dialect } = this.#db;
    return dialect.encode(kinds[column.kind].fromJson(value, column), column);
  }

  async #run(connection: Connection, text: string, ...values: SqlValue[]): Promise<void> {
    await connection.query(statement(this.#db.dialect, text, ...values));
  }
}
