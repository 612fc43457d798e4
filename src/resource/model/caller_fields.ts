import type { User } from "../../auth/user.ts";
import type { FieldPolicy } from "./field_policy.ts";
import type { FieldOptions } from "./resource_options.ts";
import type { AggregateSchema } from "../../plan/aggregate_schema.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { EtagPolicy } from "../http/etag.ts";

/** The name of a list of fields, as the option has it. */
export type FieldListName = keyof FieldOptions<Record<string, unknown>>;

/**
 * The lists of one caller, null if the request is anonymous. Throws what a function throws, and a
 * plain Error for a result that is no list of the table's columns.
 */
export type FieldsOfCaller = (user: User | null) => CallerLists;

/** What the functions of the lists have given for one caller. */
export interface CallerLists {
  /** Two callers that share it have the same fields. */
  readonly id: string;
  /** The fields, within the widest. */
  narrow(): FieldPolicy;
}

/** What depends on the fields of a caller: the parts of a resource that are replaced by their own. */
export interface CallerFields {
  readonly fields: FieldPolicy;
  readonly groups: AggregateSchema;
  readonly etag: EtagPolicy | null;
  /** The columns that other callers may read, and this one may not. */
  readonly withheld: ReadonlySet<ColumnInfo>;
  /** The same for callers with the same lists, and no others. */
  readonly fieldsKey: string;
}
