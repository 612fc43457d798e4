/** What the compiler knows of a resource from its options: for `InferApi`, at no other time. */
export interface ResourceTypes {
  /** A row of the table. */
  readonly row: unknown;
  /** A new row of the table. */
  readonly newRow: unknown;
  /** The name of the table. */
  readonly table: unknown;
  /** The computed fields, by their names. */
  readonly computed: unknown;
  /** The names of the related tables, by those of the relations. */
  readonly targets: unknown;
  /** The options whose own types count; of any type where one is not set. */
  readonly options: OptionTypes;
}

/** The options of a resource that decide what its clients may send and what they get. */
export interface OptionTypes {
  /** The column of the key, or the columns of a composite one. */
  readonly id: unknown;
  /** The path below the base path. */
  readonly path: unknown;
  /** The readable columns. */
  readonly readable: unknown;
  /** Columns that the server fills in. */
  readonly generatedFields: unknown;
  /** False where no row is created. */
  readonly mayCreate: unknown;
  /** False where no row is changed. */
  readonly mayUpdate: unknown;
  /** False where no row is deleted. */
  readonly mayDelete: unknown;
  /** True if bodies may embed related rows. */
  readonly nestedWrites: unknown;
  /** How many rows each relation has. */
  readonly relationTypes: unknown;
  /** False or undefined if no relations are derived from foreign keys. */
  readonly autoRelations: unknown;
  /** The procedures, by their names. */
  readonly procedures: unknown;
}
