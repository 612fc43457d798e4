import type { User } from "../auth/authorize.ts";
import { all, none } from "../filter/builders.ts";
import type { Filter } from "../filter/filter.ts";
import { passwordAuth } from "../identity/accounts/password_auth.ts";
import { apiKeyAuth } from "../identity/keys/api_keys.ts";
import { Problem } from "../problem/problem.ts";
import type { AuthOptions, OpenConfig } from "../app/config.ts";
import { candidatesOf } from "../resource/model/procedure.ts";
import type { ResourceOptions } from "../resource/model/resource_options.ts";
import type { ServeConfig } from "../app/serve.ts";
import { dashboardPath } from "../service/dashboard/dashboard_path.ts";
import type { Middleware } from "../service/middleware.ts";
import type { Introspection } from "../db/introspection.ts";
import type { TableStates } from "./reopen/table_states.ts";
import { isSameSecret } from "../protocol/byte_text.ts";
import { isLoopback } from "../protocol/loopback.ts";

export interface CliService {
  readonly config: ServeConfig & OpenConfig;
  /** The text after "Serving" in the banner, for example `shop.db, read-only`. */
  readonly subject: string;
  /** The rights of callers; null if a configuration file defines them. */
  readonly rights: CliRights | null;
  readonly accountsIn?: string | undefined;
  readonly streams?: string | undefined;
  readonly exampleQuery: string;
  /** Reads the current tables. Absent if no other program can change them. */
  readonly describe?: (() => Promise<TableStates>) | undefined;
  readonly installed?: (() => Promise<string>) | undefined;
}

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
      // Live streams need a change log, which is never installed in a read-only database.
      enableSubscribe: writable,
      // Exports reveal nothing new: a client that may read can also fetch all pages.
      enableExport: true,
    },
    // People write these requests by hand, so a misspelt field should be an error.
    strictInput: true,
    // Filters on relations reveal nothing new: a caller who may read one table may read all tables.
    autoRelations: { filterable: true },
  };
}

/** Accounts and API keys with this role may write to all tables. The operator needs no role. */
const writerRole = "writer";

function ofWriters(user: User): Filter {
  return isWriter(user) ? all() : none();
}

export function isWriter(user: User | null): boolean {
  return user?.id === operatorId || user?.roles?.includes(writerRole) === true;
}

/** Refuses writes. Calls of STABLE and IMMUTABLE functions of the database count as reads. */
export function refuseWrites(functions: Introspection["functions"]): Middleware {
  const reading = new Set(
    Object.values(functions).flatMap(candidatesOf).flatMap(({ isQuery, name }) =>
      isQuery ? `rpc/${name}` : []
    ),
  );
  return async function refuse(context, next) {
    const { method, path } = context.req;
    // The dashboard's requests pass, because it tests filters by POSTs that change no rows.
    if (path.startsWith(`${dashboardPath}/`)) return await next();
    const [end = ""] = /(?<=\/)(?:rpc\/)?[^/]+(?=\/?$)/.exec(path) ?? [];
    const isRead = method === "POST" && (end === "query" || reading.has(end));
    if (writingMethods.has(method) && !isRead) {
      throw new Problem(
        "method-not-allowed",
        `Cannot ${method} here: the database was opened read-only, start with --write to change it`,
        { headers: { allow: "GET, HEAD" } },
      );
    }
    if (end === "subscribe") {
      throw new Problem(
        "not-found",
        "There is no live stream here: it needs a log of changes in the database, which was " +
          "opened read-only; start with --write to have one",
      );
    }
    await next();
  };
}

const writingMethods: ReadonlySet<string> = new Set(["POST", "PATCH", "PUT", "DELETE"]);

export function tokenAuth(rights: CliRights): AuthOptions | undefined {
  const { token, readsNeedToken } = rights;
  if (token === null) return undefined;
  const middleware: Middleware = async function identify(context, next) {
    if (context.get("user")) return await next();
    const credentials = checkToken(context.req.header("authorization"), token);
    if (credentials === "wrong") throw unauthorized("This is not the token that was printed");
    if (credentials === "right") context.set("user", { id: operatorId });
    // Without the token, a caller may not even read the descriptions of the tables.
    else if (readsNeedToken) {
      throw unauthorized("This needs the token that was printed at the start");
    }
    await next();
  };
  return { middleware };
}

/** The user id of the operator. No account has this id, because ids of accounts are UUIDs. */
const operatorId = "operator";

export function accountAuth(rights: CliRights): AuthOptions {
  return {
    ...tokenAuth(rights),
    use: [apiKeyAuth(), passwordAuth({ users: "kv", signup: false, passwordReset: false })],
  };
}

function unauthorized(message: string): Problem {
  return new Problem("unauthorized", message);
}

export interface CliRights {
  readonly token: string | null;
  readonly readsNeedToken: boolean;
  /** True if only programs on this machine may send requests. See {@link dnsRebindingGuard}. */
  readonly localOnly: boolean;
  readonly writable: boolean;
}

export interface CliRightsOptions {
  readonly host: string;
  /** True if reads need no token, even if other machines can reach the service. */
  readonly public: boolean;
  readonly writable: boolean;
  /** True if a proxy may forward requests of other machines to a loopback address. */
  readonly isProxied?: boolean;
}

/** Returns callers' rights. Reads need a token unless `public` is set or all callers are local. */
export function decideCliRights(facts: CliRightsOptions, token: string): CliRights {
  const localOnly = !facts.public && isLoopback(facts.host) && facts.isProxied !== true;
  const readsNeedToken = !facts.public && !localOnly;
  const isNeeded = facts.writable || readsNeedToken;
  return { token: isNeeded ? token : null, readsNeedToken, localOnly, writable: facts.writable };
}

type TokenStatus = "absent" | "right" | "wrong";

/** Compares the bearer token of a request with the service's token, in constant time. */
export function checkToken(authorization: string | undefined, token: string): TokenStatus {
  if (authorization === undefined) return "absent";
  const presented = /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1];
  return presented !== undefined && isSameSecret(presented, token) ? "right" : "wrong";
}
