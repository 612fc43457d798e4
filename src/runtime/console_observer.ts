import process from "node:process";
import { inspect } from "node:util";
import { groupOf } from "../options/option.ts";
import { callback, oneOf, whole } from "../options/option_kinds.ts";
import { Problem } from "../problem/problem.ts";
import { describeAccountEvent } from "./observations/account_facts.ts";
import { describeOperatorObservation } from "./observations/operator_observation.ts";
import { describeRequestObservation } from "./observations/request_observation.ts";
import { describeTablesChanged } from "./observations/tables_changed.ts";
import type { Observation, Observer } from "./runtime.ts";
import { environmentVariable } from "./system_runtime.ts";

/** The options of {@link consoleObserver}. */
export interface ConsoleObserverOptions {
  /** The format: text lines (default on a terminal) or JSON objects (default elsewhere). */
  readonly format?: "text" | "json" | undefined;
  /**
   * Writes one line, which has no line break at its end. Default: writes to the standard error.
   * With `OTEL_DENO=true`, the default writes notices to the standard output, because Deno exports
   * each line on the standard error to OpenTelemetry as an error.
   */
  readonly write?: ((line: string) => void) | undefined;
  /** Returns milliseconds since 1970 for the `time` of JSON lines. */
  readonly now?: (() => number) | undefined;
  /** The number of the worker process, shown in each line because processes can share a console. */
  readonly worker?: number | undefined;
}

export const consoleObserverOptionRules = groupOf<ConsoleObserverOptions>()({
  format: oneOf("text", "json"),
  write: callback<(line: string) => void>(),
  now: callback<() => number>(),
  worker: whole({ from: 1 }),
}).required();

/** Returns the observer that writes each observation as one line, and errors with their stack. */
export function consoleObserver(options: ConsoleObserverOptions = {}): Observer {
  const {
    format = process.stderr.isTTY ? "text" : "json",
    write,
    now = Date.now,
    worker,
  } = consoleObserverOptionRules.read(options, { subject: "Cannot observe", path: "" });
  const print = environmentVariable("OTEL_DENO") === "true" ? printByLevel : printAll;
  return (observation) => {
    const line = format === "text"
      ? toText(observation, worker)
      : toJson(observation, worker, now());
    if (write === undefined) print[levelOf(observation)](line);
    else write(line);
  };
}

type Print = Readonly<Record<ReturnType<typeof levelOf>, (line: string) => void>>;

const printError = (line: string) => console.error(line);
const printAll: Print = { info: printError, warning: printError, error: printError };
const printByLevel: Print = {
  info: (line) => console.info(line),
  warning: (line) => console.warn(line),
  error: printError,
};

function toText(observation: Observation, worker: number | undefined): string {
  const source = worker === undefined ? "" : `worker ${worker}: `;
  const line = `${levelOf(observation)}: ${source}${oneLine(describe(observation))}`;
  if (!("error" in observation)) return line;
  // The lines of a stack are indented, so that no line looks like another observation.
  const lines = stackOf(observation.error).split("\n").filter((text) => text !== "");
  const stack = lines.map((text) => `    ${oneLine(text)}`);
  return [`${line}: ${oneLine(reasonsOf(observation.error))}`, ...stack].join("\n");
}

function describe(observation: Observation): string {
  // The cast is safe: the function of a kind accepts observations of that kind.
  const sentence = sentences[observation.kind] as ((one: Observation) => string) | undefined;
  // An observer must not throw, so an observation of an unknown kind is printed as an object.
  return sentence === undefined ? inspect(observation) : sentence(observation);
}

function levelOf({ kind }: Observation): "info" | "warning" | "error" {
  if (Object.hasOwn(infos, kind)) return "info";
  return Object.hasOwn(warnings, kind) ? "warning" : "error";
}

type Sentences = {
  readonly [Kind in Observation["kind"]]: (
    one: Extract<Observation, { readonly kind: Kind }>,
  ) => string;
};

const infos = {
  notice: (one) => one.message,
  worker_started: (one) => `worker ${one.worker} serves, in process ${one.pid}`,
  listening: (one) => `listening on ${one.url}`,
  mcp_call: ({ tool, user }) => `The tool ${tool} was called by ${user ?? "an anonymous client"}`,
  table_left_out: (one) => `the table ${one.table} is left out: ${one.reason}`,
  schema_left_out: (one) => `the schema ${one.schema} is left out: ${one.reason}`,
  proof_of_work_refused: (one) => `a proof of work was refused: ${one.reason}`,
  captcha_refused: (one) => `a CAPTCHA of ${one.provider} was refused: ${one.reason}`,
  draining: () => "stopping: requests in flight are finished first",
  request: describeRequestObservation,
  operator_write: describeOperatorObservation,
  account_event: describeAccountEvent,
} satisfies Partial<Sentences>;

const warnings = {
  response_header_encoded: (one) =>
    `the response header "${one.name}" was encoded: its value may not be sent as it is`,
  value_does_not_fit: (one) => `a stored value of ${one.table}.${one.column} does not fit its kind`,
  tables_changed: describeTablesChanged,
  trust_failed: () => "the trust hook failed: the caller gets the usual difficulty",
  classify_failed: () =>
    "the classify function failed: the caller has the budget of an anonymous one",
  store_in_memory: (one) =>
    `${one.purpose} are kept in the memory of this process, end with it and are ` +
    `shared with no other: ${one.reason}`,
  webhook_refused: (one) => `a delivery in the name of ${one.provider} was refused: ${one.reason}`,
  ungranted_money: (one) =>
    `the payment ${one.payment} of ${one.provider} granted nothing: ${one.reason}`,
  customer_not_linked: (one) =>
    `the customer ${one.customer} of ${one.provider} paid for a second account, and stays with the first`,
  mail_printed: ({ mailKind, email, link }) =>
    `the mail ${mailKind} to ${email} is only printed: ${link ?? "it has no link"}`,
  login_risk_failed: () => "the required function failed: the login needs a CAPTCHA",
} satisfies Partial<Sentences>;

const sentences: Sentences = {
  ...infos,
  ...warnings,
  worker_refused: () => "a worker does not start",
  worker_ended: (one) =>
    `worker ${one.worker}, process ${one.pid}, ended by ${one.reason}, and is replaced`,
  worker_kept: (one) => `worker ${one.worker} and those after it are not replaced: ${one.reason}`,
  request_failed: ({ method, path, suppressed = 0 }) =>
    `${method} ${path} failed${since(suppressed)}`,
  answer_broke_off: (one) => `an answer of ${one.path} broke off`,
  listener_failed: (one) => `the listener failed and starts again in ${one.retryInMs} ms`,
  unhandled_rejection: () => "a promise was rejected and not handled",
  uncaught_error: () => "an error was thrown outside of all requests, as in a timer",
  computed_failed: (one) =>
    `the computed field ${one.resource}.${one.field} failed${since(one.suppressed)}`,
  live_mismatch: (one) =>
    `memory and database differ about ${one.operator} on ${one.table}.${one.column}; from now on the database evaluates it`,
  aggregate_mismatch: (one) =>
    `a live aggregate of ${one.resource} had drifted from the database, which was read again`,
  tables_unread: () => "the tables were looked at again, and could not be served as they are now",
  captcha_verifier_failed: (one) =>
    `the CAPTCHA verifier ${one.provider} failed, and the request was refused`,
  idempotency_table_missing: (one) =>
    `${one.database} has no room for idempotency keys: requests with one are refused`,
  reader_thread_failed: (one) =>
    `a thread for slow reads of ${one.database} ended, or did not start`,
  database_replaced: (one) => `${one.database} is unavailable: its file is damaged or replaced`,
  idempotency_store_failed: () =>
    "the state of an Idempotency-Key could not be stored: its request may be executed again",
  limits_unshared: () =>
    "the key-value store failed: until it answers, this process limits by itself",
  changes_unread: (one) =>
    `the log of changes could not be read, and is read again in ${one.retryInMs} ms`,
  live_upkeep_failed: () => "old changes could not be forgotten, or open streams not be looked at",
  stream_failed: (one) => `a live stream of ${one.resource} had to end`,
  webhook_claim_kept: (one) =>
    `an event of ${one.provider} failed, and can be repeated only after a minute`,
  unattributed_money: (one) =>
    `the payment ${one.payment} of ${one.provider} names no account: nothing was granted`,
  search_outbox_missed: (one) =>
    `the store did not take ${one.count} changes of the search index "${one.index}": they are in memory until it does`,
  search_outbox_failed: () => "the search outbox was not drained",
  search_index_failed: (one) =>
    `the search index ${one.index} did not take the changes of ${one.rows} rows`,
  search_index_unfilled: (one) =>
    `the search index ${one.index} could not be filled, and is tried again in ${one.retryInMs} ms`,
  mail_failed: (one) => `the mail ${one.mailKind} was not sent`,
  account_work_failed: () =>
    "a signup or a reset failed after its answer: the client has to repeat it",
  credential_unread: () =>
    "the credential of open streams could not be read: they end in a minute unless it can",
  keys_not_fetched: (one) =>
    `the keys at ${one.url} were not fetched; those that are known stay in use`,
};

/** Escapes control characters in a client's string. A terminal could execute them. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- matches control characters on purpose
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function reasonsOf(error: unknown): string {
  const reasons: string[] = [];
  let [cause, previous]: [unknown, string] = [error, ""];
  // The number of causes is limited, because an error of another library can be its own cause.
  for (let depth = 0; depth < maxReasons && cause instanceof Error; depth++) {
    const { name, message } = cause;
    // An error often repeats the message of its cause.
    if (depth === 0 || !previous.includes(message)) reasons.push(`${name}: ${message}`);
    [cause, previous] = [cause.cause, message];
  }
  return reasons.length === 0 ? typeof error : reasons.join(", because ");
}

const maxReasons = 5;

function since(suppressed: number): string {
  return suppressed === 0 ? "" : `, and ${suppressed} times since the last report`;
}

/**
 * Returns the stack of an error with its causes, or the thrown value. Returns an empty string for
 * errors that clients can cause by the thousand, because printing takes longer than the response.
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
    level: levelOf(observation),
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
