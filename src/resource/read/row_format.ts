import type { Row } from "../../schema/table_info.ts";
import type { View } from "../output.ts";

/** A form in which rows are sent one behind the other, so that no answer is ever held whole. */
export interface RowFormat {
  /** The media type that asks for it. */
  readonly type: string;
  readonly contentType: string;
  /** The ending of a file that holds it, with the dot. */
  readonly ending: string;
  /** What writes the rows of one answer. */
  writer(view: View): RowWriter;
}

/** Writes the rows of one answer. */
export interface RowWriter {
  /** What stands before the first row. */
  readonly head: string;
  /** Rows that have gone through the mask. */
  write(rows: readonly Row[]): string;
}
