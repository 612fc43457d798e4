import {
  type CommandWords,
  Misuse,
  readStoreArguments,
  readVerbWords,
  storeOptions,
} from "../command_options.ts";

export type CreditsCommand = ReturnType<typeof parseCreditsArguments>;
export type CreditsAction = CreditsCommand["action"];

export const creditsHelp = `Credits, in the store of service.config.ts, or in --kv FILE; --json:
  credits balance ACCOUNT
  credits history ACCOUNT [--count 20]  the newest entries first
  credits grant ACCOUNT AMOUNT [--reason TEXT] [--key KEY]
  credits consume ACCOUNT AMOUNT [--reason TEXT] [--key KEY] [--allow-negative]
  credits reverse GRANT_KEY [--amount N] [--reason TEXT] [--key KEY]
  credits audit [ACCOUNT]               adds all entries up again; 1 where they do not fit`;

/** Parses the arguments of the command `credits`. Throws a {@link Misuse}. */
export function parseCreditsArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("credits", args, {
    ...storeOptions,
    json: { type: "boolean" },
    count: { type: "string" },
    amount: { type: "string" },
    reason: { type: "string" },
    key: { type: "string" },
    "allow-negative": { type: "boolean" },
  }, {
    balance: [],
    history: ["count"],
    grant: ["reason", "key"],
    consume: ["reason", "key", "allow-negative"],
    reverse: ["amount", "reason", "key"],
    audit: [],
  });
  return {
    kind: "credits" as const,
    ...readStoreArguments(words),
    json: words.flag("json"),
    action: actionOf(verb, words),
  };
}

function actionOf(
  verb: "balance" | "history" | "grant" | "consume" | "reverse" | "audit",
  { positionals: [subject, amount, ...more], text, flag }: CommandWords<
    "count" | "amount" | "reason" | "key" | "allow-negative"
  >,
) {
  const command = `credits ${verb}`;
  const takesAmount = verb === "grant" || verb === "consume";
  const extra = takesAmount ? more[0] : amount;
  if (extra !== undefined) throw new Misuse(`${command} takes no "${extra}"`);
  if (verb === "audit") return { verb, account: subject };
  if (subject === undefined) {
    throw new Misuse(
      `${command} needs ${verb === "reverse" ? "the key of a grant" : "an account"}`,
    );
  }
  const [reason, key] = [text("reason") ?? undefined, text("key") ?? undefined];
  switch (verb) {
    case "balance":
      return { verb, account: subject };
    case "history":
      return {
        verb,
        account: subject,
        count: wholeOf(`${command} takes --count`, text("count") ?? "20"),
      };
    case "reverse": {
      const given = text("amount");
      const amount = given === null ? undefined : wholeOf(`${command} takes --amount`, given);
      return { verb, grantKey: subject, amount, reason, key };
    }
    default: {
      if (amount === undefined) throw new Misuse(`${command} needs an amount`);
      return {
        ...{ verb, account: subject, amount: wholeOf(`${command} takes the amount`, amount) },
        ...{ reason, key, allowNegative: flag("allow-negative") },
      };
    }
  }
}

function wholeOf(what: string, given: string): number {
  // `Number()` would also accept notations like `1e3` and `0x10`.
  const whole = /^\d{1,16}$/.test(given) ? Number(given) : NaN;
  if (Number.isSafeInteger(whole) && whole >= 1) return whole;
  throw new Misuse(`${what} as a whole number from 1 to 2^53 - 1, not "${given}"`);
}
