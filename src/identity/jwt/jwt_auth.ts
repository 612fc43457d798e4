import type {
  Authenticator,
  AuthenticatorDefinition,
  Identification,
} from "../../auth/authenticator.ts";
import { parseUser, type User } from "../../auth/authorize.ts";
import { Problem } from "../../problem/problem.ts";
import { type BoundedMap, boundedMap } from "../../runtime/bounded_map.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { AuthenticatorDependencies } from "../authenticator_dependencies.ts";
import { apiKeyPrefix } from "../keys/api_keys.ts";
import { bearerToken } from "../opaque_token.ts";
import { sessionPrefix } from "../sessions/sessions.ts";
import {
  type Claims,
  type JwtAuthOptions,
  readJwtAuthOptions,
  type ResolvedJwtAuthOptions,
} from "./jwt_auth_options.ts";
import { createTokenVerifier } from "./key_source.ts";

/**
 * Returns the authenticator for JSON Web Tokens in `Authorization: Bearer`. It verifies a token
 * with a secret, a public key or the key set of a provider, and caches it until it expires.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { jwtAuth } from "@svc/resource-api/auth";
 *
 * const byProvider = jwtAuth({
 *   jwks: "https://id.example.com/.well-known/jwks.json",
 *   issuer: "https://id.example.com/",
 *   audience: "https://api.example.com",
 *   user: ({ sub, groups }) => ({
 *     id: String(sub),
 *     roles: Array.isArray(groups) ? groups.map(String) : [],
 *   }),
 * });
 * ```
 */
export function jwtAuth(options: JwtAuthOptions): AuthenticatorDefinition {
  const resolved = readJwtAuthOptions(options);
  return { name: "jwtAuth", open: (parts: AuthenticatorDependencies) => open(resolved, parts) };
}

const maxTokenLength = 8_192;
/** Milliseconds after which a token that never expires is verified again. */
const unendingMs = 300_000;

function open(
  options: ResolvedJwtAuthOptions,
  { runtime: { clock, observe } }: AuthenticatorDependencies,
): Authenticator {
  const tokens = new VerifiedTokens(clock);
  const verify = createTokenVerifier(options, { clock, observe, onChange: () => tokens.forget() });
  const { clockToleranceMs, user: userOf = userOfClaims } = options;

  return {
    name: "jwtAuth",
    securitySchemes: { jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
    identify(request): MaybePromise<Identification | null> {
      const authorization = request.headers.get("authorization");
      if (authorization === null) return null;
      // The whole header is the cache key, so that a header that was verified before is not parsed.
      const known = tokens.get(authorization);
      if (known !== null) return known;
      if (!/^bearer(?: |$)/i.test(authorization)) return null;
      const token = bearerToken(authorization);
      // Two `Authorization` headers arrive here as one value with a comma, which is also malformed.
      if (token === null) throw refusal("it is malformed");
      if (token.startsWith(sessionPrefix) || token.startsWith(apiKeyPrefix)) return null;
      if (token.length > maxTokenLength) throw refusal("it is too long");
      return identifyNew(token, authorization);
    },
  };

  async function identifyNew(token: string, authorization: string): Promise<Identification> {
    const keysBefore = tokens.generation;
    const verified = await verify(token);
    if (verified.kind === "unknown-key") throw refusal("its key is unknown");
    if (verified.kind === "refused") throw refusal(verified.reason);
    const { claims } = verified;
    const user = parseUser(await userOf(claims));
    if (user === null) throw refusal("it names no user of this service");
    const { exp } = claims;
    const expiresAt = exp === undefined ? undefined : exp * 1_000;
    const identification: Identification = { user, expiresAt };
    // If the keys have changed during the verification, the result may be wrong and is not cached.
    if (tokens.generation === keysBefore) {
      const goodUntil = expiresAt === undefined ? null : expiresAt + clockToleranceMs;
      tokens.add(authorization, identification, goodUntil);
    }
    return identification;
  }
}

class VerifiedTokens {
  readonly #clock: Clock;
  #known: BoundedMap<string, VerifiedToken> = emptyMap();
  generation = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(authorization: string): Identification | null {
    const known = this.#known.get(authorization);
    return known !== undefined && this.#clock.now() < known.goodUntil ? known.identification : null;
  }

  add(authorization: string, identification: Identification, goodUntil: number | null): void {
    const until = goodUntil ?? this.#clock.now() + unendingMs;
    this.#known.set(authorization, { identification, goodUntil: until });
  }

  forget(): void {
    this.generation++;
    this.#known = emptyMap();
  }
}

interface VerifiedToken {
  readonly identification: Identification;
  readonly goodUntil: number;
}

function emptyMap(): BoundedMap<string, VerifiedToken> {
  return boundedMap(20_000, {
    maxBytes: 32 * 1024 * 1024,
    // Two bytes per character of the token, and the same amount for the user and the claims.
    bytesOf: (authorization) => 4 * authorization.length + 200,
  });
}

function userOfClaims(claims: Claims): User | null {
  const { sub, email, name, roles } = claims;
  if (typeof sub !== "string" || sub === "") return null;
  const isList = Array.isArray(roles) && roles.every((role) => typeof role === "string");
  return Object.freeze({
    id: sub,
    ...(typeof email === "string" ? { email } : {}),
    ...(typeof name === "string" ? { name } : {}),
    ...(isList ? { roles: Object.freeze([...roles]) } : {}),
    claims: Object.freeze({ ...claims }),
  });
}

/** Returns the 401 for a refused token. `invalid_token` makes clients request another token. */
function refusal(reason: string): Problem {
  return new Problem("unauthorized", `Cannot accept this token: ${reason}`, {
    headers: { "www-authenticate": 'Bearer error="invalid_token"' },
  });
}
