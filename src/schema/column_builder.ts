import {
  decimalColumnOptionRules,
  type DecimalColumnOptions,
  declarationErrorPrefix,
  parseValueLimits,
  readForeignKeyActions,
  type ReferenceOptions,
  type TextColumnOptions,
  textRules,
  valueLimitOptionRules,
  type ValueLimits,
} from "./column_options.ts";
import type { ForeignKeyActions } from "./table_constraints.ts";
import type { ColumnLike } from "./table_like.ts";
import { type ColumnInfo, plainColumn } from "./table_info.ts";
import type { ColumnKind, ValueRules } from "./kind.ts";

/** The attributes of a column that its builder has collected; `table()` adds the names. */
export interface ColumnDeclaration extends Omit<ColumnInfo, "name" | "dbName" | "references"> {
  /** The name in the database; null if it is the property's name. */
  readonly dbName: string | null;
  /** Returns the referenced column once all tables are declared. Null without a foreign key. */
  readonly references: (() => ColumnLike<unknown>) | null;
  /** The `ON DELETE` and `ON UPDATE` actions of the foreign key. */
  readonly actions: ForeignKeyActions;
}

/**
 * Declares a column for `table()`. Each call returns a new builder, so several tables can share a
 * builder. `Assigned` is true if the database can generate primary keys of this kind.
 */
export class ColumnBuilder<
  T,
  NotNull extends boolean,
  HasDefault extends boolean,
  Assigned extends boolean,
> {
  /** Exists only for the compiler, which infers types from it. */
  declare readonly _: {
    readonly data: T;
    readonly notNull: NotNull;
    readonly hasDefault: HasDefault;
    readonly assigned: Assigned;
  };
  /** The attributes that were set so far. */
  readonly declaration: ColumnDeclaration;

  /** Creates a builder. Programs call `text()`, `integer()` and so on instead. */
  constructor(declaration: ColumnDeclaration) {
    this.declaration = declaration;
  }

  /**
   * Makes the column the primary key. Several such columns form a composite key in declaration
   * order. For a single integer or bigint key without a default, the database generates values.
   */
  primaryKey(): ColumnBuilder<T, true, Assigned extends true ? true : HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, primaryKey: true, notNull: true });
  }

  /** Forbids NULL. */
  notNull(): ColumnBuilder<T, true, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, notNull: true });
  }

  /** Forbids two rows with equal values. Any number of rows may have NULL. */
  unique(): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, unique: true });
  }

  /** Sets the default: a constant (also in the database), or a function called for each new row. */
  default(value: T | (() => T)): ColumnBuilder<T, NotNull, true, Assigned> {
    return new ColumnBuilder({
      ...this.declaration,
      default: isMaker(value) ? { kind: "function", make: value } : { kind: "value", value },
    });
  }

  /** Sets the name in the database, if it differs from the property's name. */
  as(dbName: string): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, dbName });
  }

  /**
   * Declares a foreign key. `target` is called after all tables are declared. In circular
   * references, `target` needs a declared return type: `(): ColumnLike<unknown> => people.id`. The
   * column gets an index, unless another index begins with it.
   */
  references(
    target: () => ColumnLike<unknown>,
    options: ReferenceOptions = {},
  ): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    const actions = readForeignKeyActions(options);
    return new ColumnBuilder({ ...this.declaration, references: target, actions });
  }

  /** Sets a default that the database computes: an SQL expression such as `random()`. */
  defaultSql(sql: string): ColumnBuilder<T, NotNull, true, Assigned> {
    return new ColumnBuilder({ ...this.declaration, default: { kind: "database", sql } });
  }

  /** Sets an SQL expression that computes the value from other columns. The column is read-only. */
  generatedAs(sql: string): ColumnBuilder<T, NotNull, true, Assigned> {
    return new ColumnBuilder({ ...this.declaration, generatedSql: sql });
  }

  /** Sets the former name in the database, so that a migration renames the column. */
  was(formerName: string): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, formerName });
  }
}

/** A builder for a nullable column without a default. */
export type NewColumn<T> = ColumnBuilder<T, false, false, false>;

/** A builder for a column whose values the database can generate if it is the primary key. */
export type NewIntegerColumn<T> = ColumnBuilder<T, false, false, true>;

/**
 * Declares a column of strings. `enum` lists the allowed values. `minLength` and `maxLength` count
 * code points. `pattern` is a regular expression that must match a part of each value. With
 * `email`, values must be e-mail addresses.
 *
 * @example
 * ```ts
 * import { table, text } from "@svc/resource-api";
 *
 * const people = table("people", {
 *   handle: text({ pattern: "^[a-z][a-z0-9-]*$", minLength: 3, maxLength: 20 }).primaryKey(),
 *   email: text({ email: true }).notNull(),
 *   role: text({ enum: ["member", "admin"] }).notNull().default("member"),
 * });
 * ```
 */
export function text<Member extends string = string>(
  options: TextColumnOptions<Member> = {},
): NewColumn<Member> {
  return declare("text", textRules(options));
}

/**
 * Declares a column of 64-bit integers, between `min` and `max`. In JavaScript, values beyond 2^53
 * are bigints. In JSON, all values are numbers.
 *
 * @example
 * ```ts
 * import { date, decimal, integer, table } from "@svc/resource-api";
 *
 * const bookings = table("bookings", {
 *   id: integer().primaryKey(),
 *   seats: integer({ min: 1, max: 8 }).notNull(),
 *   price: decimal({ precision: 8, scale: 2, min: "0" }).notNull(),
 *   day: date({ min: "2026-01-01" }).notNull(),
 * });
 * ```
 */
export function integer(options: ValueLimits<number> = {}): NewIntegerColumn<number> {
  return declare("integer", readLimits("integer", options));
}

/** Declares a column of 64-bit integers that are strings of digits in JavaScript and JSON. */
export function bigint(options: ValueLimits<string> = {}): NewIntegerColumn<string> {
  return declare("bigint", readLimits("bigint", options));
}

/** Declares a column of double-precision numbers. */
export function real(options: ValueLimits<number> = {}): NewColumn<number> {
  return declare("real", readLimits("real", options));
}

/**
 * Declares a column of exact decimals, which are strings in JavaScript and JSON. `precision` is the
 * maximum number of digits, and `scale` the number of digits after the decimal point. As in SQL, a
 * precision without a scale means whole numbers. Without both, each value keeps its own scale.
 */
export function decimal(options: DecimalColumnOptions = {}): NewColumn<string> {
  const place = { subject: declarationErrorPrefix("decimal"), path: "" };
  const { precision = null, ...read } = decimalColumnOptionRules.read(options, place);
  const { scale = precision === null ? null : 0 } = read;
  if (precision !== null && scale !== null && scale > precision) {
    throw new Error(`Cannot declare decimal(${precision}, ${scale}): the digits do not fit`);
  }
  const digits = { precision, scale };
  return declare("decimal", { ...digits, ...parseValueLimits("decimal", read, digits) });
}

/** Declares a boolean column. */
export function boolean(): NewColumn<boolean> {
  return declare("boolean");
}

/** Declares a column of UTC timestamps with up to six fraction digits, as RFC 3339 strings. */
export function timestamp(options: ValueLimits<string> = {}): NewColumn<string> {
  return declare("timestamp", readLimits("timestamp", options));
}

/**
 * Declares a column for the time at which the row was created. The service sets it, and ignores
 * values in bodies unless the resource's `fields.writable` contains the column. In rows that other
 * programs insert, the database sets it.
 *
 * @example
 * ```ts
 * import { createdAt, integer, table, text, updatedAt } from "@svc/resource-api";
 *
 * const notes = table("notes", {
 *   id: integer().primaryKey(),
 *   title: text().notNull(),
 *   createdAt: createdAt().as("created_at"),
 *   updatedAt: updatedAt().as("updated_at"),
 * });
 * ```
 */
export function createdAt(): ColumnBuilder<string, true, true, false> {
  return declare("timestamp", { ...filledIn, writeTimestamp: "created" });
}

/** Like {@link createdAt}, but the service also sets the time in each update that sets a field. */
export function updatedAt(): ColumnBuilder<string, true, true, false> {
  return declare("timestamp", { ...filledIn, writeTimestamp: "updated" });
}

const filledIn = { notNull: true, default: { kind: "database", sql: null } } as const;

/** Declares a column of calendar days, `YYYY-MM-DD`. */
export function date(options: ValueLimits<string> = {}): NewColumn<string> {
  return declare("date", readLimits("date", options));
}

/** Declares a column of UUIDs, which are strings in lower case. */
export function uuid(): NewColumn<string> {
  return declare("uuid");
}

/** Declares a column of JSON values of the type `T`, as in `json<string[]>()`. */
export function json<T = unknown>(): NewColumn<T> {
  return declare("json");
}

/** Declares a column of bytes, which are base64 strings in JavaScript and JSON. */
export function bytes(): NewColumn<string> {
  return declare("bytes");
}

function readLimits(
  kind: keyof typeof valueLimitOptionRules,
  given: ValueLimits<unknown>,
): Pick<ValueRules, "min" | "max"> {
  const place = { subject: declarationErrorPrefix(kind), path: "" };
  return parseValueLimits(kind, valueLimitOptionRules[kind].read(given, place));
}

function declare<
  T,
  NotNull extends boolean,
  HasDefault extends boolean,
  Assigned extends boolean,
>(
  kind: ColumnKind,
  options: Partial<ColumnDeclaration> = {},
): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
  return new ColumnBuilder({
    ...plainColumn,
    kind,
    dbName: null,
    references: null,
    actions: { onDelete: null, onUpdate: null },
    ...options,
  });
}

function isMaker<T>(value: T | (() => T)): value is () => T {
  return typeof value === "function";
}
