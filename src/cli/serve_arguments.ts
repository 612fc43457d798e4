import { isServerUrl, withParameter } from "../engines/server_url.ts";
import { listenOptionRules } from "../listen/listener.ts";
import { whole } from "../options/option_kinds.ts";
import type { ServeConfig } from "../app/serve.ts";
import {
  type CommandWords,
  configOption,
  Misuse,
  optionsOf,
  readCommandWords,
} from "./command_options.ts";
import { additionOptions, readAdditions, readSchemaOption } from "./database/additions.ts";
import { parseKeyOptions } from "./database/declared_view_keys.ts";

export type ServeCommand = Extract<
  ReturnType<typeof parseServeArguments>,
  { readonly kind: "serve" }
>;

export function parseServeArguments(args: readonly string[]) {
  const words = readCommandWords(null, args, serveOptions);
  const { positionals, text, flag } = words;
  if (flag("version")) return { kind: "version" as const };
  const [config, kv] = [text("config"), text("kv")];
  const [place = null, extra] = positionals;
  const [pooler, changesSchema] = [text("pooler"), text("changes-schema")];
  if (pooler !== null && (!isServerUrl(place ?? "") || changesSchema !== null)) {
    throw new Misuse("The option --pooler belongs to a Postgres, and excludes --changes-schema");
  }
  const replicas = words.strings("replica");
  if (replicas.length > 0 && !isServerUrl(place ?? "")) {
    throw new Misuse("The option --replica belongs to a Postgres");
  }
  const pooled = pooler === null ? place : withParameter(place ?? "", "pooler", pooler);
  const database = replicas.length === 0
    ? pooled
    : withParameter(pooled ?? "", "replicas", replicas.join(" "));
  if (extra !== undefined) {
    if (/^[a-z]+$/.test(place ?? "")) {
      throw new Misuse(`There is no command ${place}: to serve ${extra}, name it alone`);
    }
    throw new Misuse(`One database at a time: "${extra}" is one too many`);
  }
  if (database !== null && config !== null) {
    throw new Misuse(
      "Give a database or --config, not both: a configuration names its own database",
    );
  }
  const lone = ofDatabase.find((name) => flag(name) || words.strings(name).length > 0);
  if (database === null && lone !== undefined) {
    throw new Misuse(`The option --${lone} belongs to a database: name its file or URL`);
  }
  const [write, triggers] = [flag("write"), flag("triggers")];
  const historyDays = wholeOf("number of days", text("history"), whole({ from: 1, to: 36_500 }));
  if (!write && (triggers || changesSchema !== null || historyDays !== null)) {
    throw new Misuse("The options --triggers, --changes-schema and --history belong to --write");
  }
  const actAs = text("act-as");
  if (actAs !== null && actAs !== "supabase") {
    throw new Misuse(`The roles of --act-as must be those of supabase, not "${actAs}"`);
  }
  const excluded = (["users", "search", "triggers", "history"] as const)
    .find((name) => name === "history" ? historyDays !== null : flag(name));
  if (actAs !== null && excluded !== undefined) {
    throw new Misuse(`The options --act-as and --${excluded} exclude each other`);
  }
  const users = flag("users");
  if (kv !== null && !users) {
    throw new Misuse("The option --kv belongs to --users, and to the commands keys and users");
  }
  return {
    kind: "serve" as const,
    ...{ database, config, kv, actAs, users, write, triggers, changesSchema, historyDays },
    schemas: readSchemaOption(words),
    keys: parseKeyOptions(words.strings("key")),
    ...readAdditions(words, database),
    port: wholeOf("port", text("port"), listenOptionRules.port),
    host: hostOf(text("host")),
    public: flag("public"),
    ...proxyOptions(words),
    search: flag("search"),
    ui: flag("ui"),
    web: text("web"),
    watchSchema: flag("watch-schema"),
    workers: wholeOf("workers", text("workers"), workersOption),
  };
}

export type CheckCommand = ReturnType<typeof parseCheckArguments>;

export function parseCheckArguments(args: readonly string[]) {
  const own = ["--production", "--json"];
  const [production, json] = own.map((option) => args.includes(option));
  const start = parseServeArguments(args.filter((one) => !own.includes(one)));
  if (start.kind !== "serve") throw new Misuse("check has no option --version");
  return { kind: "check" as const, start, production, json };
}

const serveOptions = {
  port: { type: "string", short: "p" },
  ...optionsOf("string", "host", "trust-proxy", "mounted-at", "changes-schema", "pooler"),
  ...optionsOf("string", "schema", "act-as", "kv", "web", "history"),
  ...optionsOf("boolean", "public", "write", "triggers", "search", "ui", "watch-schema", "users"),
  ...additionOptions,
  key: { type: "string", multiple: true },
  replica: { type: "string", multiple: true },
  config: configOption,
  workers: { type: "string", short: "w" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

const ofDatabase = [
  "trust-proxy",
  "mounted-at",
  "write",
  "pooler",
  "replica",
  "schema",
  "key",
  "functions",
  "extension",
  "search",
  "watch-schema",
  "act-as",
  "users",
] as const;

/** No machine needs more than 256 worker processes. */
const workersOption = whole({ from: 1, to: 256 });

function proxyOptions(
  { text }: CommandWords<"trust-proxy" | "mounted-at">,
): { readonly proxies?: Pick<ServeConfig, "abuseProtection" | "mountedAt"> } {
  const trustProxy = wholeOf("number of proxies", text("trust-proxy"), whole({ from: 0 }));
  const mountedAt = text("mounted-at");
  if (trustProxy === null && mountedAt === null) return {};
  return {
    proxies: {
      ...(trustProxy === null ? {} : { abuseProtection: { trustProxy } }),
      ...(mountedAt === null ? {} : { mountedAt }),
    },
  };
}

function wholeOf(
  name: string,
  given: string | null,
  { rules }: typeof workersOption,
): number | null {
  if (given === null) return null;
  // `Number()` would also accept notations like `1e3` and `0x10`.
  const number = /^\d+$/.test(given) ? Number(given) : NaN;
  if (rules.fits(number)) return number;
  throw new Misuse(`The ${name} must be ${rules.takes}, not "${given}"`);
}

function hostOf(given: string | null): string | null {
  const { rules } = listenOptionRules.host;
  if (given === null || rules.fits(given)) return given;
  throw new Misuse(`The host must be ${rules.takes}, not "${given}"`);
}
