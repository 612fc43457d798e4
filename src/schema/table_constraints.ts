/**
 * The action of a foreign key on the referencing rows when the referenced row is deleted or its key
 * is changed. Without an action, the statement fails while such rows exist.
 */
export type ReferentialAction = "cascade" | "restrict" | "set null" | "set default";

/** The actions of a foreign key on referencing rows. Null: the database refuses the change. */
export interface ForeignKeyActions {
  /** Action when the referenced row is deleted. */
  readonly onDelete: ReferentialAction | null;
  /** Action when the referenced key is changed. */
  readonly onUpdate: ReferentialAction | null;
}

/**
 * A condition of a constraint or an index: SQL, or a writer for an engine, because a filter has
 * different SQL for each engine.
 */
export type SqlCondition = string | ConditionWriter;

/** Writes a condition as SQL without parameters. */
export interface ConditionWriter {
  /** Returns the SQL for the dialect of the database. */
  write(dialect: object): string;
}

export function conditionSql(condition: SqlCondition, dialect: object): string {
  return typeof condition === "string" ? condition : condition.write(dialect);
}

/** An index in a table's description that belongs to no constraint. */
export interface IndexInfo {
  /** The name in the database. */
  readonly name: string;
  /** The columns by their names in the database, in order. */
  readonly columns: readonly string[];
  /** True if no two rows of the index share their values. */
  readonly unique: boolean;
  /** The condition of a partial index; null for all rows. */
  readonly where: SqlCondition | null;
}

/** A check in a table's description. */
export interface CheckInfo {
  /** The name of the constraint; null if the database names it. */
  readonly name: string | null;
  /** The condition. */
  readonly sql: SqlCondition;
}
