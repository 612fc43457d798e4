/** Options for importing a file that another program has written. */
export interface ImportFileOptions {
  /** `,` `;` `|` `:` or `tab`. Default: the delimiter in a first line like `sep=;`, or a comma. */
  readonly delimiter?: string | undefined;
  /** The unquoted CSV value that means NULL, in addition to the empty value. Default: none. */
  readonly null?: string | undefined;
  /** The encoding, such as `windows-1252`, of a file without a byte order mark. Default: UTF-8. */
  readonly encoding?: string | undefined;
  /** Pairs of a name in the file and a field name: `old=new,"old, 2=new2"`. Default: none. */
  readonly map?: string | undefined;
  /** True to ignore columns or members of the file that are not fields. Default: false. */
  readonly ignoreExtra?: boolean | undefined;
  /**
   * The meaning of a number in a CSV column of timestamps or dates: milliseconds (`ms`) or seconds
   * (`s`) since 1970, or the days of a spreadsheet (`excel`). Default: a number is an error.
   */
  readonly timestamps?: "ms" | "s" | "excel" | undefined;
}

/** An option with which an import would accept a line that it has refused. */
export interface AcceptingOption {
  /** The name of the option. */
  readonly name: "delimiter" | "null" | "encoding" | "map" | "ignoreExtra" | "timestamps";
  /** The value of the option. */
  readonly value: string;
}

/** An error in a row of an import. */
export interface RecordFault {
  /** The name of the field, or an empty string if the error concerns the whole row. */
  readonly path: string;
  /** The reason of the error. */
  readonly message: string;
  /** The option with which the import would accept the row, if there is one. */
  readonly option?: AcceptingOption | undefined;
}

/** An error in a row of an import, with the line of the row. */
export interface LineError extends RecordFault {
  /** The line where the row begins, counted from 1. In a CSV, line 1 is the header. */
  readonly line: number;
}

/** The numbers of rows that an import has read and written. */
export interface ImportOutcome {
  /** The number of rows that were read from the body. */
  readonly rows: number;
  /** The number of written rows. In an import with one transaction, 0 until the commit. */
  readonly written: number;
}

/** Consecutive lines in the body of an import. */
export interface LineRange {
  /** The first line. */
  readonly from: number;
  /** The last line, or null for the end of the body. */
  readonly to: number | null;
}

/** How many rows a failed import has read and written, and its errors. */
export interface ImportReport extends ImportOutcome {
  /** The errors of the first refused rows: at most 100 errors. */
  readonly errors?: readonly LineError[] | undefined;
  /** The lines that were not written. Present only if each chunk has its own transaction. */
  readonly unwritten?: readonly LineRange[] | undefined;
}
