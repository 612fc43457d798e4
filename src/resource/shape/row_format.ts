import type { Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import type { View } from "./output.ts";

/**
 * A format of exported rows: it streams row after row, so that no answer is held in memory as a
 * whole.
 */
export interface RowFormat {
  /** The media type that `Accept` names. */
  readonly type: string;
  readonly contentType: string;
  /** The extension of its files, with the dot. */
  readonly ending: string;
  /** Creates the writer of one answer. */
  writer(view: View, resource: Pick<Resource, "escapesFormulas">): RowWriter;
}

/** Writes the rows of one answer in a row format. */
export interface RowWriter {
  /** The text before the first row. */
  readonly head: string;
  /** Writes rows that are masked already. */
  write(rows: readonly Row[]): string;
}
