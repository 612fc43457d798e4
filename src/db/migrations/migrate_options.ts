import { type Described, group, listOf } from "../../options/option.ts";
import { flag, textLike } from "../../options/option_kinds.ts";

/** Options of a migration of declared tables. */
export interface MigrateOptions {
  /**
   * The parts that the migration may drop. `notes.size` permits the loss of a column, or of values
   * that its new type cannot store. `notes.by_size` is an undeclared index, and `notes` a table.
   */
  readonly allowDrop?: readonly string[] | undefined;
  /** Undeclared columns to keep, such as `notes.size`, without asking if they were renamed. */
  readonly keep?: readonly string[] | undefined;
  /** True to return the plan without changing anything. Default: false. */
  readonly dryRun?: boolean | undefined;
}

export const migrateOptionRules = group(
  {
    allowDrop: listOf("names like notes.size", textLike("a name like notes.size", /./)).default([]),
    keep: listOf("names like notes.size", textLike("a name like notes.size", /./)).default([]),
    dryRun: flag().default(false),
  } satisfies Described<MigrateOptions>,
).required();
