import { createPublicKey, type KeyObject } from "node:crypto";
import type { Runtime } from "../../runtime/runtime.ts";
import type { JwtAlgorithm, PublicKey, ResolvedJwtAuthOptions } from "./jwt_auth_options.ts";
import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from "jose";

/** Verifies a token with the configured keys. Rejects with a 503 until keys have been fetched. */
export type VerifyToken = (token: string) => Promise<Verification>;

interface KeySourceOptions extends Pick<Runtime, "clock" | "observe"> {
  /** Called when the keys have changed, so that tokens are verified again. */
  readonly onChange: () => void;
}

export function createTokenVerifier(
  options: ResolvedJwtAuthOptions,
  parts: KeySourceOptions,
): VerifyToken {
  const { secret, key, jwks } = options;
  const verify = (algorithms: readonly JwtAlgorithm[]) => (token: string, by: VerificationKey) =>
    verifyJwt(token, by, { ...options, algorithms, now: parts.clock.now() });
  if (jwks !== undefined) return byKeySet(jwks, verify(options.algorithms ?? asymmetric), parts);
  if (secret !== undefined) {
    const accepts = verify(options.algorithms ?? ["HS256"]);
    const keys = [secret].flat().map((one) => new TextEncoder().encode(one));
    return byAny(keys.map((one) => (token: string) => accepts(token, one)));
  }
  const { publicKey, algorithms } = readPublicKey(key ?? "", options.algorithms);
  return (token) => verify(algorithms)(token, publicKey);
}

const asymmetric: readonly JwtAlgorithm[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const,
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const,
];

const refused: Verification = {
  kind: "refused",
  reason: "it is not a token that was signed for this service",
};

function byAny(verifications: readonly VerifyToken[]): VerifyToken {
  return async (token) => {
    let last: Verification = refused;
    for (const verify of verifications) {
      last = await verify(token);
      if (last.kind === "verified") return last;
    }
    return last;
  };
}

function byKeySet(
  url: string,
  verify: (token: string, key: VerificationKey) => Promise<Verification>,
  options: KeySourceOptions,
): VerifyToken {
  const set = new KeySet(url, options);
  return async (token) => {
    const verified = await verify(token, await set.keys());
    if (verified.kind !== "unknown-key") return verified;
    const newer = await set.newerKeys();
    return newer === null ? verified : await verify(token, newer);
  };
}

function readPublicKey(key: string | PublicKey, accepted: readonly JwtAlgorithm[] | undefined) {
  let cause: unknown;
  try {
    const publicKey = createPublicKey(
      typeof key === "string" ? key.trim() : { key: { ...key }, format: "jwk" },
    );
    const possible = algorithmsOf(publicKey);
    const named = typeof key === "string" ? undefined : asymmetric.find((one) => one === key.alg);
    const wanted = accepted ?? [named ?? possible[0]];
    const algorithms = possible.filter((one) => wanted.includes(one));
    if (algorithms.length > 0) return { publicKey, algorithms };
  } catch (error) {
    cause = error;
  }
  throw new Error("Cannot start: jwtAuth.key is no public key of an algorithm that is accepted", {
    cause,
  });
}

/** Returns the algorithms that can use a public key. The first algorithm is the default. */
function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  switch (asymmetricKeyType) {
    case "rsa":
      return asymmetric.filter((one) => /^[RP]S/.test(one));
    case "ed25519":
      return ["EdDSA", "Ed25519"] as const;
    default: {
      const byCurve = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" } as const;
      const curve = asymmetricKeyDetails?.namedCurve;
      return Object.entries(byCurve).flatMap(([name, one]) => name === curve ? [one] : []);
    }
  }
}

/** Age at which keys are fetched again, in milliseconds. If that fails, old keys stay in use. */
const maxAgeMs = 10 * 60_000;
/** Minimum time between two fetches after a fetch has succeeded, in milliseconds. */
const pauseMs = 60_000;
/** Minimum time between two fetches while no fetch has succeeded, in milliseconds. */
const firstPauseMs = 5_000;
/** Timeout of a fetch, in milliseconds. Only requests whose key is not cached wait for a fetch. */
const timeoutMs = 5_000;
const maxBytes = 512 * 1024;

/** Caches a remote JSON Web Key Set. During an outage, only tokens with unknown keys wait. */
class KeySet {
  readonly #url: string;
  readonly #options: KeySourceOptions;
  #known: { readonly keys: VerificationKey; readonly text: string } | null = null;
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #fetching: Promise<void> | null = null;

  constructor(url: string, options: KeySourceOptions) {
    this.#url = url;
    this.#options = options;
  }

  async keys(): Promise<VerificationKey> {
    const now = this.#options.clock.elapsedMs();
    if (this.#known === null) await this.#fetchAfter(firstPauseMs);
    else if (now - this.#fetchedAt >= maxAgeMs) void this.#fetchAfter(pauseMs);
    if (this.#known !== null) return this.#known.keys;
    throw new Problem(
      "identity-unavailable",
      "Cannot verify this token: no keys could be fetched",
      { headers: { "retry-after": String(firstPauseMs / 1_000) } },
    );
  }

  /** Fetches the keys again for a token with an unknown key. Returns null if no fetch succeeded. */
  async newerKeys(): Promise<VerificationKey | null> {
    const before = this.#fetchedAt;
    await this.#fetchAfter(pauseMs);
    return this.#fetchedAt === before ? null : this.#known?.keys ?? null;
  }

  async #fetchAfter(minPauseMs: number): Promise<void> {
    const now = this.#options.clock.elapsedMs();
    if (this.#fetching === null && now - this.#triedAt >= minPauseMs) {
      this.#triedAt = now;
      this.#fetching = this.#fetch().finally(() => this.#fetching = null);
    }
    await this.#fetching;
  }

  async #fetch(): Promise<void> {
    const { clock, observe, onChange } = this.#options;
    const controller = new AbortController();
    const cancelTimer = clock.after(
      timeoutMs,
      () => controller.abort(new Error("No answer in time")),
    );
    try {
      const text = await fetchText(this.#url, controller.signal);
      if (this.#known?.text !== text) {
        const isFirst = this.#known === null;
        // The cast is safe: jose validates the document.
        this.#known = { keys: createLocalJWKSet(JSON.parse(text) as JSONWebKeySet), text };
        if (!isFirst) onChange();
      }
      this.#fetchedAt = clock.elapsedMs();
    } catch (error) {
      observe({ kind: "keys_not_fetched", url: this.#url, error });
    } finally {
      cancelTimer();
    }
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const headers = { accept: "application/jwk-set+json, application/json" };
  // A redirect could lead to a server in the private network of the service.
  const response = await fetch(url, { signal, headers, redirect: "error" });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server of the keys answered ${response.status}`);
  }
  const bytes = await readBytes(response.body, { limit: maxBytes });
  if (typeof bytes === "string") throw new Error(`The key set has more than ${maxBytes} bytes`);
  return new TextDecoder().decode(bytes);
}

type VerificationKey = Uint8Array | KeyObject | ReturnType<typeof createLocalJWKSet>;

type Verification =
  | { readonly kind: "verified"; readonly claims: JWTPayload }
  | { readonly kind: "unknown-key" }
  /** `reason` is sent to the client, so it contains only facts about the token. */
  | { readonly kind: "refused"; readonly reason: string };

interface VerifyOptions
  extends Pick<ResolvedJwtAuthOptions, "issuer" | "audience" | "type" | "clockToleranceMs"> {
  readonly algorithms: readonly JwtAlgorithm[];
  readonly requireExpiry: boolean;
  readonly now: number;
}

/** Verifies a JWT (RFC 7515, 7519). Ignores headers with a key or its URL (`jwk`, `jku`, `x5u`). */
async function verifyJwt(
  token: string,
  key: VerificationKey,
  options: VerifyOptions,
): Promise<Verification> {
  const { algorithms, issuer, audience, type, clockToleranceMs, requireExpiry, now } = options;
  const checks = {
    algorithms: [...algorithms],
    currentDate: new Date(now),
    clockTolerance: clockToleranceMs / 1_000,
    ...(issuer === undefined ? {} : { issuer: [issuer].flat() }),
    ...(audience === undefined ? {} : { audience: [audience].flat() }),
    ...(type === undefined ? {} : { typ: type }),
    requiredClaims: requireExpiry ? ["exp"] : [],
  };
  try {
    // `jwtVerify` has separate overloads for keys and functions, so TypeScript needs two calls.
    const { payload } = typeof key === "function"
      ? await jwtVerify(token, key, checks)
      : await jwtVerify(token, key, checks);
    return { kind: "verified", claims: payload };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return { kind: "unknown-key" };
    return { kind: "refused", reason: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `its claim "${error.claim}" is not the one that is accepted`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return "its algorithm is not accepted";
  return "it is not a token that was signed for this service";
}
