import type { AcceptingOption, RecordFault } from "../../api/imports.ts";

export class ImportRecord {
  readonly line: number;
  readonly size: number;
  readonly body: unknown;
  readonly fault: RecordFault | null;

  /** Creates a record. Objects of a class need less garbage collection (see `PreparedRow`). */
  constructor(line: number, size: number, body: unknown, fault: RecordFault | null = null) {
    this.line = line;
    this.size = size;
    this.body = body;
    this.fault = fault;
  }
}

/** The records of a body, in groups, because one promise for each record would take too long. */
export type ImportRecords = AsyncIterable<readonly ImportRecord[]>;

export class UnreadableLine extends Error {
  readonly line: number;
  readonly path: string;
  readonly option: AcceptingOption | undefined;

  /** Creates the error. `message` completes "line 3 …", for example `is not UTF-8`. */
  constructor(line: number, message: string, path = "", option?: AcceptingOption) {
    super(message);
    this.name = "UnreadableLine";
    this.line = line;
    this.path = path;
    this.option = option;
  }
}
