import { parseArgs } from "node:util";
import { listenOptionDescriptions } from "../listen/listener.ts";
import { whole } from "../options/option_kinds.ts";
import { nearestName } from "../problem/nearest_name.ts";
import { type DeclaredKeys, readDeclaredKeys } from "./database/declared_keys.ts";
import { readSchemaNames, schemaError } from "./database/schema_names.ts";
import { serveOptionDescriptions as options } from "./serve_options.ts";

/**
 * The arguments of the command that serves a database, a configuration file or the demonstration.
 * The default is the configuration file in the current folder.
 */
export interface ServeCommand {
  readonly kind: "serve";
  /** A file or a URL of a database, or null if the arguments name no database. */
  readonly database: string | null;
  /** The path of a configuration file, or null if the option `--config` is missing. */
  readonly config: string | null;
  readonly port: number | null;
  readonly host: string | null;
  readonly public: boolean;
  readonly write: boolean;
  /** The Postgres schemas to serve, or null for the first schema of the search path. */
  readonly schemas: readonly string[] | null;
  /** The key columns of views, and of tables without a primary key. */
  readonly keys: DeclaredKeys;
  /** The path of the module with SQL functions, or null if the option is missing. */
  readonly functions: string | null;
  /** The paths of SQLite extensions. */
  readonly extensions: readonly string[];
  /** True if database triggers record the changes of all programs. */
  readonly triggers: boolean;
  /** The Postgres schema that contains the change log, or null for the default schema. */
  readonly changesSchema: string | null;
  /** True if every table with string columns is searchable. */
  readonly search: boolean;
  /** True if the service has a dashboard. */
  readonly ui: boolean;
  /** True if the service checks every few seconds whether the tables have changed. */
  readonly watchSchema: boolean;
  /** True if accounts can log in. */
  readonly users: boolean;
  /** The file or URL of the store for accounts, or null if the option `--kv` is missing. */
  readonly kv: string | null;
  /** The number of worker processes, or null to serve in this process alone. */
  readonly workers: number | null;
  /** How connections are distributed. Null uses the kernel if possible, or else the proxy. */
  readonly balancer: BalancerName | null;
}

/** How connections are distributed to the workers. See `--balancer` in the help. */
export type BalancerName = "kernel" | "proxy";

/** A parsed `serve` command, or the reason why the arguments are invalid (`misused`). */
export type ServeArguments =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | ServeCommand
  | { readonly kind: "misused"; readonly message: string };

/** Parses the arguments of the command that serves. Never throws. */
export function parseServeArguments(args: readonly string[]): ServeArguments {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    // Strict parsing would throw messages that do not suggest the nearest option.
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    const fault = token.kind === "option" ? faultOf(token) : null;
    if (fault !== null) return misused(fault);
  }
  if (values.help === true) return { kind: "help" };
  if (values.version === true) return { kind: "version" };
  return serveCommand({
    positionals,
    config: textOf(values.config),
    port: textOf(values.port),
    host: textOf(values.host),
    public: values.public === true,
    write: values.write === true,
    schema: textOf(values.schema),
    keys: [values.key ?? []].flat().map(String),
    functions: textOf(values.functions),
    extensions: [values.extension ?? []].flat().map(String),
    triggers: values.triggers === true,
    changesSchema: textOf(values["changes-schema"]),
    search: values.search === true,
    ui: values.ui === true,
    watchSchema: values["watch-schema"] === true,
    users: values.users === true,
    kv: textOf(values.kv),
    workers: textOf(values.workers),
    balancer: textOf(values.balancer),
  });
}

const { port, host } = listenOptionDescriptions;

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
}

function faultOf({ name, rawName, value }: OptionToken): string | null {
  if (!Object.hasOwn(options, name)) {
    const known = nearestName(name, Object.keys(options));
    return `Unknown option ${rawName}${known === null ? "" : `: did you mean --${known}?`}`;
  }
  // `hasOwn` above ensures that the name is a key of `options`.
  const { type } = options[name as keyof typeof options];
  if (type === "boolean" && value !== undefined) return `The option ${rawName} takes no value`;
  // In `--config --write`, the parser would use the next option as the file name.
  if (type === "string" && (value === undefined || value === "" || value.startsWith("-"))) {
    return `The option ${rawName} needs a value`;
  }
  return null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

interface Given {
  readonly positionals: readonly string[];
  readonly schema: string | null;
  readonly keys: readonly string[];
  readonly functions: string | null;
  readonly extensions: readonly string[];
  readonly config: string | null;
  readonly port: string | null;
  readonly host: string | null;
  readonly public: boolean;
  readonly write: boolean;
  readonly triggers: boolean;
  readonly changesSchema: string | null;
  readonly search: boolean;
  readonly ui: boolean;
  readonly watchSchema: boolean;
  readonly users: boolean;
  readonly kv: string | null;
  readonly workers: string | null;
  readonly balancer: string | null;
}

function serveCommand(given: Given): ServeArguments {
  const { positionals, config, balancer } = given;
  const workers = given.workers === null ? null : wholeOf(given.workers);
  const wanted = given.port === null ? null : wholeOf(given.port);
  const schemas = given.schema === null ? null : readSchemaNames(given.schema);
  const keys = readDeclaredKeys(given.keys);
  const [database = null] = positionals;
  if (typeof keys === "string") return misused(keys);
  if (given.schema !== null && schemas === null) return misused(schemaError(given.schema));
  if (wanted !== null && !port.rules.fits(wanted)) {
    return misused(`The port must be ${port.rules.takes}, not "${given.port}"`);
  }
  if (given.host !== null && !host.rules.fits(given.host)) {
    return misused(`The host must be ${host.rules.takes}, not "${given.host}"`);
  }
  if (positionals.length > 1) {
    return misused(`One database at a time: "${positionals[1]}" is one too many`);
  }
  if (database !== null && config !== null) {
    return misused("Give a database or --config, not both: a configuration names its own database");
  }
  const ofDatabase = {
    ...{ write: given.write, schema: schemas !== null, key: given.keys.length > 0 },
    ...{ functions: given.functions !== null, extension: given.extensions.length > 0 },
    ...{ search: given.search, "watch-schema": given.watchSchema, users: given.users },
  };
  const [lone] = Object.entries(ofDatabase).find(([, isGiven]) => isGiven) ?? [];
  if (database === null && lone !== undefined) {
    return misused(`The option --${lone} belongs to a database: name its file or URL`);
  }
  if (!given.write && (given.triggers || given.changesSchema !== null)) {
    return misused("The options --triggers and --changes-schema belong to --write");
  }
  if (given.kv !== null && !given.users) {
    return misused("The option --kv belongs to --users, and to the commands keys and users");
  }
  if (workers !== null && !workersOption.rules.fits(workers)) {
    return misused(`The workers must be ${workersOption.rules.takes}, not "${given.workers}"`);
  }
  if (balancer !== null && !isBalancerName(balancer)) {
    return misused(`The balancer must be kernel or proxy, not "${balancer}"`);
  }
  if (balancer !== null && workers === null) {
    return misused("The option --balancer belongs to --workers: say how many");
  }
  return {
    kind: "serve",
    ...{ database, config, schemas, keys },
    ...{ functions: given.functions, extensions: given.extensions },
    ...{ port: wanted, host: given.host, public: given.public },
    ...{ write: given.write, triggers: given.triggers },
    changesSchema: given.changesSchema,
    search: given.search,
    ui: given.ui,
    watchSchema: given.watchSchema,
    users: given.users,
    kv: given.kv,
    ...{ workers, balancer },
  };
}

/** A machine never needs more than 256 worker processes. */
const workersOption = whole({ from: 1, to: 256 });

function isBalancerName(text: string): text is BalancerName {
  return text === "kernel" || text === "proxy";
}

function wholeOf(text: string): number {
  // `Number()` would also accept notations such as `1e3` and `0x10`.
  return /^\d+$/.test(text) ? Number(text) : NaN;
}

function misused(message: string): ServeArguments {
  return { kind: "misused", message };
}
