import type { Option } from "../options/option.ts";
import {
  bigintColumnOptions,
  dateColumnOptions,
  type DecimalColumnOptions,
  decimalColumnOptions,
  declaring,
  integerColumnOptions,
  limitsOf,
  readActions,
  realColumnOptions,
  type ReferenceOptions,
  type TextColumnOptions,
  textRules,
  timestampColumnOptions,
  type ValueLimits,
} from "./column_options.ts";
import type { ForeignKeyActions } from "./table_constraints.ts";
import type { ColumnLike } from "./table_like.ts";
import type { ColumnDefault, ColumnInfo } from "./table_info.ts";
import { anyValue, type ColumnKind, type ValueRules } from "./kind.ts";

/** The attributes that a column builder has collected. `table()` adds the names. */
export interface ColumnDeclaration
  extends ValueRules, Pick<ColumnInfo, "writeTimestamp" | "generatedSql" | "formerName"> {
  /** The kind of its values. */
  readonly kind: ColumnKind;
  /** The name in the database; null for the name of the property. */
  readonly dbName: string | null;
  /** True if every row has a value. */
  readonly notNull: boolean;
  /** True if the column belongs to the primary key. */
  readonly primaryKey: boolean;
  /** True if no two rows share a value. */
  readonly unique: boolean;
  /** The default of an omitted value. */
  readonly default: ColumnDefault | null;
  /** The referenced column, resolved lazily. */
  readonly references: (() => ColumnLike<unknown>) | null;
  /** The actions on the row when the referenced row is deleted or changed. */
  readonly actions: ForeignKeyActions;
}

/**
 * Declares a column for `table()`. Each call returns a new builder, so a common column can be a
 * constant. `Assigned` marks the kinds whose keys the database can generate.
 */
export class ColumnBuilder<
  T,
  NotNull extends boolean,
  HasDefault extends boolean,
  Assigned extends boolean,
> {
  /** Exists for the compiler only. */
  declare readonly _: {
    readonly data: T;
    readonly notNull: NotNull;
    readonly hasDefault: HasDefault;
    readonly assigned: Assigned;
  };
  /** The attributes so far. */
  readonly declaration: ColumnDeclaration;

  /** Starts from `declaration`; use `text()`, `integer()` and the other functions instead. */
  constructor(declaration: ColumnDeclaration) {
    this.declaration = declaration;
  }

  /**
   * Makes the column the primary key, or a part of it: several such columns are a composite key, in
   * order. The database generates the values of a single integer or bigint key without a default.
   */
  primaryKey(): ColumnBuilder<T, true, Assigned extends true ? true : HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, primaryKey: true, notNull: true });
  }

  /** Forbids NULL. */
  notNull(): ColumnBuilder<T, true, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, notNull: true });
  }

  /** Forbids equal values in two rows; any number of rows may have NULL. */
  unique(): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, unique: true });
  }

  /** Sets the default: a constant, which the database has too, or a function for each row. */
  default(value: T | (() => T)): ColumnBuilder<T, NotNull, true, Assigned> {
    return new ColumnBuilder({
      ...this.declaration,
      default: isMaker(value) ? { kind: "function", make: value } : { kind: "value", value },
    });
  }

  /** Sets the name in the database, if it differs from the property. */
  as(dbName: string): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, dbName });
  }

  /**
   * Declares a foreign key. `target` is called after all tables are declared. For a self-reference
   * or circular reference, TypeScript needs its type: `(): ColumnLike<unknown> => people.id`. The
   * column gets an index unless another index begins with it.
   */
  references(
    target: () => ColumnLike<unknown>,
    options: ReferenceOptions = {},
  ): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    const actions = readActions(options);
    return new ColumnBuilder({ ...this.declaration, references: target, actions });
  }

  /** Sets a default that the database evaluates: an SQL expression such as `random()`. */
  defaultSql(sql: string): ColumnBuilder<T, NotNull, true, Assigned> {
    return new ColumnBuilder({ ...this.declaration, default: { kind: "database", sql } });
  }

  /**
   * Makes the database compute the value from other columns of the row at each write, by an SQL
   * expression. The column is read-only.
   */
  generatedAs(sql: string): ColumnBuilder<T, NotNull, true, Assigned> {
    return new ColumnBuilder({ ...this.declaration, generatedSql: sql });
  }

  /** Sets the former name of the column in the database: a migration renames it. */
  was(formerName: string): ColumnBuilder<T, NotNull, HasDefault, Assigned> {
    return new ColumnBuilder({ ...this.declaration, formerName });
  }
}

/** The builder of a nullable column without default, as the functions below return it. */
export type NewColumn<T> = ColumnBuilder<T, false, false, false>;

/** The builder of a column whose keys the database can generate. */
export type NewIntegerColumn<T> = ColumnBuilder<T, false, false, true>;

/**
 * Builds a text column. `enum` lists the allowed values. `minLength` and `maxLength` count
 * characters (code points). `pattern` is a regular expression that matches a part of each value.
 * `email` requires an e-mail address.
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
 * Builds an integer column of 64 bits; values beyond 2^53 are bigints in process, and JSON numbers
 * in responses. `min` and `max` limit its values.
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
  return declare("integer", readLimits("integer", options, integerColumnOptions));
}

/** Builds a column of 64-bit integers as strings of digits. */
export function bigint(options: ValueLimits<string> = {}): NewIntegerColumn<string> {
  return declare("bigint", readLimits("bigint", options, bigintColumnOptions));
}

/** Builds a column of doubles. */
export function real(options: ValueLimits<number> = {}): NewColumn<number> {
  return declare("real", readLimits("real", options, realColumnOptions));
}

/**
 * Builds a column of exact decimals as strings. `precision` counts all digits, `scale` those after
 * the decimal point. As in SQL, a precision without a scale means whole numbers. Without both, each
 * value keeps its own scale.
 */
export function decimal(options: DecimalColumnOptions = {}): NewColumn<string> {
  const place = { subject: declaring("decimal"), path: "" };
  const { precision = null, ...read } = decimalColumnOptions.read(options, place);
  const { scale = precision === null ? null : 0 } = read;
  if (precision !== null && scale !== null && scale > precision) {
    throw new Error(`Cannot declare decimal(${precision}, ${scale}): the digits do not fit`);
  }
  const digits = { precision, scale };
  return declare("decimal", { ...digits, ...limitsOf("decimal", read, digits) });
}

/** Builds a boolean column. */
export function boolean(): NewColumn<boolean> {
  return declare("boolean");
}

/** Builds a column of UTC timestamps with microseconds, as RFC 3339 strings. */
export function timestamp(options: ValueLimits<string> = {}): NewColumn<string> {
  return declare("timestamp", readLimits("timestamp", options, timestampColumnOptions));
}

/**
 * Builds the column of the timestamp at which a row is created. The service sets it, and ignores it
 * in bodies unless `fields.writable` of the resource contains it. For other programs the database
 * sets it.
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

/**
 * Builds the column of the timestamp of a row's last change. It is like {@link createdAt}, and
 * every update by the service that sets a field changes it.
 */
export function updatedAt(): ColumnBuilder<string, true, true, false> {
  return declare("timestamp", { ...filledIn, writeTimestamp: "updated" });
}

const filledIn = { notNull: true, default: { kind: "database", sql: null } } as const;

/** Builds a column of calendar days, `YYYY-MM-DD`. */
export function date(options: ValueLimits<string> = {}): NewColumn<string> {
  return declare("date", readLimits("date", options, dateColumnOptions));
}

/** Builds a column of UUIDs in lower case. */
export function uuid(): NewColumn<string> {
  return declare("uuid");
}

/** Builds a column of any JSON values; declare their type if it is known: `json<string[]>()`. */
export function json<T = unknown>(): NewColumn<T> {
  return declare("json");
}

/** Builds a column of bytes, as base64. */
export function bytes(): NewColumn<string> {
  return declare("bytes");
}

function readLimits<T>(
  kind: ColumnKind,
  given: ValueLimits<T>,
  described: Option<ValueLimits<T>>,
): Pick<ValueRules, "min" | "max"> {
  return limitsOf(kind, described.read(given, { subject: declaring(kind), path: "" }));
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
    kind,
    dbName: null,
    notNull: false,
    primaryKey: false,
    unique: false,
    default: null,
    ...anyValue,
    writeTimestamp: null,
    generatedSql: null,
    formerName: null,
    references: null,
    actions: { onDelete: null, onUpdate: null },
    ...options,
  });
}

function isMaker<T>(value: T | (() => T)): value is () => T {
  return typeof value === "function";
}
