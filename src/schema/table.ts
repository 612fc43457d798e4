import { isWhole } from "./kinds/kind_properties.ts";
import { showValue } from "../problem/show_value.ts";
import type { ColumnBuilder, ColumnDeclaration } from "./column_builder.ts";
import {
  columnInfoKey,
  columnInfoOf,
  type ColumnLike,
  type DeclaredConstraints,
  describeConstraints,
  noConstraints,
  tableInfoKey,
  tableInfoOf,
  type TableLike,
  type TablePart,
} from "./table_like.ts";
import { InvalidValue } from "./kind.ts";
import { kinds } from "./kind_of.ts";
import type { ColumnReference, ForeignKeyActions } from "./table_constraints.ts";
import {
  type ColumnDefault,
  type ColumnInfo,
  createTableInfo,
  type ForeignKey,
} from "./table_info.ts";

/** A column of the table `Of`, created by {@link table}. Its values have type `T` or are NULL. */
export interface Column<T, Of extends string> extends ColumnLike<T, Of> {
  /** Exists only for the compiler, which infers types from it. */
  readonly _: { readonly data: T; readonly tableName: Of };
}

/** The columns in the declaration of a table, by property name. */
export type ColumnBuilders = Readonly<
  Record<string, ColumnBuilder<unknown, boolean, boolean, boolean>>
>;

/** The type of a table's rows. */
export type SelectRow<C extends ColumnBuilders> =
  // Because of the intersection, editors show the members and not the type's name.
  & {
    [Key in keyof C]: C[Key]["_"]["notNull"] extends true ? C[Key]["_"]["data"]
      : C[Key]["_"]["data"] | null;
  }
  & unknown;

/** The type of a table's new rows. Nullable columns and columns with a default are optional. */
export type InsertRow<C extends ColumnBuilders> =
  & {
    [Key in keyof C as C[Key]["_"] extends { notNull: true; hasDefault: false } ? Key : never]:
      C[Key]["_"]["data"];
  }
  & {
    [Key in keyof C as C[Key]["_"] extends { notNull: true; hasDefault: false } ? never : Key]?:
      | SelectRow<C>[Key]
      | undefined;
  } extends infer Row ? { [Key in keyof Row]: Row[Key] } : never;

/** A declared table: its columns by property name, and the types of its rows and new rows. */
export type Table<Name extends string, Row, NewRow> =
  & TableLike<Row, NewRow, Name>
  & { readonly [Key in keyof Row & string]: Column<Exclude<Row[Key], null>, Name> };

/**
 * Declares a table for all engines. The result has only its columns as members, so that a column
 * can have any name except `$inferName`, `$inferSelect` and `$inferInsert`.
 *
 * @throws {Error} If the service cannot serve the declared table.
 * @example
 * ```ts
 * import { integer, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", {
 *   id: integer().primaryKey(),
 *   ownerId: text().notNull().as("owner_id"),
 *   status: text({ enum: ["draft", "published"] }).notNull().default("draft"),
 * });
 * type Note = typeof notes.$inferSelect; // { id: number; ownerId: string; status: "draft" | … }
 * ```
 *
 * @example Every kind of column
 * ```ts
 * import {
 *   bigint, boolean, bytes, date, decimal, integer, json, real, table, text, timestamp, uuid,
 * } from "@svc/resource-api";
 *
 * const invoices = table("invoices", {
 *   id: uuid().primaryKey().default(() => crypto.randomUUID()),
 *   number: integer().notNull().unique(),
 *   ledgerEntry: bigint().as("ledger_entry"), // "9007199254740993"
 *   customer: text({ maxLength: 200 }).notNull(),
 *   total: decimal({ precision: 12, scale: 2 }).notNull(), // "19.90"
 *   discount: real(),
 *   isPaid: boolean().notNull().default(false),
 *   dueOn: date().as("due_on"), // "2026-12-01"
 *   sentAt: timestamp().as("sent_at"), // "2026-11-01T09:30:00Z"
 *   tags: json<string[]>(),
 *   scan: bytes(), // base64
 * });
 * type NewInvoice = typeof invoices.$inferInsert; // { number: number; customer: string; … }
 * ```
 *
 * @example Indexes, and rules about several columns
 * ```ts
 * import { check, foreignKey, gt, index, integer, isNull, table, text, timestamp, unique } from "@svc/resource-api";
 *
 * const teams = table("teams", {
 *   id: integer().primaryKey(),
 *   name: text().notNull().unique(),
 * });
 * const members = table("members", {
 *   teamId: integer().primaryKey().references(() => teams.id, { onDelete: "cascade" }),
 *   userId: text().primaryKey(),
 *   email: text({ email: true }).notNull(),
 *   hours: integer().notNull().default(8),
 *   leftAt: timestamp(),
 * }, (members) => [
 *   index(members.userId, members.leftAt),
 *   unique(members.teamId, members.email),
 *   unique(members.email).where(isNull(members.leftAt)),
 *   check(gt(members.hours, 0)),
 * ]);
 * const shifts = table("shifts", {
 *   id: integer().primaryKey(),
 *   teamId: integer().notNull(),
 *   userId: text().notNull(),
 * }, (shifts) => [
 *   foreignKey([shifts.teamId, shifts.userId], () => [members.teamId, members.userId]),
 * ]);
 * ```
 */
export function table<Name extends string, C extends ColumnBuilders>(
  name: Name,
  columns: C,
  parts: (table: Table<Name, SelectRow<C>, InsertRow<C>>) => readonly TablePart[] = () => [],
): Table<Name, SelectRow<C>, InsertRow<C>> {
  let described = noConstraints;
  const { info, referencing } = describeTable(name, columns, () => described);
  // Without a prototype, columns can have names like `constructor` or `toString`.
  const result: Record<string | symbol, unknown> = Object.create(null);
  result[tableInfoKey] = info;
  for (const column of info.columns) {
    result[column.name] = Object.freeze({ [columnInfoKey]: column, [tableInfoKey]: info });
  }
  // The cast is safe: the loop has set all columns. The other members exist only in the type.
  const declared = Object.freeze(result) as unknown as Table<Name, SelectRow<C>, InsertRow<C>>;
  described = describeConstraints(info, listOf(name, parts(declared)), referencing);
  return declared;
}

function listOf(table: string, parts: unknown): readonly TablePart[] {
  if (Array.isArray(parts)) return parts;
  throw new Error(`Cannot declare "${table}": its third argument must return a list`);
}

function describeTable(
  name: string,
  columns: ColumnBuilders,
  parts: () => DeclaredConstraints,
) {
  const declarations = Object.entries(columns).map(([property, builder]) =>
    [property, declarationOf(`${name}.${property}`, builder)] as const
  );
  const keys = declarations.filter(([, declaration]) => declaration.primaryKey);
  if (name === "") throw new Error("Cannot declare a table without a name");
  if (keys.length === 0) throw new Error(`Cannot declare "${name}": it has no primary key`);
  const infos = declarations.map(([property, declaration]) =>
    describeColumn(name, property, withGeneratedKey(declaration, keys.length))
  );
  requireNames(name, infos);
  const foreign = infos.flatMap((column, index) => {
    const declared = declarations[index]?.[1] ?? null;
    return declared === null || declared.references === null
      ? []
      : [{ column, actions: declared.actions }];
  });
  const info = createTableInfo({
    name,
    schema: null,
    columns: infos,
    get foreignKeys() {
      return [
        ...foreign.flatMap(({ column, actions }) => toForeignKey(column, actions)),
        ...parts().foreignKeys.map((resolve) => resolve()),
      ];
    },
    get indexes() {
      return parts().indexes;
    },
    get uniques() {
      return parts().uniques;
    },
    get checks() {
      return parts().checks;
    },
    get formerName() {
      return parts().formerName;
    },
    own: true,
  });
  return { info, referencing: foreign.map(({ column }) => column.dbName) };
}

/** Returns the declaration of a column. Throws an Error for `a: text`, in which `()` is missing. */
function declarationOf(column: string, builder: unknown): ColumnDeclaration {
  if (typeof builder === "function") {
    const { name } = builder;
    throw new Error(`Cannot declare ${column}: ${name} was not called: write ${name}()`);
  }
  if (typeof builder !== "object" || builder === null || !("declaration" in builder)) {
    throw new Error(
      `Cannot declare ${column}: it is ${showValue(builder)}, not a column like text()`,
    );
  }
  // Does not use `instanceof`, because another copy of this package may have created the builder.
  return builder.declaration as ColumnDeclaration;
}

function withGeneratedKey(column: ColumnDeclaration, keyLength: number): ColumnDeclaration {
  const isGenerated = column.primaryKey && keyLength === 1 && isWhole(column) &&
    column.default === null && column.references === null;
  return isGenerated ? { ...column, default: { kind: "database", sql: null } } : column;
}

function describeColumn(table: string, name: string, declared: ColumnDeclaration): ColumnInfo {
  const { references: target, actions, ...declaration } = declared;
  requirePossible(`${table}.${name}`, declared, actions);
  let reference: ColumnReference | null = null;
  return Object.freeze({
    ...declaration,
    name,
    dbName: declaration.dbName ?? name,
    default: checkedDefault(`${table}.${name}`, declared),
    generated: declaration.generatedSql !== null,
    // Finds the target at the first access, because it can be declared later.
    get references() {
      return reference ??= target && resolveReference(`${table}.${name}`, target);
    },
  });
}

function requirePossible(
  column: string,
  { notNull, primaryKey, generatedSql, default: source }: ColumnDeclaration,
  { onDelete, onUpdate }: ForeignKeyActions,
): void {
  if (notNull && (onDelete === "set null" || onUpdate === "set null")) {
    throw new Error(`Cannot declare ${column}: "set null" needs a column that may be NULL`);
  }
  if (generatedSql !== null && (primaryKey || source !== null)) {
    throw new Error(`Cannot declare ${column}: a generated column is no key and has no default`);
  }
}

function checkedDefault(column: string, declared: ColumnDeclaration): ColumnDefault | null {
  if (declared.default?.kind !== "value") return declared.default;
  try {
    const value = kinds[declared.kind].fromJson(declared.default.value, declared);
    return { kind: "value", value };
  } catch (cause) {
    if (!(cause instanceof InvalidValue)) throw cause;
    throw new Error(`Cannot declare ${column}: its default ${cause.message}`, { cause });
  }
}

function resolveReference(source: string, target: () => ColumnLike<unknown>): ColumnReference {
  try {
    const column = target();
    const { schema, name } = tableInfoOf(column);
    return { schema, table: name, column: columnInfoOf(column).dbName };
  } catch (cause) {
    throw new Error(`Cannot resolve what ${source} references`, { cause });
  }
}

function requireNames(table: string, columns: readonly ColumnInfo[]): void {
  const dbNames = new Set<string>();
  for (const { name, dbName } of columns) {
    if (/^\$infer(Name|Select|Insert)$/.test(name)) {
      throw new Error(`Cannot declare ${table}.${name}: the name is reserved`);
    }
    // For SQLite, names that differ only in upper and lower case are the same.
    const folded = dbName.toLowerCase();
    if (dbName === "" || dbNames.has(folded)) {
      throw new Error(`Cannot declare ${table}.${name}: the name "${dbName}" is empty or taken`);
    }
    dbNames.add(folded);
  }
  const formerNames = new Set<string>();
  for (const { name, dbName, formerName } of columns) {
    if (formerName !== null && formerNames.has(formerName.toLowerCase())) {
      throw new Error(
        `Cannot declare ${table}.${name}: another column was "${formerName}" as well`,
      );
    }
    formerNames.add(formerName?.toLowerCase() ?? "");
    // If a former name were also a current name, a migration could rename the wrong column.
    if (formerName === null || !dbNames.has(formerName.toLowerCase())) continue;
    // On Postgres, a rename can change only the case of a name, so this is no error.
    const isSame = formerName.toLowerCase() === dbName.toLowerCase();
    if (isSame && formerName !== dbName) continue;
    throw new Error(
      `Cannot declare ${table}.${name}: it was "${formerName}", which is declared as well`,
    );
  }
}

function toForeignKey(column: ColumnInfo, actions: ForeignKeyActions): ForeignKey[] {
  const { references } = column;
  if (references === null) return [];
  const { schema, table, column: target } = references;
  return [{ columns: [column.dbName], schema, table, references: [target], ...actions }];
}
