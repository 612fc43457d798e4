import { chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import type { Authenticator, Identification } from "./authenticator.ts";
import type { User } from "./user.ts";

/** The credentials of requests, with their users and when they end. */
export type Credentials = ReturnType<typeof createCredentials>;

/** Creates the credentials of an app. Authenticators are called in this order. */
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
    /**
     * Identifies the sender of a request by the first authenticator that recognizes a credential;
     * null if none does. Throws or rejects with a 401 for an invalid credential.
     */
    identify: (request: Request) => identifyFrom(0, request),
    /** Returns the user of a credential, and remembers when the user's open streams must end. */
    accept,
    /** Returns the credential of a user object; null if the credential never ends. */
    of: (user: User) => ending.get(user) ?? null,
  };
}
