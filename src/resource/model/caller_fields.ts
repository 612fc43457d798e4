import type { User } from "../../auth/user.ts";
import type { FieldPolicy } from "./field_policy.ts";
import type { FieldOptions } from "./resource_options.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { EtagPolicy } from "../http/etag.ts";

/** The name of a list in the option `fields`, such as `readable`. */
export type FieldListName = keyof FieldOptions<Record<string, unknown>>;

/**
 * Returns the field lists of a user, or of an anonymous caller if `user` is null. Throws the error
 * of a field function, and a plain Error for a result that is no list of the table's columns.
 */
export type FieldsOfCaller = (user: User | null) => CallerFieldLists;

/** The field lists of one caller, as the functions in the option `fields` return them. */
export interface CallerFieldLists {
  /** A string that is equal for callers with the same fields. */
  readonly id: string;
  /** The rights of the caller's role on columns of the database. Default: all rights. */
  readonly rights?: {
    readonly unreadable: ReadonlySet<ColumnInfo>;
    readonly notInsertable: ReadonlySet<ColumnInfo>;
  };
  /** Returns the fields of the caller, which are a subset of the widest policy. */
  narrow(): FieldPolicy;
}

/** The parts of a resource that depend on the caller's fields. */
export interface CallerFields {
  readonly fields: FieldPolicy;
  readonly groups: AggregateColumns;
  readonly etag: EtagPolicy | null;
  /** The columns that other callers may read, but not this caller. */
  readonly withheld: ReadonlySet<ColumnInfo>;
  /** The columns that the role of the caller may read in the database. Absent for all columns. */
  readonly stored?: readonly ColumnInfo[];
  /** The columns whose values the role may not insert. Absent for none. */
  readonly notInsertable?: ReadonlySet<ColumnInfo>;
  /** A string that is equal for callers with equal lists, and different for all other callers. */
  readonly fieldsKey: string;
}
