import { flag, objectWith, testedValue, textLike, timerMs } from "../options/option_kinds.ts";
import { groupOf, listOf, type OptionLocation } from "../options/option.ts";
import type { Clock } from "../runtime/runtime.ts";

const ofSqlite = testedValue<undefined>("unset", () => false)
  .advising(() => "belongs to SQLite: a Postgres has what its CREATE statements make");

/** Options that every driver has. */
export interface DriverOptions {
  /** True to open another program's database read-only, without changing its journal mode. */
  readonly readOnly?: boolean | undefined;
  /** True if clients see the messages that database triggers and functions raise. Default: true. */
  readonly raisedMessages?: boolean | undefined;
  /** How long a request waits for a lock or a connection, in milliseconds. Default: 5,000. */
  readonly waitLimitMs?: number | undefined;
  /** The clock of the driver. Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

export const driverOptionRules = {
  readOnly: flag().default(false),
  raisedMessages: flag().default(true),
  waitLimitMs: timerMs().default(5_000),
  clock: objectWith<Clock>(
    "a clock: an object with now, elapsedMs and after",
    "now",
    "elapsedMs",
    "after",
  ),
  functions: ofSqlite,
  extensions: ofSqlite,
};

/** The functions and extensions that a program adds to SQLite. */
export interface SqliteAdditions {
  /** URL of a module whose exports become SQL functions: `new URL("./f.ts", import.meta.url)`. */
  readonly functions?: URL | string | undefined;
  /** Paths of SQLite extensions, which every connection loads. An extension can add collations. */
  readonly extensions?: readonly string[] | undefined;
}

export const sqliteAdditionRules = {
  functions: testedValue<URL | string>(
    'the URL of a module, as in new URL("./functions.ts", import.meta.url)',
    (given) => given instanceof URL || typeof given === "string" && URL.canParse(given),
  ),
  extensions: listOf("paths", textLike("a path", /^.+$/)),
};

/** Options of the SQLite driver, with any library. */
export interface SqliteOptions extends DriverOptions, SqliteAdditions {}

export const sqliteOptionRules = groupOf<SqliteOptions>()({
  ...driverOptionRules,
  ...sqliteAdditionRules,
}).required();

export const errorPrefix: OptionLocation = { subject: "Cannot open the database", path: "" };
