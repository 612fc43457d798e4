import type { Context, Next } from "@hono/hono";
import type { User } from "../auth/user.ts";

/** The variables of the Hono context that every middleware and route of an app shares. */
export interface AppEnv {
  /** The types for `c.get` and `c.set`. */
  readonly Variables: {
    /** The user that `auth.middleware` has set; absent if the caller is anonymous. */
    user: User | null | undefined;
  };
}

/**
 * A Hono middleware. The type is a method type, so its parameters are bivariant. Therefore it
 * accepts middlewares for any Hono app as well as functions of this app's context.
 */
export type Middleware = {
  run(context: Context<AppEnv>, next: Next): Promise<Response | void>;
}["run"];
