import type { Context } from "@hono/hono";
import type { User } from "../auth/user.ts";
import { all, none } from "../filter/builders.ts";
import type { Filter } from "../filter/filter.ts";
import { passwordAuth } from "../identity/accounts/password_auth.ts";
import { apiKeyAuth } from "../identity/keys/api_key_auth.ts";
import { Problem } from "../problem/problem.ts";
import type { AuthOptions, OpenConfig } from "../app/config.ts";
import type { ResourceOptions } from "../resource/model/resource_options.ts";
import type { ServeConfig } from "../app/serve.ts";
import { dashboardPath } from "../service/dashboard/dashboard_path.ts";
import type { AppEnv, Middleware } from "../service/middleware.ts";
import { checkToken, type CliRights } from "./cli_rights.ts";
import type { DescribedTables } from "./reopen/described_tables.ts";

/** The service that the command line starts, and its description for the banner. */
export interface CliService {
  readonly config: ServeConfig & OpenConfig;
  /** Completes "Serving …", for example `shop.db, read-only`. */
  readonly subject: string;
  /** The rights of callers, or null if the configuration decides about access. */
  readonly rights: CliRights | null;
  /** The file of the accounts, or undefined without accounts. */
  readonly accountsIn?: string | undefined;
  /** A sentence about what live streams show, or undefined if the banner omits it. */
  readonly streams?: string | undefined;
  /** The query of the banner's example request to the first resource. */
  readonly exampleQuery: string;
  /** Reads the current tables. Absent if no other program can alter them. */
  readonly describe?: (() => Promise<DescribedTables>) | undefined;
  /** Returns what records changes in the database. Absent if nothing does. */
  readonly installed?: (() => Promise<string>) | undefined;
}

/** Returns the options of all resources in a service without a configuration file. */
export function resourceOptionsFor(
  rights: CliRights,
): Pick<ResourceOptions<unknown>, "auth" | "capabilities" | "strictInput" | "autoRelations"> {
  const { readsNeedToken, writable } = rights;
  return {
    auth: {
      public: !readsNeedToken,
      read: () => all(),
      subscribe: () => all(),
      ...(writable ? { create: ofWriters, update: ofWriters, delete: ofWriters } : {}),
    },
    capabilities: {
      enableCreate: writable,
      enableUpdate: writable,
      enableDelete: writable,
      // Streams need a change log, which is not installed in a read-only database.
      enableSubscribe: writable,
      // A client that may read can fetch all pages anyway.
      enableExport: true,
    },
    // A misspelt field should be an error for someone who tries requests manually.
    strictInput: true,
    // A caller who may read one table here may read all of them.
    autoRelations: { filterable: true },
  };
}

/** The role that may write everything. The operator, accounts and API keys can have it. */
const writerRole = "writer";

function ofWriters({ id, roles = [] }: User): Filter {
  return id === operatorId || roles.includes(writerRole) ? all() : none();
}

/**
 * The middleware that rejects writes to a read-only database and live streams of it. Its message
 * names the option that allows them.
 */
export async function refuseWrites(
  context: Context<AppEnv>,
  next: () => Promise<void>,
): Promise<void> {
  const { method, path } = context.req;
  // The dashboard is read-only, and its filter tester sends a POST.
  if (path.startsWith(`${dashboardPath}/`)) return await next();
  if (writingMethods.has(method)) {
    throw new Problem(
      "method-not-allowed",
      `Cannot ${method} here: the database was opened read-only, start with --write to change it`,
      { headers: { allow: "GET, HEAD" } },
    );
  }
  if (/\/subscribe\/?$/.test(path)) {
    throw new Problem(
      "not-found",
      "There is no live stream here: it needs a log of changes in the database, which was opened " +
        "read-only; start with --write to have one",
    );
  }
  await next();
}

const writingMethods: ReadonlySet<string> = new Set(["POST", "PATCH", "PUT", "DELETE"]);

/** Returns the middleware that identifies the operator by the token printed at the start. */
export function tokenAuth(rights: CliRights): AuthOptions | undefined {
  const { token, readsNeedToken } = rights;
  if (token === null) return undefined;
  const middleware: Middleware = async function identify(context, next) {
    // The caller is an account or an API key, whose id is never that of the operator.
    if (context.get("user")) return await next();
    const credentials = checkToken(context.req.header("authorization"), token);
    if (credentials === "wrong") throw unauthorized("This is not the token that was printed");
    if (credentials === "right") context.set("user", { id: operatorId });
    // Without the token, descriptions of the tables are rejected like their rows.
    else if (readsNeedToken) {
      throw unauthorized("This needs the token that was printed at the start");
    }
    await next();
  };
  return { middleware };
}

/** The id of the operator. It cannot equal that of an account, which is a UUID. */
const operatorId = "operator";

/**
 * Returns the authentication of a service with accounts. They are stored in the key-value store.
 * The command `users add` adds accounts, and `keys create` adds API keys.
 */
export function accountAuth(rights: CliRights): AuthOptions {
  return {
    ...tokenAuth(rights),
    use: [apiKeyAuth(), passwordAuth({ users: "kv", signup: false, passwordReset: false })],
  };
}

function unauthorized(message: string): Problem {
  return new Problem("unauthorized", message);
}
