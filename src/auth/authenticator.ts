import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { User } from "./user.ts";

/**
 * The identification of a request by an authenticator: the user whose credential it carries, and for
 * how long that credential is good.
 */
export interface Identification {
  /** The same object for the same credential, as far as that is possible: streams are grouped by it. */
  readonly user: User;
  /** When the credential ends, in milliseconds since 1970; undefined for none that is known. */
  readonly expiresAt?: number | undefined;
  /**
   * Reads again what the credential stands for: the user as it is now, the same object where nothing
   * has changed, or null once the credential has ended. Called for open streams, every
   * `auth.recheckMs`. Without it, the credential is good until `expiresAt`.
   */
  renew?(): MaybePromise<User | null>;
}

/**
 * An authenticator: recognizes one kind of credential, and finds the user that it stands for.
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
  /** For messages. */
  readonly name: string;
  /**
   * Identifies the sender of a request. Null if it carries no credential of this kind: then the
   * next authenticator is asked. Throws a `Problem`, a 401, for a credential of this kind that is
   * wrong. It runs for every request, so what it finds out should be kept: an answer that is there
   * at once costs no promise.
   */
  identify(request: Request): MaybePromise<Identification | null>;
  /** Mounted at `{basePath}/auth`: a Hono app, or anything that has a `fetch`. */
  readonly routes?: Router | undefined;
  /** The security schemes of OpenAPI for its credentials, by name; each is enough. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>> | undefined;
  /** Releases what it has opened. Called when the app is closed. */
  close?(): Promise<void>;
}

/**
 * The definition of an authenticator that needs the store, the database or the limits of its app:
 * what `jwtAuth`, `apiKeyAuth` and `passwordAuth` give.
 */
export interface AuthenticatorDefinition {
  /** For messages. */
  readonly name: string;
  /** Called once by the app, with what it has opened. */
  open(parts: never): MaybePromise<Authenticator>;
}

/** The security scheme of an authenticator's credential, as an object of OpenAPI 3.0. */
export type SecurityScheme =
  | { readonly type: "http"; readonly scheme: "bearer"; readonly bearerFormat?: string }
  | { readonly type: "apiKey"; readonly in: "header" | "cookie"; readonly name: string };

/**
 * The type of a router for authentication: a Hono app, or anything that answers requests.
 */
export interface Router {
  /** Answers one request. */
  fetch(request: Request, ...rest: never[]): Response | Promise<Response>;
}
