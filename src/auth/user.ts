import type { Observer } from "../runtime/observation.ts";

/** The authenticated user, as the deployer's middleware sets it. */
export interface User {
  /** Unique and never empty; a caller without one is anonymous. */
  readonly id: string;
  /** The user's e-mail address. */
  readonly email?: string | undefined;
  /** The user's name. */
  readonly name?: string | undefined;
  /** For scopes to decide by. */
  readonly roles?: readonly string[] | undefined;
  /** Further claims of the credentials. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Makes the parser of users, which observes once that one has a numeric id: such a caller is
 * anonymous, and nothing else would report why.
 */
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

/** Parses the user that a middleware set; null for an anonymous caller. */
export function parseUser(value: unknown): User | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  if (typeof value.id !== "string" || value.id === "") return null;
  // The deployer owns the shape beyond `id`; its scopes and hooks receive what it set.
  return value as User;
}

function hasNumericId(value: unknown): boolean {
  return typeof value === "object" && value !== null && "id" in value &&
    (typeof value.id === "number" || typeof value.id === "bigint");
}
