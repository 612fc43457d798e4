/**
 * The action of a foreign key on the referencing rows when the referenced row is deleted or its key
 * changes. Without an action, the delete or update fails while referencing rows exist.
 */
export type ReferentialAction = "cascade" | "restrict" | "set null" | "set default";

/**
 * The actions of a foreign key on the referencing rows. With null, the database refuses to delete
 * or change the referenced row.
 */
export interface ForeignKeyActions {
  /** Action when the referenced row is deleted. */
  readonly onDelete: ReferentialAction | null;
  /** Action when the referenced key is changed. */
  readonly onUpdate: ReferentialAction | null;
}

/** The condition of a constraint or index, as SQL or as an object that writes SQL. */
export type SqlCondition = string | ConditionWriter;

/** Writes a condition as SQL without parameters. */
export interface ConditionWriter {
  /** Returns the condition as SQL for the dialect of one engine. */
  write(dialect: object): string;
}

export function conditionSql(condition: SqlCondition, dialect: object): string {
  return typeof condition === "string" ? condition : condition.write(dialect);
}

/** An index in a table's description that implements no constraint. */
export interface IndexInfo {
  /** The name of the index in the database. */
  readonly name: string;
  /** The database names of the indexed columns, in order. */
  readonly columns: readonly string[];
  /** True if no two rows in the index may have equal values. */
  readonly unique: boolean;
  /** The condition of a partial index, or null for an index of all rows. */
  readonly where: SqlCondition | null;
}

/** A check in a table's description. */
export interface CheckInfo {
  /** The name of the check constraint, or null if the database generates the name. */
  readonly name: string | null;
  /** The condition that every row must satisfy. */
  readonly sql: SqlCondition;
}
