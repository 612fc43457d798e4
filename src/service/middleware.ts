import type { Context, Next } from "@hono/hono";
import type { User } from "../auth/user.ts";

/** The variables of the Hono context that every middleware and route of an app shares. */
export interface AppEnv {
  /** The variables that `c.get` and `c.set` access. */
  readonly Variables: {
    /** The user that `auth.middleware` has set. Absent for an anonymous caller. */
    user: User | null | undefined;
  };
}

/**
 * A Hono middleware. Methods have bivariant parameters, so this type accepts middlewares for any
 * Hono app, and functions with this app's context.
 */
export type Middleware = {
  run(context: Context<AppEnv>, next: Next): Promise<Response | void>;
}["run"];
