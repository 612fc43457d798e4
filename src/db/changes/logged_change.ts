import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { Change } from "./change_log.ts";

/** A row of the change log, whose images are not decoded yet. */
export interface LoggedRow {
  readonly seq: number;
  readonly transaction: bigint | null;
  readonly mark: number | null;
  readonly table: TableInfo;
  readonly kind: Change["kind"];
  /** The row before the change as JSON, or null if there was none. */
  readonly before: string | null;
  readonly after: string | null;
  readonly optimisticId: string | null;
}

/**
 * Returns the row unchanged if its images are complete. Otherwise returns it as a `touch` without
 * images, which makes streams start over.
 */
export function touchIfIncomplete(
  row: LoggedRow,
  isWhole: (image: string, table: TableInfo) => boolean,
): LoggedRow {
  const { before, after, table } = row;
  const areWhole = [before, after].every((image) => image === null || isWhole(image, table));
  return areWhole ? row : { ...row, kind: "touch", before: null, after: null };
}

/** Decodes an image of a logged change to the row. */
export type DecodeImage = (image: string, table: TableInfo) => Row;

/** A change as logged, which decodes each of its images once, at its first use. */
export class LoggedChange implements Change {
  readonly seq: number;
  readonly transaction: bigint | null;
  readonly mark: number | null;
  readonly table: TableInfo;
  readonly kind: Change["kind"];
  readonly optimisticId: string | null;
  readonly sizeBytes: number;
  readonly #decode: DecodeImage;
  #before: string | Row | null;
  #after: string | Row | null;

  constructor(row: LoggedRow, decode: DecodeImage) {
    this.seq = row.seq;
    this.transaction = row.transaction;
    this.mark = row.mark;
    this.table = row.table;
    this.kind = row.kind;
    this.optimisticId = row.optimisticId;
    this.sizeBytes = (row.before?.length ?? 0) + (row.after?.length ?? 0);
    this.#before = row.before;
    this.#after = row.after;
    this.#decode = decode;
  }

  get before(): Row | null {
    if (typeof this.#before === "string") this.#before = this.#decode(this.#before, this.table);
    return this.#before;
  }

  get after(): Row | null {
    if (typeof this.#after === "string") this.#after = this.#decode(this.#after, this.table);
    return this.#after;
  }
}

/** Returns the kind of a change by its name in the log, or `touch` for an unknown kind. */
export function changeKind(op: string): Change["kind"] {
  return op === "insert" || op === "update" || op === "delete" || op === "truncate" ? op : "touch";
}
