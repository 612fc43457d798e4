import {
  configOption,
  Misuse,
  optionsOf,
  readCommandWords,
  readStoreArguments,
  readVerbWords,
  storeOptions,
} from "./command_options.ts";
import { additionOptions, readAdditions, readSchemaOption } from "./database/additions.ts";

export type CreditsCommand = ReturnType<typeof parseCreditsArguments>;

/** The words after each verb of `credits`. An account after `audit` is optional. */
const creditWords = {
  balance: ["an account"],
  history: ["an account"],
  grant: ["an account", "an amount"],
  consume: ["an account", "an amount"],
  reverse: ["the key of a grant"],
  audit: [],
} as const;

export function parseCreditsArguments(args: readonly string[]) {
  const { verb, words } = readVerbWords("credits", args, {
    ...storeOptions,
    ...optionsOf("boolean", "json", "allow-negative"),
    ...optionsOf("string", "count", "amount", "reason", "key"),
  }, {
    balance: [],
    history: ["count"],
    grant: ["reason", "key"],
    consume: ["reason", "key", "allow-negative"],
    reverse: ["amount", "reason", "key"],
    audit: [],
  });
  const { positionals, text } = words;
  const missing = creditWords[verb][positionals.length];
  if (missing !== undefined) throw new Misuse(`credits ${verb} needs ${missing}`);
  const extra = positionals[Math.max(1, creditWords[verb].length)];
  if (extra !== undefined) throw new Misuse(`credits ${verb} takes no "${extra}"`);
  const [subject = "", amount] = positionals;
  const whole = (name: string, given: string | null) =>
    given === null ? null : wholeOf(`credits ${verb} takes ${name}`, given);
  return {
    ...{ kind: "credits" as const, verb, subject, ...readStoreArguments(words) },
    count: whole("--count", text("count")) ?? 20,
    amount: whole("the amount", amount ?? null) ?? whole("--amount", text("amount")),
    ...{ reason: text("reason") ?? undefined, key: text("key") ?? undefined },
    ...{ allowNegative: words.flag("allow-negative"), json: words.flag("json") },
  };
}

function wholeOf(what: string, given: string): number {
  // `Number()` would also accept notations like `1e3` and `0x10`.
  const whole = /^\d{1,16}$/.test(given) ? Number(given) : NaN;
  if (Number.isSafeInteger(whole) && whole >= 1) return whole;
  throw new Misuse(`${what} as a whole number from 1 to 2^53 - 1, not "${given}"`);
}

export type DescribeCommand = ReturnType<typeof parseDescribeArguments>;

type DescriptionForm = "types" | "openapi";

export function parseDescribeArguments(form: DescriptionForm, args: readonly string[]) {
  const words = readCommandWords(form, args, {
    config: configOption,
    ...optionsOf("string", "token", "check"),
    ...(form === "openapi" ? { yaml: { type: "boolean" } as const } : {}),
  });
  const [source, extra] = words.positionals;
  const config = words.text("config");
  if (extra !== undefined) {
    throw new Misuse(`${form} takes one file or URL: "${extra}" is too much`);
  }
  if (source !== undefined && config !== null) {
    throw new Misuse(`${form} takes "${source}" or --config, not both`);
  }
  const isUrl = source !== undefined && /^https?:\/\//i.test(source);
  if (isUrl && URL.parse(source) === null) throw new Misuse(`${form}: "${source}" is no URL`);
  if (source !== undefined && !isUrl && !/\.[cm]?[jt]s$/i.test(source)) {
    throw new Misuse(
      `${form} takes a configuration or the URL of a service, not "${source}": ` +
        "start the service of a database, and give its URL",
    );
  }
  const token = words.text("token");
  if (token !== null && !isUrl) throw new Misuse(`${form} takes --token with a URL only`);
  return {
    kind: "describe" as const,
    form,
    yaml: words.flag("yaml"),
    url: isUrl ? source : null,
    config: isUrl ? null : source ?? config,
    token,
    check: words.text("check"),
  };
}

export type McpCommand = ReturnType<typeof parseMcpArguments>;

export function parseMcpArguments(args: readonly string[]) {
  const words = readCommandWords("mcp", args, {
    write: { type: "boolean" },
    schema: { type: "string" },
    ...additionOptions,
  });
  const [database, extra] = words.positionals;
  if (database === undefined) throw new Misuse("mcp needs a database: a SQLite file or a URL");
  if (extra !== undefined) throw new Misuse(`mcp takes one database: "${extra}" is one too many`);
  return {
    ...{
      kind: "mcp" as const,
      database,
      write: words.flag("write"),
      schemas: readSchemaOption(words),
    },
    ...readAdditions(words, database),
  };
}

export type SearchCommand = ReturnType<typeof parseSearchArguments>;

export function parseSearchArguments(args: readonly string[]) {
  const words = readCommandWords("search", args, {
    config: configOption,
    schema: { type: "string" },
    ...additionOptions,
  });
  const [action, database = null, extra] = words.positionals;
  if (action !== "reindex") throw new Misuse("search takes reindex or outbox");
  if (extra !== undefined) {
    throw new Misuse(`search reindex takes one database: "${extra}" is too much`);
  }
  const config = words.text("config");
  if (database !== null && config !== null) {
    throw new Misuse("search reindex takes a database or --config, not both");
  }
  const schemas = readSchemaOption(words);
  return { kind: "search" as const, database, config, schemas, ...readAdditions(words, database) };
}

export type OutboxCommand = ReturnType<typeof parseOutboxArguments>;

const verbs = ["stats", "dead", "replay"] as const;

export function parseOutboxArguments(args: readonly string[]) {
  const words = readCommandWords("search outbox", args, {
    ...storeOptions,
    json: { type: "boolean" },
  });
  const [given = "stats", extra] = words.positionals;
  const verb = verbs.find((name) => name === given);
  if (verb === undefined || extra !== undefined) {
    throw new Misuse(`search outbox takes one of ${verbs.join(", ")}, not "${extra ?? given}"`);
  }
  return { kind: "outbox" as const, verb, ...readStoreArguments(words), json: words.flag("json") };
}

export type UninstallCommand = ReturnType<typeof parseUninstallArguments>;

export function parseUninstallArguments(args: readonly string[]) {
  const [database, extra] = readCommandWords("uninstall", args, {}).positionals;
  if (database !== undefined && extra === undefined) {
    return { kind: "uninstall" as const, database };
  }
  throw new Misuse("uninstall takes one database: name its file or URL");
}
