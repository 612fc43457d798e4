/** The effect on referencing rows when the referenced row is deleted or its key is changed. */
export type ReferentialAction = "cascade" | "restrict" | "set null" | "set default";

/** The actions of a foreign key. With null, a referenced key cannot be deleted or changed. */
export interface ForeignKeyActions {
  /** Action when the referenced row is deleted. */
  readonly onDelete: ReferentialAction | null;
  /** Action when the referenced key is changed. */
  readonly onUpdate: ReferentialAction | null;
}

/** The column that a foreign key of one column references. */
export interface ColumnReference {
  /** The schema of the referenced table; null for the default schema. */
  readonly schema: string | null;
  /** The database name of the referenced table. */
  readonly table: string;
  /** The database name of the referenced column. */
  readonly column: string;
}

/** A condition: SQL, or an object that writes SQL. */
export type SqlCondition = string | ConditionWriter;

/** Writes a condition as SQL without parameters. */
export interface ConditionWriter {
  /** Returns the condition in the SQL of one engine's dialect. */
  write(dialect: object): string;
}

export function conditionSql(condition: SqlCondition, dialect: object): string {
  return typeof condition === "string" ? condition : condition.write(dialect);
}

/** An index of a table. Not every index is described: see `TableInfo.indexes`. */
export interface IndexInfo {
  /** The name of the index in the database. */
  readonly name: string;
  /** The database names of the indexed columns, in order. */
  readonly columns: readonly string[];
  /** True if all rows in the index must have different values. */
  readonly unique: boolean;
  /** The condition of a partial index; null if all rows are indexed. */
  readonly where: SqlCondition | null;
}

/** A CHECK constraint of a table. */
export interface CheckInfo {
  /** The name in the database; null if the database generates it. */
  readonly name: string | null;
  /** The condition that each row must meet. */
  readonly sql: SqlCondition;
}
