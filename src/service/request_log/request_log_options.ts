import { type Described, either, group, type OptionValues } from "../../options/option.ts";
import { flag, textLike, whole } from "../../options/option_kinds.ts";

/** The options of the log of requests that the dashboard shows. */
export interface RequestLogOptions {
  /** A SQLite file for the log, shared by workers and kept after a restart. Default: in memory. */
  readonly file?: string | undefined;
  /** The maximum number of requests in the log. Default: 100,000. */
  readonly maxRequests?: number | undefined;
  /** The approximate maximum size of the log, in bytes. Default: 33,554,432 (32 MiB). */
  readonly maxBytes?: number | undefined;
  /** How long the log keeps a request, in hours. Default: 168, which is a week. */
  readonly maxAgeHours?: number | undefined;
  /** The duration from which a statement counts as slow, in milliseconds. Default: 100. */
  readonly slowStatementMs?: number | undefined;
}

const members = {
  file: textLike("a path", /./),
  maxRequests: whole({ from: 1, to: 10_000_000 }).default(100_000),
  maxBytes: whole({ from: 1_048_576 }).default(33_554_432),
  maxAgeHours: whole({ from: 1, to: 100_000 }).default(168),
  slowStatementMs: whole({ from: 1 }).default(100),
} satisfies Described<RequestLogOptions>;

const rule = group(members).required();

export const requestLogOptionRule = either(flag(), rule).default(true);

export type ResolvedRequestLog = NonNullable<ReturnType<typeof resolveRequestLog>>;

export function resolveRequestLog(option: boolean | OptionValues<typeof members> = true) {
  if (option === false) return null;
  const { file = ":memory:", maxAgeHours, ...others } = option === true
    ? rule.read({}, { subject: "", path: "" })
    : option;
  return { ...others, file, maxAgeMs: maxAgeHours * 3_600_000 };
}
