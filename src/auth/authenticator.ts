import { chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import type { User } from "./authorize.ts";

/** The result of identifying a request: its user, and when the credential expires. */
export interface Identification {
  /** The user: always the same object for a credential, because streams are grouped by object. */
  readonly user: User;
  /** When the credential expires, in milliseconds since 1970; undefined if unknown. */
  readonly expiresAt?: number | undefined;
  /**
   * Reads the user again, for open streams every `auth.recheckMs`. Returns the same object if
   * nothing has changed, or null if the credential has ended. Default: valid until `expiresAt`.
   */
  renew?(): MaybePromise<User | null>;
}

/**
 * Recognizes one kind of credential, and returns its user.
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
   * Identifies the sender of a request. Returns null if there is no credential of this kind, so
   * that the next authenticator is called. Throws a `Problem` with 401 for an invalid credential.
   * Runs for each request, so it should cache results and return cached ones without a promise.
   */
  identify(request: Request): MaybePromise<Identification | null>;
  /** The routes at `{basePath}/auth`: a Hono app, or an object with a `fetch` function. */
  readonly routes?: Router | undefined;
  /** The OpenAPI security schemes by name. A request needs a credential of only one scheme. */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>> | undefined;
  /** Releases the authenticator's resources. Called when the app is closed. */
  close?(): Promise<void>;
}

/** Defines an authenticator that needs its app's store, database or limits, like `apiKeyAuth`. */
export interface AuthenticatorDefinition {
  /** The name of the authenticator in messages. */
  readonly name: string;
  /** Creates the authenticator with the app's store, database and settings. Called once. */
  open(parts: never): MaybePromise<Authenticator>;
}

/** How clients send the credential of an authenticator (a security scheme of OpenAPI 3.0). */
export type SecurityScheme =
  | { readonly type: "http"; readonly scheme: "bearer"; readonly bearerFormat?: string }
  | { readonly type: "apiKey"; readonly in: "header" | "cookie"; readonly name: string };

/** A router for authentication: a Hono app, or another object with a `fetch` function. */
export interface Router {
  /** Returns the response to a request. */
  fetch(request: Request, ...rest: never[]): Response | Promise<Response>;
}

export type Credentials = ReturnType<typeof createCredentials>;

export function createCredentials(
  authenticators: readonly Authenticator[],
  parseUser: (value: unknown) => User | null,
) {
  const ending = new WeakMap<User, Identification>();

  function accept(identification: Identification): User | null {
    const user = parseUser(identification.user);
    const ends = identification.expiresAt !== undefined || identification.renew !== undefined;
    if (user !== null && ends) ending.set(user, identification);
    return user;
  }

  function identifyFrom(start: number, request: Request): MaybePromise<User | null> {
    for (let index = start; index < authenticators.length; index++) {
      const found = authenticators[index]?.identify(request) ?? null;
      if (found instanceof Promise) {
        return chain(found, (one) => one === null ? identifyFrom(index + 1, request) : accept(one));
      }
      if (found !== null) return accept(found);
    }
    return null;
  }

  return {
    identify: (request: Request) => identifyFrom(0, request),
    /** Returns the user of a credential. Remembers when the credential ends, for open streams. */
    accept,
    /** Returns when and how a credential ends or is renewed. Null if neither ever happens. */
    of: (user: User) => ending.get(user) ?? null,
  };
}
