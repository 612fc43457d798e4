import { readCommandWords, stringOption } from "../command_options.ts";

/** The arguments of a command for the credits ledger. */
export interface CreditsCommand {
  readonly kind: "credits";
  /** The file or URL of the key-value store, or null if the option `--kv` is missing. */
  readonly kv: string | null;
  /** The path of a configuration file, or null if the option `--config` is missing. */
  readonly config: string | null;
  /** True if the output is JSON with one value per line. */
  readonly json: boolean;
  readonly action: CreditsAction;
}

/** The action that a command performs on the credits ledger. */
export type CreditsAction =
  | { readonly verb: "balance"; readonly account: string }
  | { readonly verb: "history"; readonly account: string; readonly count: number }
  | {
    readonly verb: "grant" | "consume";
    readonly account: string;
    readonly amount: number;
    readonly reason: string | undefined;
    readonly key: string | undefined;
    readonly allowNegative: boolean;
  }
  | {
    readonly verb: "reverse";
    readonly grantKey: string;
    readonly amount: number | undefined;
    readonly reason: string | undefined;
    readonly key: string | undefined;
  }
  | { readonly verb: "audit"; readonly account: string | undefined };

/** The section of `--help` about credits. */
export const creditsHelp = `Credits, in the store of service.config.ts, or in --kv FILE; --json:
  credits balance ACCOUNT
  credits history ACCOUNT [--count 20]  the newest entries first
  credits grant ACCOUNT AMOUNT [--reason TEXT] [--key KEY]
  credits consume ACCOUNT AMOUNT [--reason TEXT] [--key KEY] [--allow-negative]
  credits reverse GRANT_KEY [--amount N] [--reason TEXT] [--key KEY]
  credits audit [ACCOUNT]               adds all entries up again; 1 where they do not fit`;

/** Returns true if the command line starts with a command for credits. */
export function isCreditsCommand([first]: readonly string[]): boolean {
  return first === "credits";
}

/** Parses the arguments of a command for credits. Never throws. */
export function parseCreditsArguments(
  [, ...args]: readonly string[],
): CreditsCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const words = readCommandWords(args, options);
  const { values, positionals } = words;
  if (values.help === true) return { kind: "help" };
  const [verb = "", ...rest] = positionals;
  const own = Object.hasOwn(allowedOptions, verb) ? allowedOptions[verb] : undefined;
  if (own === undefined) {
    const found = verb === "" ? "" : `, not "${verb}"`;
    return misused(`credits takes ${Object.keys(allowedOptions).join(", ")}${found}`);
  }
  const fault = words.fault(`credits ${verb}`, [...own, "kv", "config", "json", "help"]);
  if (fault !== null) return misused(fault);
  const action = actionOf(verb, rest, values);
  if (typeof action === "string") return misused(`credits ${verb} ${action}`);
  const { kv, config } = values;
  return {
    kind: "credits",
    kv: stringOption(kv),
    config: stringOption(config),
    json: values.json === true,
    action,
  };
}

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const options = {
  kv: text,
  config: { ...text, short: "c" },
  json: flag,
  count: text,
  amount: text,
  reason: text,
  key: text,
  "allow-negative": flag,
  help: { ...flag, short: "h" },
} as const;

/** The options of each command besides --kv, --config and --json. */
const allowedOptions: Readonly<Record<string, readonly string[]>> = {
  balance: [],
  history: ["count"],
  grant: ["reason", "key"],
  consume: ["reason", "key", "allow-negative"],
  reverse: ["amount", "reason", "key"],
  audit: [],
};

type Values = Readonly<Record<string, unknown>>;

function actionOf(
  verb: string,
  [subject, amount, ...more]: readonly string[],
  values: Values,
): CreditsAction | string {
  const takesAmount = verb === "grant" || verb === "consume";
  const extra = takesAmount ? more[0] : amount;
  if (extra !== undefined) return `takes no "${extra}"`;
  if (verb === "audit") return { verb, account: subject };
  if (subject === undefined) {
    return verb === "reverse" ? "needs the key of a grant" : "needs an account";
  }
  const reason = stringOption(values.reason) ?? undefined;
  const key = stringOption(values.key) ?? undefined;
  if (takesAmount) {
    if (amount === undefined) return "needs an amount";
    const allowNegative = values["allow-negative"] === true;
    return wholeOf("the amount", amount, (amount) => ({
      ...{ verb, account: subject, amount, reason, key, allowNegative },
    }));
  }
  if (verb === "balance") return { verb, account: subject };
  if (verb === "history") {
    const given = stringOption(values.count) ?? "20";
    return wholeOf("--count", given, (count) => ({ verb: "history", account: subject, count }));
  }
  const given = stringOption(values.amount);
  const reversal = { verb: "reverse", grantKey: subject, reason, key } as const;
  if (given === null) return { ...reversal, amount: undefined };
  return wholeOf("--amount", given, (amount) => ({ ...reversal, amount }));
}

function wholeOf(
  name: string,
  given: string,
  use: (whole: number) => CreditsAction,
): CreditsAction | string {
  // `Number()` would also accept notations such as `1e3` and `0x10`.
  const whole = /^\d{1,16}$/.test(given) ? Number(given) : NaN;
  return Number.isSafeInteger(whole) && whole >= 1
    ? use(whole)
    : `takes ${name} as a whole number from 1 to 2^53 - 1, not "${given}"`;
}

function misused(message: string): { readonly kind: "misused"; readonly message: string } {
  return { kind: "misused", message };
}
