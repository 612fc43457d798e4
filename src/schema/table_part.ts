import { constraintName } from "./constraint_name.ts";
import type { CheckInfo, ForeignKeyActions, IndexInfo, SqlCondition } from "./table_constraints.ts";
import type { ForeignKey, TableInfo } from "./table_info.ts";
import { columnInfoOf, type ColumnLike, tableInfoOf } from "./table_like.ts";

/** A part of a table's declaration besides its columns, such as an index. */
export type TablePart =
  | {
    readonly kind: "index" | "unique";
    /** The columns of an index or of a unique set, at least one, in order. */
    readonly columns: readonly ColumnLike<unknown>[];
    /** The name in the database; null to derive it from the columns. */
    readonly name: string | null;
    readonly rows: SqlCondition | null;
  }
  | { readonly kind: "check"; readonly name: string | null; readonly condition: SqlCondition }
  /** The former name of the table, for migrations. */
  | { readonly kind: "formerName"; readonly name: string }
  | ForeignKeyPart;

/** A foreign key in the declaration of a table. */
export interface ForeignKeyPart {
  /** Distinguishes a foreign key from other parts. */
  readonly kind: "foreignKey";
  /** The referencing columns. */
  readonly columns: readonly ColumnLike<unknown>[];
  /** Returns the referenced columns, in the order of `columns`, when all tables are declared. */
  readonly references: () => readonly ColumnLike<unknown>[];
  /** The `ON DELETE` and `ON UPDATE` actions of the foreign key. */
  readonly actions: ForeignKeyActions;
}

export interface DeclaredConstraints
  extends Pick<TableInfo, "indexes" | "uniques" | "checks" | "formerName"> {
  readonly foreignKeys: readonly (() => ForeignKey)[];
}

/** For a table without a third argument. */
export const noConstraints: DeclaredConstraints = {
  ...{ indexes: [], uniques: [], checks: [], foreignKeys: [], formerName: null },
};

/**
 * Describes the constraints of a table, and adds missing indexes for foreign keys. A foreign key
 * needs an index unless a key, a unique set or an index begins with its columns: each delete of a
 * referenced row would otherwise read the whole table. `referencing` are the columns that are
 * foreign keys by themselves. Throws an Error for a column of another table.
 */
export function describeConstraints(
  table: TableInfo,
  parts: readonly TablePart[],
  referencing: readonly string[],
): DeclaredConstraints {
  const indexes: IndexInfo[] = [];
  const uniques: (readonly string[])[] = [];
  const checks: CheckInfo[] = [];
  const foreignKeys: (() => ForeignKey)[] = [];
  const keys = referencing.map((name): readonly string[] => [name]);
  let formerName: string | null = null;
  for (const part of parts) {
    if (part.kind === "formerName") formerName = part.name;
    if (part.kind === "check") checks.push({ name: part.name, sql: part.condition });
    if (!("columns" in part)) continue;
    const columns = ownColumns(part.columns, table);
    if (part.kind === "foreignKey") {
      keys.push(columns);
      foreignKeys.push(() => describeKey(part, columns, table));
    } else if (part.kind === "unique" && part.rows === null && part.name === null) {
      uniques.push(columns);
    } else {
      const { kind, rows: where } = part;
      const name = part.name ?? constraintName([table.name, ...columns], suffixes[kind]);
      indexes.push({ name, columns, unique: kind === "unique", where });
    }
  }
  indexes.push(...indexesOfKeys(keys, { indexes, uniques }, table));
  return { indexes, uniques, checks, foreignKeys, formerName };
}

const suffixes = { index: "idx", unique: "key" } as const;

function ownColumns(columns: readonly ColumnLike<unknown>[], table: TableInfo): readonly string[] {
  return columns.map((column) => {
    const { dbName } = columnInfoOf(column);
    const owner = tableInfoOf(column);
    if (owner === table) return dbName;
    throw new Error(`Cannot declare "${table.name}": "${dbName}" is a column of "${owner.name}"`);
  });
}

function describeKey(
  { references, actions }: ForeignKeyPart,
  columns: readonly string[],
  table: TableInfo,
): ForeignKey {
  const targets = references();
  const owners = new Set(targets.map((target) => tableInfoOf(target)));
  const [owner] = owners;
  if (owner === undefined || owners.size > 1 || targets.length !== columns.length) {
    const named = columns.join(", ");
    throw new Error(
      `Cannot declare "${table.name}": the foreign key of ${named} must refer to ${columns.length} columns of one table`,
    );
  }
  return {
    columns,
    ...{ schema: owner.schema, table: owner.name },
    references: targets.map((target) => columnInfoOf(target).dbName),
    ...actions,
  };
}

/** Returns the missing indexes for foreign keys. One index can be enough for several. */
function indexesOfKeys(
  keys: readonly (readonly string[])[],
  { indexes, uniques }: Pick<TableInfo, "indexes" | "uniques">,
  table: TableInfo,
): readonly IndexInfo[] {
  const leading = [
    table.primaryKey.map(({ dbName }) => dbName),
    ...table.columns.flatMap(({ unique, dbName }) => unique ? [[dbName]] : []),
    ...uniques,
    ...indexes.flatMap(({ where, columns }) => where === null ? [columns] : []),
  ];
  return keys.flatMap((columns) => {
    const isServed = leading.some((list) => {
      const first = list.slice(0, columns.length);
      return columns.every((name) => first.includes(name));
    });
    if (isServed) return [];
    leading.push([...columns]);
    const name = constraintName([table.name, ...columns], suffixes.index);
    return [{ name, columns, unique: false, where: null }];
  });
}
