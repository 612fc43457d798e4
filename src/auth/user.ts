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

/** What a middleware set as `user` → the user, or null for an anonymous caller. */
export function readUser(value: unknown): User | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  if (typeof value.id !== "string" || value.id === "") return null;
  // The deployer owns the shape beyond `id`; its scopes and hooks get back what it set.
  return value as User;
}
