import { listenOptionRules } from "../listen/listener.ts";
import { defaultStoreFile } from "./command_options.ts";

const { port, host } = listenOptionRules;

/** Every option of the command line, with its type and its text in `--help`. */
export const serveCommandLineOptions = {
  port: {
    type: "string",
    short: "p",
    shown: "PORT",
    says: [`the port to listen on; ${port.rules.defaultValue} unless set, 0 takes a free one`],
  },
  host: {
    type: "string",
    shown: "ADDRESS",
    says: [
      `the address to listen on; ${host.rules.defaultValue} unless set. On another address`,
      "than the loopback reading needs the printed token",
    ],
  },
  public: { type: "boolean", says: ["reading needs no token, whatever the address and the name"] },
  "trust-proxy": {
    type: "string",
    shown: "N",
    says: [
      "the number of your proxies in front of the service, for the addresses of clients",
      "in X-Forwarded-For; with DATABASE",
    ],
  },
  "mounted-at": {
    type: "string",
    shown: "PATH",
    says: ["the path that a proxy removes from requests, like /v1; with DATABASE"],
  },
  write: { type: "boolean", says: ["open DATABASE for writing; writes need the printed token"] },
  triggers: {
    type: "boolean",
    says: [
      "live streams show what other programs write as well: with --write, which alone",
      "records the service's own writes, triggers on every table record all",
    ],
  },
  "changes-schema": {
    type: "string",
    shown: "NAME",
    says: ["the schema of Postgres for the log of changes; with --write"],
  },
  pooler: {
    type: "string",
    shown: "URL",
    says: [
      "a pooler of Postgres in transaction mode, for requests; DATABASE is then the",
      "direct URL, which hears the changes of other processes",
    ],
  },
  schema: {
    type: "string",
    shown: "NAMES",
    says: [
      "the schemas of Postgres to serve, as a,b or '*' for all; tables of all but the",
      "first are at schema.table",
    ],
  },
  key: {
    type: "string",
    multiple: true,
    shown: "VIEW=COLUMN",
    says: ["the key of a view, a,b for a composite one; may be given several times"],
  },
  functions: {
    type: "string",
    shown: "FILE|NAMES",
    says: [
      "a module whose exports are functions in SQL, for triggers of a SQLite file; or the",
      "functions of a Postgres to serve, as procedures and columns: a,b, or '*' for all",
    ],
  },
  extension: {
    type: "string",
    multiple: true,
    shown: "FILE",
    says: ["an extension of SQLite to load; may be given several times"],
  },
  search: { type: "boolean", says: ["/search on every table with strings; with DATABASE"] },
  ui: {
    type: "boolean",
    says: ["the dashboard at /__service/ui, for this machine alone; edits with --write"],
  },
  "watch-schema": {
    type: "boolean",
    says: [
      "look at the tables every few seconds, and serve them as they are then; without",
      "it after a SIGHUP and after a statement that fails. With DATABASE",
    ],
  },
  "act-as": {
    type: "string",
    shown: "supabase",
    says: [
      "the policies of Postgres decide: requests have the role and the claims of their",
      "token, which SUPABASE_URL or SUPABASE_JWT_SECRET verifies. With DATABASE",
    ],
  },
  users: {
    type: "boolean",
    says: ["accounts and API keys: those with the role writer may write; with DATABASE"],
  },
  kv: {
    type: "string",
    shown: "FILE",
    says: [`where accounts and API keys are kept; ${defaultStoreFile} unless set`],
  },
  config: {
    type: "string",
    short: "c",
    shown: "FILE",
    says: ["serve the configuration that FILE exports as default"],
  },
  workers: {
    type: "string",
    short: "w",
    shown: "N",
    says: [
      "serve by N processes on the port, on Linux; one that ends is replaced, and",
      "a SIGHUP replaces all, one after the other, without a failed request",
    ],
  },
  help: { type: "boolean", short: "h", says: ["print this"] },
  version: { type: "boolean", short: "v", says: ["print the version"] },
} as const;

export const serveOptionsHelp: string = Object.entries(serveCommandLineOptions).map(helpOf).join(
  "\n",
);

interface ShownOption {
  readonly short?: string;
  readonly shown?: string;
  readonly says: readonly string[];
}

function helpOf([name, { short, shown, says }]: readonly [string, ShownOption]): string {
  const flags = `  ${short === undefined ? "   " : `-${short},`} --${name} ${shown ?? ""}`;
  return says.map((line, index) => `${index === 0 ? flags : ""} `.padEnd(23) + line).join("\n");
}
