import process from "node:process";
import { inspect } from "node:util";
import { type Described, group } from "../options/option.ts";
import { callback, oneOf, whole } from "../options/option_kinds.ts";
import { Problem } from "../problem/problem.ts";
import { describeAccount, isAboutAccounts } from "./observations/account_observation.ts";
import { describeBilling, isAboutBilling } from "./observations/billing_observation.ts";
import type { Observation, Observer } from "./observation.ts";

/** Where and how the console observer writes. */
export interface ConsoleObserverOptions {
  /** One line of text, or one JSON object. By default text on a terminal, else JSON. */
  readonly format?: "text" | "json" | undefined;
  /** Takes one line without its line break; by default it goes to the standard error. */
  readonly write?: ((line: string) => void) | undefined;
  /** Milliseconds since 1970 for the `time` of JSON lines. */
  readonly now?: (() => number) | undefined;
  /** The number of the worker, for every line, where several processes write to one console. */
  readonly worker?: number | undefined;
}

/** The options of the console observer, described. */
export const consoleObserverOptions = group(
  {
    format: oneOf("text", "json"),
    write: callback<(line: string) => void>(),
    now: callback<() => number>(),
    worker: whole({ from: 1 }),
  } satisfies Described<ConsoleObserverOptions>,
).required();

/**
 * The observer that writes every observation to the console as one line: text on a terminal, JSON
 * where a program collects it. Errors are written with their stack and their causes.
 */
export function consoleObserver(options: ConsoleObserverOptions = {}): Observer {
  const {
    format = process.stderr.isTTY ? "text" : "json",
    write = (line: string) => console.error(line),
    now = Date.now,
    worker,
  } = consoleObserverOptions.read(options, { subject: "Cannot observe", path: "" });
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
  proof_of_work_refused: "info",
  captcha_refused: "info",
  captcha_verifier_failed: "error",
  idempotency_table_missing: "error",
  reader_thread_failed: "error",
  idempotency_store_failed: "error",
  trust_failed: "warning",
  classify_failed: "warning",
  limits_unshared: "error",
  store_in_memory: "warning",
  draining: "info",
  changes_unread: "error",
  live_upkeep_failed: "error",
  webhook_refused: "warning",
  webhook_claim_kept: "error",
  unattributed_money: "error",
  account_event: "info",
  mail_printed: "warning",
  mail_failed: "error",
  account_work_failed: "error",
  login_risk_failed: "warning",
  credential_unread: "error",
  keys_not_fetched: "error",
  stream_failed: "error",
};

function toText(observation: Observation, worker: number | undefined): string {
  const source = worker === undefined ? "" : `worker ${worker}: `;
  const line = `${levels[observation.kind]}: ${source}${oneLine(describe(observation))}`;
  if (!("error" in observation)) return line;
  // The lines of a stack are indented, so that none can be taken for another observation.
  const lines = stackOf(observation.error).split("\n").filter((text) => text !== "");
  const stack = lines.map((text) => `    ${oneLine(text)}`);
  return [`${line}: ${oneLine(reasonsOf(observation.error))}`, ...stack].join("\n");
}

function describe(observation: Observation): string {
  if (isAboutBilling(observation)) return describeBilling(observation);
  if (isAboutAccounts(observation)) return describeAccount(observation);
  switch (observation.kind) {
    case "notice":
    case "deprecated":
      return observation.message;
    case "worker_refused":
      return "a worker does not start";
    case "worker_started":
      return `worker ${observation.worker} serves, in process ${observation.pid}`;
    case "worker_ended":
      return `worker ${observation.worker}, process ${observation.pid}, ended by ${observation.reason}, and is replaced`;
    case "worker_kept":
      return `worker ${observation.worker} and those after it are not replaced: ${observation.reason}`;
    case "listening":
      return `listening on ${observation.url}`;
    case "request_failed":
      return `${observation.method} ${observation.path} failed`;
    case "answer_broke_off":
      return `an answer of ${observation.path} broke off`;
    case "response_header_encoded":
      return `the response header "${observation.name}" was encoded: its value may not be sent as it is`;
    case "listener_failed":
      return `the listener failed and starts again in ${observation.retryInMs} ms`;
    case "unhandled_rejection":
      return "a promise was rejected and not handled";
    case "uncaught_error":
      return "an error was thrown outside of all requests, as in a timer";
    case "value_does_not_fit":
      return `a stored value of ${observation.table}.${observation.column} does not fit its kind`;
    case "computed_failed":
      return computedFailure(observation);
    case "live_mismatch":
      return `memory and database differ about ${observation.operator} on ${observation.table}.${observation.column}; from now on the database evaluates it`;
    case "aggregate_mismatch":
      return `a live aggregate of ${observation.resource} had drifted from the database, which was read again`;
    case "table_left_out":
      return `the table ${observation.table} is left out: ${observation.reason}`;
    case "proof_of_work_refused":
      return `a proof of work was refused: ${observation.reason}`;
    case "captcha_refused":
      return `a CAPTCHA of ${observation.provider} was refused: ${observation.reason}`;
    case "captcha_verifier_failed":
      return `the CAPTCHA verifier ${observation.provider} failed, and the request was refused`;
    case "idempotency_table_missing":
      return `${observation.database} has no room for idempotency keys: requests with one are refused`;
    case "reader_thread_failed":
      return `a thread for slow reads of ${observation.database} ended, or did not start`;
    case "idempotency_store_failed":
      return "the state of an Idempotency-Key could not be stored: its request may be executed again";
    case "trust_failed":
      return "the trust hook failed: the caller gets the usual difficulty";
    case "classify_failed":
      return "the classify function failed: the caller has the budget of an anonymous one";
    case "limits_unshared":
      return "the key-value store failed: until it answers, this process limits by itself";
    case "store_in_memory":
      return `${observation.purpose} are kept in the memory of this process, end with it and are ` +
        `shared with no other: ${observation.reason}`;
    case "draining":
      return "stopping: requests in flight are finished first";
    case "changes_unread":
      return `the log of changes could not be read, and is read again in ${observation.retryInMs} ms`;
    case "live_upkeep_failed":
      return "old changes could not be forgotten, or open streams not be looked at";
    case "stream_failed":
      return `a live stream of ${observation.resource} had to end`;
    default: {
      // An observer must not throw, so an unknown kind is shown as it is.
      const never: never = observation;
      return inspect(never);
    }
  }
}

function computedFailure(
  { resource, field, suppressed }: Observation & { readonly kind: "computed_failed" },
): string {
  const failed = `the computed field ${resource}.${field} failed`;
  return suppressed === 0 ? failed : `${failed}, and ${suppressed} times since the last report`;
}

/** Paths and messages are input: a control character in them could rewrite the terminal. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- matches control characters on purpose
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** What went wrong and why, in one line: the message of the error, then that of each cause. */
function reasonsOf(error: unknown): string {
  const reasons: string[] = [];
  // A foreign error may be its own cause.
  for (let cause = error; reasons.length < maxReasons; cause = cause.cause) {
    if (!(cause instanceof Error)) break;
    reasons.push(`${cause.name}: ${cause.message}`);
  }
  return reasons.length === 0 ? typeof error : reasons.join(", because ");
}

const maxReasons = 5;

/**
 * Stack and causes, or the thrown value where it is no error; never throws. Empty for a problem that
 * is nothing but the answer, and for the refusals of an overloaded service: any client can cause
 * thousands of them, and a stack takes longer than the refusal.
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
