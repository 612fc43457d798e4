import type { IndexInfo, ReferentialAction } from "../table_constraints.ts";
import type { ForeignKey } from "../table_info.ts";
import { isDrizzleSql, sqlTextOf } from "./drizzle_sql.ts";
import {
  columnsKey,
  dbNameOf,
  type DrizzleColumn,
  type DrizzleTable,
  entityKindOf,
  extraColumnsKey,
  extraConfigKey,
  nameKey,
  postgresForeignKeysKey,
  schemaKey,
  sqliteForeignKeysKey,
} from "./drizzle_structure.ts";

/** `primaryKey` is null if only a column declares it. Call `foreignKeys` after all declarations. */
export function readDrizzleConstraints(table: DrizzleTable) {
  const builders = extraBuilders(table);
  const of = (kind: string) => builders.flatMap((one) => one.kind === kind ? one.builder : []);
  const [key] = of("PrimaryKeyBuilder");
  const indexes = of("IndexBuilder").map(({ config }) => config);
  return {
    primaryKey: key === undefined ? null : namesOf(key.columns, table),
    uniques: [
      ...of("UniqueConstraintBuilder").map(({ columns }) => namesOf(columns, table)),
      ...indexes.filter(isUnconditional).map(({ columns }) => namesOf(columns, table)),
    ],
    indexes: indexes.flatMap((index) => isUnconditional(index) ? [] : describeIndex(index, table)),
    checks: of("CheckBuilder").flatMap(({ name = null, value }) =>
      isDrizzleSql(value) ? [{ name, sql: sqlTextOf(value) }] : []
    ),
    foreignKeys: () => [
      ...(table[sqliteForeignKeysKey] ?? table[postgresForeignKeysKey] ?? []).map((key) =>
        foreignKey(key.reference(), key)
      ),
      ...of("ForeignKeyBuilder").map((key) =>
        foreignKey(key.reference(), { onDelete: key._onDelete, onUpdate: key._onUpdate })
      ),
    ],
  };
}

interface ConstraintBuilder {
  readonly name?: string;
  readonly columns: readonly unknown[];
  readonly value?: unknown;
  readonly config: IndexConfig;
  reference(): References;
  readonly _onDelete?: string;
  readonly _onUpdate?: string;
}

interface IndexConfig {
  readonly name?: string;
  readonly columns: readonly unknown[];
  readonly unique: boolean;
  readonly where?: unknown;
}

interface References {
  readonly columns: readonly DrizzleColumn[];
  readonly foreignColumns: readonly DrizzleColumn[];
}

function extraBuilders(table: DrizzleTable) {
  const given = table[extraConfigKey]?.(table[extraColumnsKey] ?? table[columnsKey]);
  if (typeof given !== "object" || given === null) return [];
  const entries: readonly unknown[] = Array.isArray(given) ? given.flat() : Object.values(given);
  return entries.flatMap((entry) => {
    const kind = entityKindOf(entry)?.replace(/^(SQLite|Pg)/, "");
    // The cast is safe: every member is optional, and `kind` says which of them exist.
    return kind === undefined ? [] : [{ kind, builder: entry as ConstraintBuilder }];
  });
}

function isUnconditional({ unique, where, columns }: IndexConfig): boolean {
  return unique && where === undefined && columns.filter(isNamed).length === columns.length;
}

function describeIndex(
  { name, columns, unique, where }: IndexConfig,
  table: DrizzleTable,
): readonly IndexInfo[] {
  const names = namesOf(columns, table);
  if (names.length < columns.length) return [];
  return [{
    name: name ?? [table[nameKey], ...names, "index"].join("_"),
    columns: names,
    unique,
    where: isDrizzleSql(where) ? sqlTextOf(where) : null,
  }];
}

function namesOf(columns: readonly unknown[], table: DrizzleTable): readonly string[] {
  return columns.filter(isNamed).map((column) => dbNameOf(column, table));
}

function isNamed(column: unknown): column is Pick<DrizzleColumn, "name" | "keyAsName"> {
  return typeof column === "object" && column !== null && "name" in column &&
    typeof column.name === "string";
}

function foreignKey(
  { columns, foreignColumns }: References,
  actions: { readonly onDelete?: string | undefined; readonly onUpdate?: string | undefined },
): ForeignKey {
  const [target] = foreignColumns;
  if (target === undefined) throw new Error("A foreign key of Drizzle refers to no column");
  return {
    columns: columns.map((column) => dbNameOf(column, column.table)),
    schema: target.table[schemaKey] ?? null,
    table: target.table[nameKey],
    references: foreignColumns.map((column) => dbNameOf(column, column.table)),
    onDelete: actionOf(actions.onDelete),
    onUpdate: actionOf(actions.onUpdate),
  };
}

function actionOf(action: string | undefined): ReferentialAction | null {
  return actions.find((known) => known === action) ?? null;
}

const actions = ["cascade", "restrict", "set null", "set default"] as const;
