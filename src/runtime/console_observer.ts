import process from "node:process";
import { inspect } from "node:util";
import { type Described, group } from "../options/option.ts";
import { callback, oneOf, whole } from "../options/option_kinds.ts";
import { Problem } from "../problem/problem.ts";
import {
  type AccountObservation,
  describeAccountObservation,
  isAboutAccounts,
} from "./observations/account_observation.ts";
import {
  type BillingObservation,
  describeBillingObservation,
  isAboutBilling,
} from "./observations/billing_observation.ts";
import { describeOperatorObservation } from "./observations/operator_observation.ts";
import {
  describeOutboxObservation,
  isAboutOutbox,
  type OutboxObservation,
} from "./observations/outbox_observation.ts";
import { describeTablesObservation } from "./observations/tables_observation.ts";
import { describeRequestObservation } from "./observations/request_observation.ts";
import {
  describeSearchObservation,
  isAboutSearch,
  type SearchObservation,
} from "./observations/search_observation.ts";
import type { Observation, Observer } from "./observation.ts";

export interface ConsoleObserverOptions {
  /** The format: a line of text (default on a terminal) or a JSON object (default elsewhere). */
  readonly format?: "text" | "json" | undefined;
  /** Writes one line, passed without a line break. Default: writes to the standard error. */
  readonly write?: ((line: string) => void) | undefined;
  /** Returns milliseconds since 1970 for the `time` of JSON lines. */
  readonly now?: (() => number) | undefined;
  /** The number of the worker, which every line contains. Several processes can share a console. */
  readonly worker?: number | undefined;
}

/** Describes the options of the console observer. */
export const consoleObserverOptionDescriptions = group(
  {
    format: oneOf("text", "json"),
    write: callback<(line: string) => void>(),
    now: callback<() => number>(),
    worker: whole({ from: 1 }),
  } satisfies Described<ConsoleObserverOptions>,
).required();

/**
 * Returns the observer that writes every observation to the console as one line: text on a
 * terminal, JSON otherwise. Errors are written with their stack and their causes.
 */
export function consoleObserver(options: ConsoleObserverOptions = {}): Observer {
  const {
    format = process.stderr.isTTY ? "text" : "json",
    write = (line: string) => console.error(line),
    now = Date.now,
    worker,
  } = consoleObserverOptionDescriptions.read(options, { subject: "Cannot observe", path: "" });
  return (observation) => {
    write(format === "text" ? toText(observation, worker) : toJson(observation, worker, now()));
  };
}

type Level = "info" | "warning" | "error";

const levels: Readonly<Record<Observation["kind"], Level>> = {
  notice: "info",
  deprecated: "warning",
  worker_refused: "error",
  worker_started: "info",
  worker_ended: "error",
  worker_kept: "error",
  listening: "info",
  mcp_call: "info",
  request_failed: "error",
  answer_broke_off: "error",
  response_header_encoded: "warning",
  listener_failed: "error",
  unhandled_rejection: "error",
  uncaught_error: "error",
  value_does_not_fit: "warning",
  computed_failed: "error",
  live_mismatch: "error",
  aggregate_mismatch: "error",
  table_left_out: "info",
  schema_left_out: "info",
  tables_changed: "warning",
  tables_unread: "error",
  proof_of_work_refused: "info",
  captcha_refused: "info",
  captcha_verifier_failed: "error",
  idempotency_table_missing: "error",
  reader_thread_failed: "error",
  database_replaced: "error",
  idempotency_store_failed: "error",
  trust_failed: "warning",
  classify_failed: "warning",
  limits_unshared: "error",
  store_in_memory: "warning",
  draining: "info",
  request: "info",
  operator_write: "info",
  changes_unread: "error",
  live_upkeep_failed: "error",
  webhook_refused: "warning",
  webhook_claim_kept: "error",
  unattributed_money: "error",
  ungranted_money: "warning",
  customer_not_linked: "warning",
  search_outbox_missed: "error",
  search_outbox_failed: "error",
  account_event: "info",
  mail_printed: "warning",
  mail_failed: "error",
  account_work_failed: "error",
  login_risk_failed: "warning",
  credential_unread: "error",
  keys_not_fetched: "error",
  search_index_failed: "error",
  search_index_unfilled: "error",
  stream_failed: "error",
};

function toText(observation: Observation, worker: number | undefined): string {
  const source = worker === undefined ? "" : `worker ${worker}: `;
  const line = `${levels[observation.kind]}: ${source}${oneLine(describe(observation))}`;
  if (!("error" in observation)) return line;
  // The lines of a stack are indented, so that none of them looks like another observation.
  const lines = stackOf(observation.error).split("\n").filter((text) => text !== "");
  const stack = lines.map((text) => `    ${oneLine(text)}`);
  return [`${line}: ${oneLine(reasonsOf(observation.error))}`, ...stack].join("\n");
}

function describe(observation: Observation): string {
  if (isAboutBilling(observation)) return describeBillingObservation(observation);
  if (isAboutOutbox(observation)) return describeOutboxObservation(observation);
  if (isAboutAccounts(observation)) return describeAccountObservation(observation);
  if (isAboutSearch(observation)) return describeSearchObservation(observation);
  // The cast is safe: the function of a kind accepts observations of that kind.
  const sentence = sentences[observation.kind] as ((one: Observation) => string) | undefined;
  // An observer must not throw, so an observation of an unknown kind is printed as an object.
  return sentence === undefined ? inspect(observation) : sentence(observation);
}

type OtherKind =
  (AccountObservation | BillingObservation | OutboxObservation | SearchObservation)["kind"];
type Sentences = {
  readonly [Kind in Exclude<Observation["kind"], OtherKind>]: (
    one: Extract<Observation, { readonly kind: Kind }>,
  ) => string;
};

const sentences: Sentences = {
  mcp_call: ({ tool, user }) => `The tool ${tool} was called by ${user ?? "an anonymous client"}`,
  notice: (one) => one.message,
  deprecated: (one) => one.message,
  worker_refused: () => "a worker does not start",
  listening: (one) => `listening on ${one.url}`,
  request_failed: ({ method, path, suppressed = 0 }) =>
    `${method} ${path} failed${since(suppressed)}`,
  answer_broke_off: (one) => `an answer of ${one.path} broke off`,
  response_header_encoded: (one) =>
    `the response header "${one.name}" was encoded: its value may not be sent as it is`,
  listener_failed: (one) => `the listener failed and starts again in ${one.retryInMs} ms`,
  unhandled_rejection: () => "a promise was rejected and not handled",
  uncaught_error: () => "an error was thrown outside of all requests, as in a timer",
  value_does_not_fit: (one) => `a stored value of ${one.table}.${one.column} does not fit its kind`,
  computed_failed: (one) =>
    `the computed field ${one.resource}.${one.field} failed${since(one.suppressed)}`,
  live_mismatch: (one) =>
    `memory and database differ about ${one.operator} on ${one.table}.${one.column}; from now on the database evaluates it`,
  aggregate_mismatch: (one) =>
    `a live aggregate of ${one.resource} had drifted from the database, which was read again`,
  schema_left_out: (one) => `the schema ${one.schema} is left out: ${one.reason}`,
  table_left_out: (one) => `the table ${one.table} is left out: ${one.reason}`,
  tables_changed: describeTablesObservation,
  tables_unread: () => "the tables were looked at again, and could not be served as they are now",
  proof_of_work_refused: (one) => `a proof of work was refused: ${one.reason}`,
  captcha_refused: (one) => `a CAPTCHA of ${one.provider} was refused: ${one.reason}`,
  captcha_verifier_failed: (one) =>
    `the CAPTCHA verifier ${one.provider} failed, and the request was refused`,
  idempotency_table_missing: (one) =>
    `${one.database} has no room for idempotency keys: requests with one are refused`,
  reader_thread_failed: (one) =>
    `a thread for slow reads of ${one.database} ended, or did not start`,
  database_replaced: (one) => `${one.database} is unavailable: its file is not at its path`,
  idempotency_store_failed: () =>
    "the state of an Idempotency-Key could not be stored: its request may be executed again",
  trust_failed: () => "the trust hook failed: the caller gets the usual difficulty",
  classify_failed: () =>
    "the classify function failed: the caller has the budget of an anonymous one",
  limits_unshared: () =>
    "the key-value store failed: until it answers, this process limits by itself",
  store_in_memory: (one) =>
    `${one.purpose} are kept in the memory of this process, end with it and are ` +
    `shared with no other: ${one.reason}`,
  draining: () => "stopping: requests in flight are finished first",
  request: describeRequestObservation,
  operator_write: describeOperatorObservation,
  changes_unread: (one) =>
    `the log of changes could not be read, and is read again in ${one.retryInMs} ms`,
  live_upkeep_failed: () => "old changes could not be forgotten, or open streams not be looked at",
  stream_failed: (one) => `a live stream of ${one.resource} had to end`,
  worker_started: (one) => `worker ${one.worker} serves, in process ${one.pid}`,
  worker_ended: (one) =>
    `worker ${one.worker}, process ${one.pid}, ended by ${one.reason}, and is replaced`,
  worker_kept: (one) => `worker ${one.worker} and those after it are not replaced: ${one.reason}`,
};

/**
 * Returns a string without line breaks and control characters. Paths and messages come from
 * clients, whose control characters could rewrite the terminal.
 */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- matches control characters on purpose
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Returns the message of the error, then the message of each cause, in one line. */
function reasonsOf(error: unknown): string {
  const reasons: string[] = [];
  // The number of causes is limited, because an error of another library may be its own cause.
  for (let cause = error; reasons.length < maxReasons; cause = cause.cause) {
    if (!(cause instanceof Error)) break;
    reasons.push(`${cause.name}: ${cause.message}`);
  }
  return reasons.length === 0 ? typeof error : reasons.join(", because ");
}

const maxReasons = 5;

function since(suppressed: number): string {
  return suppressed === 0 ? "" : `, and ${suppressed} times since the last report`;
}

/**
 * Returns the stack of an error with its causes, or the thrown value if it is not an Error. Never
 * throws. Returns an empty string if the error is a problem for the client or a refusal of an
 * overloaded service. Any client can cause thousands of refusals, and printing a stack takes longer
 * than refusing.
 */
function stackOf(error: unknown): string {
  const isAnswer = error instanceof Problem &&
    (error.cause === undefined || error.slug === "overloaded");
  return isAnswer ? "" : inspect(error);
}

function toJson(observation: Observation, worker: number | undefined, now: number): string {
  const { kind, ...facts } = observation;
  return JSON.stringify({
    time: new Date(now).toISOString(),
    level: levels[kind],
    event: kind,
    worker,
    ...facts,
    ...("error" in facts ? errorFacts(facts.error) : {}),
  });
}

function errorFacts(error: unknown): { readonly error: string; readonly stack?: string } {
  const stack = stackOf(error);
  return { error: reasonsOf(error), ...(stack === "" ? {} : { stack }) };
}
