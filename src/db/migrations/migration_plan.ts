/** What a migration of declared tables does to a database, in its order. */
export interface MigrationPlan {
  /** All that differs between the declared tables and the database, in words. */
  readonly differences: readonly string[];
  /** The statements that are run. */
  readonly steps: readonly MigrationStep[];
  /** What stands in the way, each with what to do about it: with one of these nothing is run. */
  readonly refusals: readonly string[];
  /** What may be renames: a column that is declared no more, and a new one of its type. */
  readonly questions: readonly PossibleRename[];
  /** What is left as it is although it is not declared, and how to have it taken away. */
  readonly left: readonly string[];
}

/** In the plan of a migration: a column that may be another one under its old name. */
export interface PossibleRename {
  /** The declared table. */
  readonly table: string;
  /** The column that the database has. */
  readonly from: string;
  /** The column that is declared. */
  readonly to: string;
}

/** One statement of a migration. */
export interface MigrationStep {
  /** The statement. */
  readonly sql: string;
  /** What it is for: `add notes.size`. */
  readonly purpose: string;
  /** What is lost by it, as `allowDrop` names it: `notes.size`; null if nothing is lost. */
  readonly loses: string | null;
}

/** What a migration may do beside adding to the tables. */
export interface MigrationRights {
  /**
   * What may be lost: `notes.size` is a column, or the values in it that its new type does not keep;
   * `notes.by_size` is an index that is not declared, and `notes` a whole table that is not declared.
   */
  readonly allowDrop: readonly string[];
  /** Columns that are not declared and stay, and so are not taken for ones to be renamed: `notes.size`. */
  readonly keep: readonly string[];
}
