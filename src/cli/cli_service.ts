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

/** The service that a run of the command line starts, and how the banner describes it. */
export interface CliService {
  readonly config: ServeConfig & OpenConfig;
  /** Completes "Serving …", e.g. `shop.db, read-only`. */
  readonly subject: string;
  /** Null if the configuration decides about access. */
  readonly rights: CliRights | null;
  /** The file of the accounts; undefined without accounts. */
  readonly accountsIn?: string | undefined;
  /** What live streams show, as a sentence; undefined if that is not for the banner. */
  readonly streams?: string | undefined;
  /** The query of the banner's example, for the first resource. */
  readonly exampleQuery: string;
  /** Looks at the tables as they are now; absent where no other program can alter them. */
  readonly describe?: (() => Promise<DescribedTables>) | undefined;
  /** What records changes in the database, as a string; absent where nothing does. */
  readonly installed?: (() => Promise<string>) | undefined;
}

/**
 * The options of all resources in a service that the command line starts without a configuration
 * file.
 */
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
      // Streams need a change log in the database, which is not installed in a read-only one.
      enableSubscribe: writable,
      // A client that may read can fetch all pages anyway.
      enableExport: true,
    },
    // For a person who tries requests by hand, a misspelt field should be an error.
    strictInput: true,
    // A caller who may read one table here may read all of them.
    autoRelations: { filterable: true },
  };
}

/** The operator writes everything, and so do accounts and API keys with this role. */
const writerRole = "writer";

function ofWriters({ id, roles = [] }: User): Filter {
  return id === operatorId || roles.includes(writerRole) ? all() : none();
}

/**
 * The middleware of the command line's service that refuses writes to a read-only database and live
 * streams of it, and names the option that would allow them.
 */
export async function refuseWrites(
  context: Context<AppEnv>,
  next: () => Promise<void>,
): Promise<void> {
  const { method, path } = context.req;
  // It is read-only by itself, and its filter tester takes a POST.
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

/**
 * The middleware of the command line's service that identifies the operator, who started the
 * process, by the printed token.
 */
export function tokenAuth(rights: CliRights): AuthOptions | undefined {
  const { token, readsNeedToken } = rights;
  if (token === null) return undefined;
  const middleware: Middleware = async function identify(context, next) {
    // An account or an API key: neither has the id of the operator.
    if (context.get("user")) return await next();
    const credentials = checkToken(context.req.header("authorization"), token);
    if (credentials === "wrong") throw unauthorized("This is not the token that was printed");
    if (credentials === "right") context.set("user", { id: operatorId });
    // Without the token, descriptions of the tables are refused like their rows.
    else if (readsNeedToken) {
      throw unauthorized("This needs the token that was printed at the start");
    }
    await next();
  };
  return { middleware };
}

/** Accounts have UUIDs. */
const operatorId = "operator";

/**
 * The authentication of the command line's service with accounts: they are kept in the key-value
 * store, and added by `cli.ts users add`, as API keys are by `cli.ts keys create`.
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
