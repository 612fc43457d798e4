import type { AppConfig } from "../../app/config.ts";
import { byDatabase } from "../../auth/act_as.ts";
import type { User } from "../../auth/authorize.ts";
import { jwtAuth } from "../../identity/jwt/jwt_auth.ts";
import type { Claims } from "../../identity/jwt/jwt_auth_options.ts";
import type { Runtime } from "../../runtime/runtime.ts";

export interface SupabaseRoles extends Pick<AppConfig, "actAs" | "auth"> {
  readonly roles: readonly string[];
  readonly scopes: ReturnType<typeof byDatabase>;
}

/** The roles of callers. Tokens for other roles, such as `service_role`, are refused. */
const roles: readonly string[] = ["anon", "authenticated"];

/** Accepts Supabase's tokens. Throws an Error if no key to verify the tokens is configured. */
export function actAsSupabase({ environment }: Pick<Runtime, "environment">): SupabaseRoles {
  const secret = environment("SUPABASE_JWT_SECRET") || undefined;
  const url = environment("SUPABASE_URL") || undefined;
  if (secret === undefined && url === undefined) {
    throw new Error(
      "Cannot act as supabase without the key of its tokens: set SUPABASE_URL, or SUPABASE_JWT_SECRET",
    );
  }
  const key = secret === undefined
    ? { jwks: `${url?.replace(/\/$/, "")}/auth/v1/.well-known/jwks.json` }
    : { secret };
  return {
    roles,
    scopes: byDatabase({ anonymous: true }),
    auth: { use: [jwtAuth({ ...key, user: userOf })] },
    actAs: {
      roles,
      as(user) {
        const role = user === null ? "anon" : String(user.claims?.role);
        // Policies read the claims as JSON, so anonymous callers need claims, too.
        const told = user === null ? { role } : { ...user.claims, sub: user.id, role };
        return { role, settings: { "request.jwt.claims": JSON.stringify(told) } };
      },
    },
  };
}

function userOf(claims: Claims): User | null {
  const { sub, role } = claims;
  if (typeof sub !== "string" || sub === "") return null;
  return typeof role === "string" && roles.includes(role) ? { id: sub, claims } : null;
}
