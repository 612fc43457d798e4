import {
  CompactSign,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";

/** A pair of keys of a test, with the public one as a JWK. */
export interface SigningKey {
  readonly algorithm: string;
  readonly keyId: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

/** Makes a pair of keys. */
export async function signingKey(algorithm: string, keyId: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = { ...await exportJWK(publicKey), kid: keyId, alg: algorithm, use: "sig" };
  return { algorithm, keyId, privateKey, publicKey, jwk };
}

/** Seconds since 1970. */
export const nowSeconds = () => Math.floor(Date.now() / 1_000);

/** Signs claims that are good for an hour, unless they say otherwise. */
export async function signed(
  { algorithm, keyId, privateKey }: Pick<SigningKey, "algorithm" | "keyId" | "privateKey">,
  claims: JWTPayload,
  header: Record<string, unknown> = {},
): Promise<string> {
  return await new SignJWT({ exp: nowSeconds() + 3_600, ...claims })
    .setProtectedHeader({ alg: algorithm, kid: keyId, ...header })
    .sign(privateKey);
}

/** Signs with an extension that a verifier must know (RFC 7515, 4.1.11). */
export async function signedWithExtension(
  { algorithm, privateKey }: SigningKey,
  claims: JWTPayload,
): Promise<string> {
  const payload = new TextEncoder().encode(JSON.stringify(claims));
  const header = { alg: algorithm, crit: ["urn:x"], "urn:x": 1 };
  return await new CompactSign(payload).setProtectedHeader(header)
    .sign(privateKey, { crit: { "urn:x": true } });
}

/** Signs with a secret. */
export async function signedWith(
  secret: string | Uint8Array,
  claims: JWTPayload,
  header: Record<string, unknown> = {},
): Promise<string> {
  const key = typeof secret === "string" ? new TextEncoder().encode(secret) : secret;
  return await new SignJWT({ exp: nowSeconds() + 3_600, ...claims })
    .setProtectedHeader({ alg: "HS256", ...header }).sign(key);
}

/** A token of these parts, whatever they are. */
export function rawToken(header: unknown, claims: unknown, signature = ""): string {
  const encode = (part: unknown) =>
    new TextEncoder().encode(JSON.stringify(part)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    });
  return `${encode(header)}.${encode(claims)}.${signature}`;
}

/** A server of a key set, which counts the requests. */
export interface KeyServer extends AsyncDisposable {
  readonly url: string;
  /** What it answers. */
  answer: () => Response | Promise<Response>;
  readonly requests: number;
}

export function keyServer(keys: readonly JWK[]): KeyServer {
  const state = {
    answer: (): Response | Promise<Response> => Response.json({ keys }),
    requests: 0,
  };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    state.requests++;
    return state.answer();
  });
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.addr.port}/jwks.json`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}
