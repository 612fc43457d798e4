import { groupOf, listOf } from "../../options/option.ts";
import { flag, textLike } from "../../options/option_kinds.ts";

/** Options of a migration of declared tables. */
export interface MigrateOptions {
  /**
   * The undeclared tables, indexes and columns that the migration may drop, such as `notes.size`.
   * For a declared column in this list, the migration may drop values that do not fit its new type.
   */
  readonly allowDrop?: readonly string[] | undefined;
  /** Undeclared columns to keep, such as `notes.size`. They do not count as possible renames. */
  readonly keep?: readonly string[] | undefined;
  /** True to return the plan without changing anything. Default: false. */
  readonly dryRun?: boolean | undefined;
}

export const migrateOptionRules = groupOf<MigrateOptions>()({
  allowDrop: listOf("names like notes.size", textLike("a name like notes.size", /./)).default([]),
  keep: listOf("names like notes.size", textLike("a name like notes.size", /./)).default([]),
  dryRun: flag().default(false),
}).required();
