/**
 * In a foreign key: what the database does to the referencing rows when the row that they reference
 * is deleted, or its key is changed. Without one the statement fails while there are such rows.
 */
export type ReferentialAction = "cascade" | "restrict" | "set null" | "set default";

/**
 * The actions of the database on the referencing rows of a foreign key. Null means that the
 * database refuses the change.
 */
export interface ForeignKeyActions {
  /** When the referenced row is deleted. */
  readonly onDelete: ReferentialAction | null;
  /** When the referenced key is changed. */
  readonly onUpdate: ReferentialAction | null;
}

/**
 * A condition of a constraint or an index: SQL of the database, or what writes it for an engine,
 * because the same filter is another string there.
 */
export type SqlCondition = string | ConditionWriter;

/** Writes a condition as SQL without parameters. */
export interface ConditionWriter {
  /** `dialect` is the one of the database. */
  write(dialect: object): string;
}

/** The text of a condition for the engine of the dialect. */
export function conditionSql(condition: SqlCondition, dialect: object): string {
  return typeof condition === "string" ? condition : condition.write(dialect);
}

/** In a table's description: an index that belongs to no constraint. */
export interface IndexInfo {
  /** The name in the database. */
  readonly name: string;
  /** The columns by their names in the database, in order. */
  readonly columns: readonly string[];
  /** True if no two rows of the index share their values. */
  readonly unique: boolean;
  /** Which rows it has; null for all. */
  readonly where: SqlCondition | null;
}

/** In a table's description: a condition that no row fails. */
export interface CheckInfo {
  /** The name of the constraint, or null for one that the database names. */
  readonly name: string | null;
  /** The condition. */
  readonly sql: SqlCondition;
}
