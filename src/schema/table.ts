import type { ColumnBuilder } from "./column_builder.ts";
import {
  columnInfoKey,
  type ColumnLike,
  describeConstraints,
  noConstraints,
  tableInfoKey,
  type TableLike,
  type TablePart,
} from "./table_like.ts";
import { describeTable } from "./describe_table.ts";

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
