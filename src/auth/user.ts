import type { Observer } from "../runtime/observation.ts";

/** The user of a request, which an authenticator or a middleware has set. */
export interface User {
  /** The id of the user, never empty. A user without an id counts as anonymous. */
  readonly id: string;
  /** The user's e-mail address. */
  readonly email?: string | undefined;
  /** The user's name. */
  readonly name?: string | undefined;
  /** The roles of the user, which scopes can check. */
  readonly roles?: readonly string[] | undefined;
  /** Other claims in the user's credential. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/** Creates the parser of users. A numeric id means anonymous, which is reported once. */
export function createUserParser(observe: Observer): (value: unknown) => User | null {
  let isObserved = false;
  return (value) => {
    const user = parseUser(value);
    if (user === null && !isObserved && hasNumericId(value)) {
      isObserved = true;
      const message =
        "the user's id is a number: it must be a text, so the caller counts as anonymous";
      observe({ kind: "notice", message });
    }
    return user;
  };
}

/** Parses a user that a middleware has set. Returns null for an anonymous caller. */
export function parseUser(value: unknown): User | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  if (typeof value.id !== "string" || value.id === "") return null;
  // The cast is safe: only scopes and hooks of the application use other members than `id`.
  return value as User;
}

function hasNumericId(value: unknown): boolean {
  return typeof value === "object" && value !== null && "id" in value &&
    (typeof value.id === "number" || typeof value.id === "bigint");
}
