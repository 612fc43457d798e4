import type { Observer } from "../../runtime/runtime.ts";
import { nameColumns } from "../../schema/drizzle/name_columns.ts";
import { isTableLike } from "../../schema/table_like.ts";
import { openDatabase } from "../open_database.ts";
import { casingOf } from "../../db/drizzle/drizzle_casing.ts";
import { type DrizzleDatabase, isDrizzleDatabase } from "../../db/drizzle/drizzle_database.ts";
import type { Database } from "../../db/database.ts";

interface GivenConfig {
  readonly db: Database | DrizzleDatabase;
  readonly resources: readonly {
    readonly table: unknown;
    readonly options: {
      readonly relations?:
        | Readonly<Record<string, { readonly resource: unknown; readonly through?: unknown }>>
        | undefined;
    };
  }[];
}

/** If `db` is a Drizzle database, opens its file or server, with Drizzle's column names. */
export async function openDrizzleOfConfig<Config extends GivenConfig>(
  config: Config,
  { observe }: { readonly observe: Observer },
): Promise<Config & { readonly db: Database }> {
  const { db } = config;
  if (!isDrizzleDatabase(db)) return { ...config, db };
  const casing = casingOf(db);
  if (casing !== null) nameColumns(tablesOf(config).filter(isTableLike), casing);
  return { ...config, db: await openDatabase(db, { observe }) };
}

function tablesOf({ resources }: GivenConfig): readonly unknown[] {
  return resources.flatMap(({ table, options }) => [
    table,
    ...Object.values(options.relations ?? {}).flatMap(({ resource, through }) => [
      resource,
      through,
    ]),
  ]);
}
