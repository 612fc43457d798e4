/** The types that the compiler infers from a resource's options. Only `InferApi` uses them. */
export interface ResourceTypes {
  /** A row of the table. */
  readonly row: unknown;
  /** A new row of the table. */
  readonly newRow: unknown;
  /** The name of the table. */
  readonly table: unknown;
  /** The computed fields, by their names. */
  readonly computed: unknown;
  /** The names of the related tables, by the names of the relations. */
  readonly targets: unknown;
  /** The inferred options. An unset option has a wide type, for example `boolean`. */
  readonly options: OptionTypes;
}

/** The options that determine what clients can send and receive. */
export interface OptionTypes {
  /** The column of the primary key, or the columns of a composite key. */
  readonly id: unknown;
  /** The path below the base path. */
  readonly path: unknown;
  /** The readable columns. */
  readonly readable: unknown;
  /** Columns that the server fills in. */
  readonly generatedFields: unknown;
  /** The enabled operations. */
  readonly operations: unknown;
  /** True if request bodies can contain related rows. */
  readonly nestedWrites: unknown;
  /** The cardinality of each relation. */
  readonly relationTypes: unknown;
  /** False or undefined if no relations are derived from foreign keys. */
  readonly autoRelations: unknown;
  /** The procedures, by their names. */
  readonly procedures: unknown;
}
