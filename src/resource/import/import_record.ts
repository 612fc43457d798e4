/** A row as the body of an import holds it, before its fields are parsed. */
export class ImportRecord {
  /** Where it begins, counted from 1. */
  readonly line: number;
  /** About its bytes. */
  readonly size: number;
  /** A JSON value; null if there is none. */
  readonly body: unknown;
  /** Why there is none, or null. */
  readonly fault: RecordFault | null;

  /** A class for the same reason as `PreparedRow`. */
  constructor(line: number, size: number, body: unknown, fault: RecordFault | null = null) {
    this.line = line;
    this.size = size;
    this.body = body;
    this.fault = fault;
  }
}

/** What is wrong with a record: the field, or empty, and a message. */
export interface RecordFault {
  readonly path: string;
  readonly message: string;
}

/** The records of a body, some at a time: a promise for each of them would take longer than a row. */
export type ImportRecords = AsyncIterable<readonly ImportRecord[]>;

/** The error of a line after which nothing of a body can be read. */
export class UnreadableLine extends Error {
  readonly line: number;
  /** The field, or empty. */
  readonly path: string;

  /** `message` completes "line 3 …", e.g. `is not UTF-8`. */
  constructor(line: number, message: string, path = "") {
    super(message);
    this.name = "UnreadableLine";
    this.line = line;
    this.path = path;
  }
}
