/** An option with which an import would accept a line that it has refused. */
export interface AcceptingOption {
  readonly name: "delimiter" | "null" | "encoding" | "map" | "ignoreExtra" | "timestamps";
  readonly value: string;
}

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

/** An error in a record: the name of its field (or an empty string), and a message. */
export interface RecordFault {
  readonly path: string;
  readonly message: string;
  readonly option?: AcceptingOption | undefined;
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
