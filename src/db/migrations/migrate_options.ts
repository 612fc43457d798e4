import { type Described, group, listOf } from "../../options/option.ts";
import { flag, textLike } from "../../options/option_kinds.ts";

/** Options of a migration of declared tables. */
export interface MigrateOptions {
  /**
   * What may be lost: `notes.size` is a column, or the values in it that its new type does not keep;
   * `notes.by_size` is an index, and `notes` a whole table, neither of which is declared.
   */
  readonly allowDrop?: readonly string[] | undefined;
  /** Columns that are not declared and stay, and are not to be asked about: `notes.size`. */
  readonly keep?: readonly string[] | undefined;
  /** Only plans: nothing is changed. */
  readonly dryRun?: boolean | undefined;
}

/** The options of a migration, described. */
export const migrateOptions = group(
  {
    allowDrop: listOf("names like notes.size", textLike("a name like notes.size", /./)).unlessSet(
      [],
    ),
    keep: listOf("names like notes.size", textLike("a name like notes.size", /./)).unlessSet([]),
    dryRun: flag().unlessSet(false),
  } satisfies Described<MigrateOptions>,
).required();
