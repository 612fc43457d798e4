import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { User } from "./user.ts";

/** The result of identifying a request: the user, and the time at which the credential expires. */
export interface Identification {
  /** The user. Return one object for each credential, because streams are grouped by it. */
  readonly user: User;
  /** Time at which the credential expires, in milliseconds since 1970. Undefined if unknown. */
  readonly expiresAt?: number | undefined;
  /**
   * Reads the user of the credential again. Returns the same object if nothing has changed, or null
   * once the credential has ended. Called for open streams, every `auth.recheckMs`. Without this
   * function, the credential is valid until `expiresAt`.
   */
  renew?(): MaybePromise<User | null>;
}

/**
 * An authenticator. It recognizes one kind of credential, and finds the user of a credential.
 *
 * @example
 * ```ts
 * import { Problem } from "@svc/resource-api";
 * import type { Authenticator } from "@svc/resource-api/auth";
 *
 * const robots = new Map([["a long secret of a robot", { id: "robot", roles: ["writer"] }]]);
 *
 * const byRobot: Authenticator = {
 *   name: "robot",
 *   identify(request) {
 *     const credential = request.headers.get("x-robot");
 *     if (credential === null) return null; // another authenticator may know this request
 *     const user = robots.get(credential);
 *     if (user === undefined) throw new Problem("unauthorized", "There is no such robot");
 *     return { user };
 *   },
 * };
 * ```
 */
export interface Authenticator {
  /** The name of the authenticator in messages. */
  readonly name: string;
  /**
   * Identifies the sender of a request. Returns null if the request has no credential of this kind.
   * In this case, the next authenticator is called. Throws a `Problem` with 401 for an invalid
   * credential of this kind. The function runs for every request, so it should cache its results. A
   * synchronous result creates no promise.
   */
  identify(request: Request): MaybePromise<Identification | null>;
  /** The routes at `{basePath}/auth`: a Hono app, or an object with a `fetch` function. */
  readonly routes?: Router | undefined;
  /** The OpenAPI security schemes of the credentials, by name. Each scheme is sufficient. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>> | undefined;
  /** Releases the resources of the authenticator. Called when the app is closed. */
  close?(): Promise<void>;
}

/**
 * An authenticator that needs the store, the database or the limits of its app. `jwtAuth`,
 * `apiKeyAuth` and `passwordAuth` return such a definition.
 */
export interface AuthenticatorDefinition {
  /** The name of the authenticator in messages. */
  readonly name: string;
  /** Opens the authenticator. The app calls this once, with its store, database and settings. */
  open(parts: never): MaybePromise<Authenticator>;
}

/** The OpenAPI 3.0 security scheme of an authenticator's credential. */
export type SecurityScheme =
  | { readonly type: "http"; readonly scheme: "bearer"; readonly bearerFormat?: string }
  | { readonly type: "apiKey"; readonly in: "header" | "cookie"; readonly name: string };

/** The type of a router for authentication: a Hono app, or an object that responds to requests. */
export interface Router {
  /** Returns the response to one request. */
  fetch(request: Request, ...rest: never[]): Response | Promise<Response>;
}
