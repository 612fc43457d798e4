import type { User } from "../../auth/user.ts";
import type { FieldPolicy } from "./field_policy.ts";
import type { FieldOptions } from "./resource_options.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { EtagPolicy } from "../http/etag.ts";

/** The name of a list in the option `fields`, such as `readable`. */
export type FieldListName = keyof FieldOptions<Record<string, unknown>>;

/**
 * Returns the field lists of a user, or of an anonymous caller if `user` is null. Throws if a
 * function of the option `fields` throws, or returns anything but a list of the table's columns.
 */
export type FieldListsOfUser = (user: User | null) => CallerFieldLists;

/** The field lists of one caller, as the functions in the option `fields` return them. */
export interface CallerFieldLists {
  readonly id: string;
  /** The columns that the caller's database role cannot read or insert. Default: none. */
  readonly rights?: {
    readonly unreadable: ReadonlySet<ColumnInfo>;
    readonly notInsertable: ReadonlySet<ColumnInfo>;
  };
  /** Returns the fields of the caller, which are a subset of the fields of all callers. */
  narrow(): FieldPolicy;
}

/** The parts of a resource that depend on the caller's fields. */
export interface CallerFields {
  readonly fields: FieldPolicy;
  readonly groups: AggregateColumns;
  readonly etag: EtagPolicy | null;
  /** The columns that other callers can read, but not this caller. */
  readonly withheld: ReadonlySet<ColumnInfo>;
  /** The columns that the caller's database role can read. Absent if it can read all columns. */
  readonly stored?: readonly ColumnInfo[];
  /** The columns whose values the caller's database role cannot insert. Absent for none. */
  readonly notInsertable?: ReadonlySet<ColumnInfo>;
  /** A string that is equal for two callers only if their lists are equal. */
  readonly fieldsKey: string;
}
