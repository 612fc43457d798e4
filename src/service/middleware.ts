import type { Context, Next } from "@hono/hono";
import type { User } from "../auth/authorize.ts";

/** The context variables that all middlewares and routes of an app share. */
export interface AppEnv {
  /** The variables for `c.get` and `c.set`. */
  readonly Variables: {
    /** The user that `auth.middleware` has set. Null or undefined for an anonymous caller. */
    user: User | null | undefined;
  };
}

/** A middleware of any Hono app. TypeScript lets the type of a method accept other contexts. */
export type Middleware = {
  run(context: Context<AppEnv>, next: Next): Promise<Response | void>;
}["run"];
