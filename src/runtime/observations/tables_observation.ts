/** An observation of the tables of a database that the command line serves. */
export type TablesObservation = TablesChanged | {
  readonly kind: "tables_unread";
  readonly error: unknown;
};

/** The tables are served as they are now, which is not as they were: by their names. */
export interface TablesChanged {
  /** The kind of the observation. */
  readonly kind: "tables_changed";
  /** Those that were not there. */
  readonly added: readonly string[];
  /** Those that are not there any more. */
  readonly gone: readonly string[];
  /** Those whose columns or keys are others, which are named. */
  readonly changed: readonly string[];
}

/** Describes the observation of changed tables in a sentence. */
export function describeTables({ added, gone, changed }: TablesChanged): string {
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
