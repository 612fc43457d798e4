import { createPublicKey, type KeyObject } from "node:crypto";
import type { Runtime } from "../../runtime/runtime.ts";
import type { JwtAlgorithm, PublicKey, ResolvedJwtAuthOptions } from "./jwt_auth_options.ts";
import { KeySet } from "./key_set.ts";
import { type Verification, type VerificationKey, verifyJwt } from "./verify_jwt.ts";

/** Verifies a token with the configured keys. Rejects with a 503 while no keys could be fetched. */
export type VerifyToken = (token: string) => Promise<Verification>;

export interface KeySourceOptions extends Pick<Runtime, "clock" | "observe"> {
  /** Called when the keys of the remote key set have changed. */
  readonly onChange: () => void;
}

/** Creates the verification of tokens. Throws a plain Error for a key that cannot be used. */
export function createTokenVerifier(
  options: ResolvedJwtAuthOptions,
  parts: KeySourceOptions,
): VerifyToken {
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

/** Reads a configured key. Throws a plain Error if the key can verify no accepted algorithm. */
function readPublicKey(
  key: string | PublicKey,
  accepted: readonly JwtAlgorithm[] | undefined,
) {
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

/** Returns the algorithms that a public key can verify. The first algorithm is the usual one. */
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
