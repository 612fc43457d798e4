import type { Row } from "../../schema/table_info.ts";
import type { View } from "./output.ts";

/** A format of exported rows. The rows are written a few at a time, to limit memory. */
export interface RowFormat {
  readonly type: string;
  readonly contentType: string;
  readonly ending: string;
  writer(view: View, options: WriterOptions): RowWriter;
}

export interface WriterOptions {
  readonly delimiter: string;
  /** True to write a byte order mark, with which Excel recognizes UTF-8. */
  readonly bom: boolean;
  readonly escapesFormulas: boolean;
}

export interface RowWriter {
  readonly head: string;
  write(rows: readonly Row[]): string;
}
