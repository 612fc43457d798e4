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
  /** The text after "Serving" in the banner, for example `shop.db, read-only`. */
  readonly subject: string;
  /** The rights of callers, or null if a configuration file defines the access. */
  readonly rights: CliRights | null;
  /** The file that stores the accounts, or undefined if the service has no accounts. */
  readonly accountsIn?: string | undefined;
  /** A sentence about the changes that live streams show. Undefined if the banner omits it. */
  readonly streams?: string | undefined;
  /** The query string of the banner's example request, which reads the first resource. */
  readonly exampleQuery: string;
  /** Reads the current tables. Absent if no other program can alter the tables. */
  readonly describe?: (() => Promise<DescribedTables>) | undefined;
  /** Returns how the database records changes. Absent if the database records no changes. */
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
      // Live streams need a change log, which the service never installs in a read-only database.
      enableSubscribe: writable,
      // Exports reveal nothing new: a client that may read can also fetch all pages.
      enableExport: true,
    },
    // A person who types requests by hand should see an error for a misspelt field.
    strictInput: true,
    // Filters on relations reveal nothing new: a caller who may read one table may read all tables.
    autoRelations: { filterable: true },
  };
}

/** The role that may write all tables. The operator, accounts and API keys can have this role. */
const writerRole = "writer";

function ofWriters({ id, roles = [] }: User): Filter {
  return id === operatorId || roles.includes(writerRole) ? all() : none();
}

/** Rejects writes and streams if the database is read-only. The error names the option to set. */
export async function refuseWrites(
  context: Context<AppEnv>,
  next: () => Promise<void>,
): Promise<void> {
  const { method, path } = context.req;
  // The dashboard changes no rows, but its filter tester sends a POST request.
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

/** Returns the middleware that identifies the operator by the token printed at startup. */
export function tokenAuth(rights: CliRights): AuthOptions | undefined {
  const { token, readsNeedToken } = rights;
  if (token === null) return undefined;
  const middleware: Middleware = async function identify(context, next) {
    // The caller is an account or an API key. Neither has the id of the operator.
    if (context.get("user")) return await next();
    const credentials = checkToken(context.req.header("authorization"), token);
    if (credentials === "wrong") throw unauthorized("This is not the token that was printed");
    if (credentials === "right") context.set("user", { id: operatorId });
    // If reads need the token, callers without it see neither rows nor descriptions of tables.
    else if (readsNeedToken) {
      throw unauthorized("This needs the token that was printed at the start");
    }
    await next();
  };
  return { middleware };
}

/** The id of the operator. The id of an account is a UUID, so the two never coincide. */
const operatorId = "operator";

/**
 * Returns the authentication of a service with accounts. The key-value store contains the accounts
 * and API keys. The command `users add` adds accounts, and `keys create` adds API keys.
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
