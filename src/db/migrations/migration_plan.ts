/** The plan of a migration of declared tables. */
export interface MigrationPlan {
  /** The differences between the declared tables and the database, in words. */
  readonly differences: readonly string[];
  /** The statements to run, in their order. */
  readonly steps: readonly MigrationStep[];
  /** The obstacles, each with its remedy. If there is any obstacle, no statement is run. */
  readonly refusals: readonly string[];
  /** The possible renames of undeclared columns to declared, missing columns of a similar type. */
  readonly questions: readonly PossibleRename[];
  /** Notices, for example that an undeclared column is kept, and how to drop the column. */
  readonly left: readonly string[];
}

/** An existing column and a declared column, which can be the same column renamed. */
export interface PossibleRename {
  /** The name of the declared table. */
  readonly table: string;
  /** The name of the existing column. */
  readonly from: string;
  /** The name of the declared column. */
  readonly to: string;
}

/** One statement of a migration. */
export interface MigrationStep {
  /** The SQL of the statement. */
  readonly sql: string;
  /** The purpose, such as `add notes.size`. */
  readonly purpose: string;
  /** The columns or tables whose values the statement discards, as in `allowDrop`, or null. */
  readonly loses: string | null;
  /** The strongest lock on an existing table, such as `ACCESS EXCLUSIVE`, or null for no lock. */
  readonly lock: string | null;
}

/** The names of the tables, columns and indexes that a migration may drop, or has to keep. */
export type MigrationRights = Readonly<Record<"allowDrop" | "keep", readonly string[]>>;
