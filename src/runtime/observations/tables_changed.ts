/** The tables of the database have changed. The service now serves them in their new form. */
export interface TablesChanged {
  /** The kind of the observation. */
  readonly kind: "tables_changed";
  /** The names of new tables. */
  readonly added: readonly string[];
  /** The names of tables that no longer exist. */
  readonly gone: readonly string[];
  /** The names of tables whose columns or keys have changed. */
  readonly changed: readonly string[];
}

export function describeTablesChanged({ added, gone, changed }: TablesChanged): string {
  const parts = [["added", added], ["gone", gone], ["changed", changed]] as const;
  const named = parts.flatMap(([word, names]) =>
    names.length === 0 ? [] : [`${word}: ${names.join(", ")}`]
  );
  return named.length === 0
    ? "the tables of the database are served again, as they were"
    : `the tables of the database have changed, and are served as they are now (${
      named.join("; ")
    })`;
}
