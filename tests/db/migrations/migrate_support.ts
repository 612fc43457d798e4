import { integer } from "../../../src/schema/column_builder.ts";
import type { Database } from "../../../src/db/database.ts";

export async function run(db: Database, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) await db.query({ text, values: [] });
}

export async function read(
  db: Database,
  text: string,
): Promise<readonly (readonly unknown[])[]> {
  return (await db.query({ text, values: [] })).rows;
}

export const key = () => integer().primaryKey();
