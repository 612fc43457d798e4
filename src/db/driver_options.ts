import { flag, having, other, textLike, timerMs } from "../options/option_kinds.ts";
import { type Described, group, listOf, type OptionPlace } from "../options/option.ts";
import type { Clock } from "../runtime/runtime.ts";

function refused(advice: string) {
  return other<undefined>("unset", () => false).advising(() => advice);
}

const ofSqlite = refused("belongs to SQLite: a Postgres has what its CREATE statements make");

/** The options that every driver has, described. */
export const driverOptions = {
  readOnly: flag().unlessSet(false),
  raisedMessages: flag().unlessSet(true),
  waitLimitMs: timerMs().unlessSet(5_000),
  clock: having<Clock>(
    "a clock: an object with now, elapsedMs and after",
    "now",
    "elapsedMs",
    "after",
  ),
  functions: ofSqlite,
  extensions: ofSqlite,
  collations: ofSqlite,
};

/** What a program adds to SQLite. */
export interface SqliteAdditions {
  /**
   * The URL of a module, `new URL("./functions.ts", import.meta.url)`, whose exports are functions in
   * SQL by their names: every connection imports it, those of threads as well.
   */
  readonly functions?: URL | string | undefined;
  /** Paths of extensions of SQLite, which every connection loads: the way to have collations. */
  readonly extensions?: readonly string[] | undefined;
  /** Refused: no library of SQLite takes a function as a collation. */
  readonly collations?: undefined;
}

/** What a program adds to SQLite, described. */
export const sqliteAdditions = {
  functions: other<URL | string>(
    'the URL of a module, as in new URL("./functions.ts", import.meta.url)',
    (given) => given instanceof URL || typeof given === "string" && URL.canParse(given),
  ),
  extensions: listOf("paths", textLike("a path", /^.+$/)),
  collations: refused(
    "cannot be functions of a program: neither better-sqlite3 nor node:sqlite takes any. " +
      "Load an extension of SQLite that has the collation, by extensions",
  ),
};

/** Options of the SQLite driver, with any library. */
export interface SqliteOptions extends SqliteAdditions {
  /** Changes nothing, not even the journal mode: for a file of another program. */
  readonly readOnly?: boolean | undefined;
  /**
   * True if clients see the messages that triggers and functions raise on purpose; true by default.
   */
  readonly raisedMessages?: boolean | undefined;
  /** How long a write waits for its turn, and for other processes. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
}

/** The options of the SQLite driver, described. */
export const sqliteOptions = group(
  { ...driverOptions, ...sqliteAdditions } satisfies Described<SqliteOptions>,
).required();

/** Begins the messages about options of a driver. */
export const openingPlace: OptionPlace = { subject: "Cannot open the database", path: "" };
