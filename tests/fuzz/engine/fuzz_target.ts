/** An input of any length: a part of it is repeated. */
export interface PumpedInput {
  readonly before: string;
  readonly piece: string;
  readonly after: string;
}

/** A parser under test. Its functions must be deterministic. */
export interface FuzzTarget {
  /** The files of the parser. Their branches are the coverage of the target. */
  readonly files: readonly string[];
  /** Inputs from which the target begins, besides its corpus. */
  readonly seeds: readonly string[];
  /** Calls the parser. Its work must be linear in the length of the input. */
  parse(input: string): unknown;
  /** Returns true for an error that is documented for wrong inputs. */
  isDocumented(error: unknown): boolean;
  /** Throws if the result of {@link parse} is wrong: a printer or another parser disagrees. */
  check?(result: unknown, input: string): void | Promise<void>;
  /** Inputs for which the parser once needed more than linear work. */
  readonly pumps?: readonly PumpedInput[];
  /** If the parser is known to need more than linear work, the reason why this is permitted. */
  readonly superlinear?: string;
}

/** An input for which a target fails, and why. */
export interface Fault {
  readonly input: string;
  readonly reason: string;
}
