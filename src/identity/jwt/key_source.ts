import type { Runtime } from "../../runtime/runtime.ts";
import type { JwtAlgorithm, PublicKey, ResolvedJwtAuthOptions } from "./jwt_auth_options.ts";
import { KeySet } from "./key_set.ts";
import {
  importPublicKey,
  type Verification,
  type VerificationKey,
  verifyJwt,
} from "./verify_jwt.ts";

/** Verifies a token with the configured keys. Rejects with a 503 while no keys could be fetched. */
export type VerifyToken = (token: string) => Promise<Verification>;

/** The clock and the observer, and the callback for changed keys. */
export interface KeySourceOptions extends Pick<Runtime, "clock" | "observe"> {
  /** Called when the keys of the remote key set have changed. */
  readonly onChange: () => void;
}

/** Creates the function that verifies tokens. Rejects with a plain Error for an unusable key. */
export async function createTokenVerifier(
  options: ResolvedJwtAuthOptions,
  parts: KeySourceOptions,
): Promise<VerifyToken> {
  const { secret, key, jwks } = options;
  const verify = (algorithms: readonly JwtAlgorithm[]) => (token: string, by: VerificationKey) =>
    verifyJwt(token, by, { ...options, algorithms, now: parts.clock.now() });
  if (jwks !== undefined) {
    return byKeySet(jwks, verify(options.algorithms ?? asymmetric), parts);
  }
  if (secret !== undefined) {
    const accepts = verify(options.algorithms ?? ["HS256"]);
    const keys = [secret].flat().map((one) => new TextEncoder().encode(one));
    return byAny(keys.map((one) => (token: string) => accepts(token, one)));
  }
  const algorithms = options.algorithms ?? algorithmsOf(key ?? "");
  // The key must be imported separately for each algorithm.
  const imported = await importAll(key ?? "", algorithms);
  return byAny(
    imported.map(([algorithm, one]) => (token: string) => verify([algorithm])(token, one)),
  );
}

const asymmetric: readonly JwtAlgorithm[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const,
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const,
];

const refused: Verification = {
  kind: "refused",
  reason: "it is not a token that was signed for this service",
};

/** Returns a function that accepts a token if any of these functions accepts it. */
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
  runtime: KeySourceOptions,
): VerifyToken {
  const set = new KeySet({ url, runtime, onChange: runtime.onChange });
  return async (token) => {
    const verified = await verify(token, await set.keys());
    if (verified.kind !== "unknown-key") return verified;
    const newer = await set.newerKeys();
    return newer === null ? verified : await verify(token, newer);
  };
}

/** Returns the usual algorithms for a key that does not name its algorithm. */
function algorithmsOf(key: string | PublicKey): readonly JwtAlgorithm[] {
  if (typeof key === "string") return ["RS256", "ES256", "ES384", "ES512", "EdDSA"];
  const { kty, crv, alg } = key;
  const named = asymmetric.find((one) => one === alg);
  if (named !== undefined) return [named];
  if (kty === "RSA") return ["RS256"];
  if (kty === "OKP") return ["EdDSA"];
  const byCurve = { "P-256": "ES256", "P-384": "ES384", "P-521": "ES512" } as const;
  return crv === "P-256" || crv === "P-384" || crv === "P-521" ? [byCurve[crv]] : [];
}

/** Imports a key for each algorithm for which it is suitable. */
async function importAll(
  key: string | PublicKey,
  algorithms: readonly JwtAlgorithm[],
): Promise<readonly (readonly [JwtAlgorithm, VerificationKey])[]> {
  const imported: (readonly [JwtAlgorithm, VerificationKey])[] = [];
  const errors: unknown[] = [];
  for (const algorithm of algorithms) {
    try {
      imported.push([algorithm, await importPublicKey(key, algorithm)]);
    } catch (error) {
      // The key may be unsuitable for this algorithm, and suitable for another.
      errors.push(error);
    }
  }
  if (imported.length > 0) return imported;
  throw new Error("Cannot start: jwtAuth.key is no public key of an algorithm that is accepted", {
    cause: errors[0],
  });
}
