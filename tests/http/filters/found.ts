import type { Connection } from "../../../exports/driver.ts";
import { type Case, engineOf, type Stand } from "./cases.ts";
import { pairsSql, type Sight, sqlOf } from "./filter_sql.ts";
import { model, relationOf, type TableName, tableNames } from "./model.ts";
import { keptSql, rightOf } from "./tables.ts";

/** The keys of the rows that pass. No relation of a scope leads to the person `unreached`. */
export async function passing(
  connection: Connection,
  engine: Sight["engine"],
  { table, tree, reader, scope }: Omit<Case, "form" | "seed">,
  unreached: number | null = null,
): Promise<{ readonly keys: readonly (readonly unknown[])[]; readonly rows: number }> {
  const everything = { engine, visible: () => null } as const;
  const right = (table: TableName, alias: string) =>
    scope?.table === table
      ? sqlOf(scope.tree, table, alias, everything)
      : rightOf(reader, table).sql(alias);
  // A scope is about all rows, whatever the user may read.
  const isScope = scope === null && reader === "";
  const condition = sqlOf(tree, table, "a", {
    engine,
    visible: (table, alias) =>
      isScope
        ? unreached === null || table !== "people" ? null : `${alias}."id" <> ${unreached}`
        : `((${right(table, alias)}) AND ${keptSql(table, alias)})`,
  });
  const columns = keySql(table, "a");
  const { rows } = await connection.query({
    text: `SELECT ${columns}, CASE WHEN ${condition} THEN 1 ELSE 0 END FROM "${table}" AS a
      WHERE (${right(table, "a")}) AND ${keptSql(table, "a")}`,
    values: [],
  });
  const found = rows.filter((cells) => Number(cells.at(-1)) === 1);
  return { keys: found.map((cells) => keyOf(table, cells)).sort(), rows: rows.length };
}

function keySql(table: TableName, alias: string): readonly string[] {
  return model[table].key.map((name) => `${alias}."${model[table].columns[name]!.db}"`);
}

/** As JSON has it: a driver may read an integer as a bigint. */
function keyOf(table: TableName, cells: readonly unknown[]): readonly unknown[] {
  return model[table].key.map((name, index) =>
    model[table].columns[name]!.kind === "integer" ? Number(cells[index]) : cells[index]
  );
}

/** A relation to many rows, whose table the filter is about. */
interface Inclusion {
  readonly from: TableName;
  readonly name: string;
}

/** The relations to many rows of a table. */
const toMany: Readonly<Partial<Record<TableName, readonly string[]>>> = {
  people: ["reports", "mates", "some", "clubs", "seats"],
  orgs: ["people", "posts", "members"],
  posts: ["tags"],
  tags: ["posts"],
};

/** The relation by which rows of a table are included; null for a table without one. */
export function inclusionOf(table: TableName, seed: number): Inclusion | null {
  const fitting = tableNames.flatMap((from) =>
    (toMany[from] ?? []).filter((name) => relationOf(from, name).to === table)
      .map((name) => ({ from, name }))
  );
  return fitting[seed % fitting.length] ?? null;
}

/** The keys of each row and of the rows that it includes, by plain SQL. */
export async function includedBySql({ db }: Stand, { table, tree, reader, seed }: Case) {
  const engine = engineOf(db);
  const seen = (table: TableName, alias: string) =>
    `((${rightOf(reader, table).sql(alias)}) AND ${keptSql(table, alias)})`;
  const { from, name } = inclusionOf(table, seed)!;
  const { on, via } = relationOf(from, name);
  const joins = via === undefined ? pairsSql(on, "owner", "item") : [
    ...pairsSql(on, "owner", "link"),
    ...pairsSql(via.on, "link", "item"),
    seen(via.table, "link"),
  ];
  const columns = [...keySql(from, "owner"), ...keySql(table, "item")];
  const condition = sqlOf(tree, table, "item", { engine, visible: seen });
  const link = via === undefined ? "" : `CROSS JOIN "${via.table}" AS link`;
  const { rows } = await db.driver.query({
    text: `SELECT DISTINCT ${columns} FROM "${from}" AS owner CROSS JOIN "${table}" AS item ${link}
      WHERE ${[...joins, seen(from, "owner"), seen(table, "item"), condition].join(" AND ")}`,
    values: [],
  });
  const count = model[from].key.length;
  const keys = rows.map((cells) => [...keyOf(from, cells), ...keyOf(table, cells.slice(count))]);
  return { outcome: JSON.stringify(keys.sort()), rows: Infinity, found: rows.length };
}
