import type { AcceptingOption, RecordFault } from "../../api/imports.ts";

/** A row in the body of an import, before its fields are parsed. */
export class ImportRecord {
  /** The line where the record begins, counted from 1. */
  readonly line: number;
  readonly size: number;
  /** The JSON value, or null if the record has a fault. */
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

/** The records of a body in groups. One promise for each record would take too long. */
export type ImportRecords = AsyncIterable<readonly ImportRecord[]>;

/** The error of a line that makes the rest of the body unreadable. */
export class UnreadableLine extends Error {
  readonly line: number;
  /** The field that has the error, or an empty string. */
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
