import type { Observer } from "../runtime/runtime.ts";

/** The user of a request, which an authenticator or a middleware has set. */
export interface User {
  /** The id of the user. A user without an id, or with the id `""`, counts as anonymous. */
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

/** Returns true if every store can hold the text: it has no NUL and no lone surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Creates the parser of users. An unusable id means anonymous, which is reported once. */
export function createUserParser(observe: Observer): (value: unknown) => User | null {
  let isObserved = false;
  return (value) => {
    const user = parseUser(value);
    if (user === null && !isObserved && hasUnusableId(value)) {
      isObserved = true;
      const message =
        "the user's id must be a string without NUL and lone surrogates: the caller counts as anonymous";
      observe({ kind: "notice", message });
    }
    return user;
  };
}

/** Parses a user that a middleware has set. Returns null for an anonymous caller. */
export function parseUser(value: unknown): User | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  if (typeof value.id !== "string" || value.id === "" || !isStorable(value.id)) return null;
  // The cast is safe: only scopes and hooks of the application use other members than `id`.
  return value as User;
}

function hasUnusableId(value: unknown): boolean {
  return typeof value === "object" && value !== null && "id" in value && value.id !== "" &&
    ["number", "bigint", "string"].includes(typeof value.id);
}
