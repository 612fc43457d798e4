import type { Dialect } from "../../../sql/dialect.ts";
import type { Connection } from "../../driver.ts";
import { postgresShapes } from "../../../engines/postgres/migrations/postgres_shapes.ts";
import { sqliteShapes } from "../../../engines/sqlite/migrations/sqlite_shapes.ts";
import type { ExistingShapes, TableName } from "./table_shape.ts";

/** Reads the shapes of the tables with these names, as far as the database has them. */
export function existingShapes(
  connection: Connection,
  { engine }: Pick<Dialect, "engine">,
  names: readonly TableName[],
): Promise<ExistingShapes> {
  const read = engine === "sqlite" ? sqliteShapes : postgresShapes;
  return read(connection, names);
}
