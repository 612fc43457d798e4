import { readCommandWords, stringOption } from "../command_options.ts";

/** The arguments of a command for the search outbox. */
export interface OutboxCommand {
  readonly kind: "outbox";
  readonly verb: OutboxVerb;
  /** The file or URL of the key-value store, or null if the option `--kv` is missing. */
  readonly kv: string | null;
  /** The path of a configuration file, or null if the option `--config` is missing. */
  readonly config: string | null;
  /** True if the output is JSON with one value per line. */
  readonly json: boolean;
}

type OutboxVerb = (typeof verbs)[number];

const verbs = ["stats", "dead", "replay"] as const;

/** The section of `--help` about the search outbox. */
export const outboxHelp =
  `  search outbox [stats]     what waits in the store of service.config.ts, or
                            in --kv FILE; --json
  search outbox dead        what failed too often, and why; search outbox
                            replay tries it again`;

/** Returns true if the command line starts with a command for the search outbox. */
export function isOutboxCommand([first, second]: readonly string[]): boolean {
  return first === "search" && second === "outbox";
}

/** Parses the arguments of a command for the search outbox. Never throws. */
export function parseOutboxArguments(
  [_search, _outbox, ...args]: readonly string[],
): OutboxCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const words = readCommandWords(args, options);
  const { values, positionals } = words;
  if (values.help === true) return { kind: "help" };
  const fault = words.fault("search outbox");
  if (fault !== null) return { kind: "misused", message: fault };
  const [given = "stats", extra] = positionals;
  const verb = verbs.find((name) => name === given);
  if (verb === undefined || extra !== undefined) {
    const message = `search outbox takes one of ${verbs.join(", ")}, not "${extra ?? given}"`;
    return { kind: "misused", message };
  }
  const [kv, config] = [stringOption(values.kv), stringOption(values.config)];
  if (kv !== null && config !== null) {
    const message = "Give --kv or --config, not both: a configuration names its own store";
    return { kind: "misused", message };
  }
  return { kind: "outbox", verb, kv, config, json: values.json === true };
}

const options = {
  kv: { type: "string" },
  config: { type: "string", short: "c" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;
