import type { Observer } from "../runtime/observation.ts";

/** Who is calling, as the deployer's middleware found out. */
export interface User {
  /** Unique and never empty; a caller without one is anonymous. */
  readonly id: string;
  /** Where the user gets mail. */
  readonly email?: string | undefined;
  /** What the user is called. */
  readonly name?: string | undefined;
  /** For scopes to decide by. */
  readonly roles?: readonly string[] | undefined;
  /** Whatever else the credentials said. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Reads users, and tells the observer once when one has a number for an id: the caller then is
 * anonymous, and nothing else would say why.
 */
export function createUserParser(observe: Observer): (value: unknown) => User | null {
  let told = false;
  return (value) => {
    const user = parseUser(value);
    if (user === null && !told && hasNumericId(value)) {
      told = true;
      const message =
        "the user's id is a number: it must be a text, so the caller counts as anonymous";
      observe({ kind: "notice", message });
    }
    return user;
  };
}

/** What a middleware set as `user` → the user, or null for an anonymous caller. */
export function parseUser(value: unknown): User | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  if (typeof value.id !== "string" || value.id === "") return null;
  // The deployer owns the shape beyond `id`; its scopes and hooks get back what it set.
  return value as User;
}

function hasNumericId(value: unknown): boolean {
  return typeof value === "object" && value !== null && "id" in value &&
    (typeof value.id === "number" || typeof value.id === "bigint");
}
