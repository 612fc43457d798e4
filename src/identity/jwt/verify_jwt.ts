import type { KeyObject } from "node:crypto";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from "jose";
import type { JwtAlgorithm, ResolvedJwtAuthOptions } from "./jwt_auth_options.ts";

export type VerificationKey = Uint8Array | KeyObject | ReturnType<typeof createLocalJWKSet>;

export type Verification =
  | { readonly kind: "verified"; readonly claims: JWTPayload }
  /** The key set has no key with the id that the token names. */
  | { readonly kind: "unknown-key" }
  /** `reason` is for the client, and says only facts about the token. */
  | { readonly kind: "refused"; readonly reason: string };

/** The conditions that a token must meet, and the current time. */
export interface VerifyOptions
  extends Pick<ResolvedJwtAuthOptions, "issuer" | "audience" | "type" | "clockToleranceMs"> {
  readonly algorithms: readonly JwtAlgorithm[];
  readonly requireExpiry: boolean;
  /** The current time, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * Verifies a token (RFC 7515, RFC 7519): its signature by an allowed algorithm, `crit`, its times,
 * issuer and audience. Ignores keys that the token itself contains (`jwk`, `jku`, `x5u`).
 */
export async function verifyJwt(
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
    // The function of jose has separate overloads for keys and for functions.
    const { payload } = typeof key === "function"
      ? await jwtVerify(token, key, checks)
      : await jwtVerify(token, key, checks);
    return { kind: "verified", claims: payload };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return { kind: "unknown-key" };
    return { kind: "refused", reason: reasonOf(error) };
  }
}

/** Creates the key set from a JWKS document. Throws for an invalid document. */
export function createKeySet(document: unknown): VerificationKey {
  // The cast is safe: jose validates the document.
  return createLocalJWKSet(document as JSONWebKeySet);
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `its claim "${error.claim}" is not the one that is accepted`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return "its algorithm is not accepted";
  // Every other error is one of the signature, the token's form, `crit`, or an unsuitable key.
  return "it is not a token that was signed for this service";
}
