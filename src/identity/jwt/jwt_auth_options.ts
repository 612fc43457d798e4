import { either, groupOf, listOf } from "../../options/option.ts";
import { callback, flag, oneOf, testedValue, textLike, whole } from "../../options/option_kinds.ts";
import { isLoopback } from "../../protocol/loopback.ts";
import { secretOptionRule } from "../../runtime/resolve_secrets.ts";
import type { User } from "../../auth/authorize.ts";

/** The options of JSON Web Tokens. Exactly one of `secret`, `key` and `jwks` must be set. */
export interface JwtAuthOptions {
  /** The secret that signs tokens, by default with HS256; a list of secrets during a rotation. */
  readonly secret?: string | readonly string[] | undefined;
  /** The public key that verifies tokens: a PEM (`-----BEGIN PUBLIC KEY-----`) or a JWK. */
  readonly key?: string | PublicKey | undefined;
  /** The `https://` URL of a JSON Web Key Set, which is fetched and cached (RFC 7517, 5). */
  readonly jwks?: string | undefined;
  /** The accepted signature algorithms. Default: the algorithms for which the key is suitable. */
  readonly algorithms?: readonly JwtAlgorithm[] | undefined;
  /** The accepted values of a token's `iss`. Default: any value. */
  readonly issuer?: string | readonly string[] | undefined;
  /** The accepted values of a token's `aud`. Default: any value. */
  readonly audience?: string | readonly string[] | undefined;
  /** The required `typ` in a token's header, such as `at+jwt`. Default: any value. */
  readonly type?: string | undefined;
  /** How far the issuer's clock may differ from this clock, in milliseconds. Default: 5,000. */
  readonly clockToleranceMs?: number | undefined;
  /** True to reject a token without `exp`. Default: true. */
  readonly requireExpiry?: boolean | undefined;
  /**
   * Returns the user for a verified token's claims, or null to reject the token. By default, the
   * user has `sub` as `id`, any valid `email`, `name` and `roles`, and all claims as `claims`.
   */
  readonly user?: UserOfClaims | undefined;
}

/** A signature algorithm (RFC 7518, 3.1; RFC 8037, 3.1). */
export type JwtAlgorithm =
  | "HS256"
  | "HS384"
  | "HS512"
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "EdDSA"
  | "Ed25519";

/** A public key as a JWK (RFC 7517). */
export type PublicKey = Readonly<Record<string, unknown>> & { readonly kty: string };

/** The claims of a verified token (RFC 7519, 4). */
export type Claims = Readonly<Record<string, unknown>>;

/** Returns the user for a verified token's claims, or null to reject the token. */
export type UserOfClaims = (claims: Claims) => User | null | Promise<User | null>;

const algorithm = oneOf<JwtAlgorithm>(
  ...["EdDSA", "Ed25519", "ES256", "ES384", "ES512", "RS256", "RS384", "RS512"] as const,
  ...["PS256", "PS384", "PS512", "HS256", "HS384", "HS512"] as const,
);

const name = textLike("a string", /^.+$/);
const names = either(
  name,
  listOf("strings", name).fitting("a list of strings", ({ length }) => length > 0),
);

const publicKey = testedValue<string | PublicKey>(
  "a PEM that begins with -----BEGIN PUBLIC KEY-----, or a JWK",
  (given) =>
    typeof given === "string"
      ? /^\s*-----BEGIN (?:PUBLIC KEY|CERTIFICATE)-----/.test(given)
      : typeof given === "object" && given !== null && "kty" in given && !("d" in given) &&
        !("k" in given) && typeof given.kty === "string",
).advising((given) => {
  const isPrivate = typeof given === "string"
    ? given.includes("PRIVATE KEY")
    : typeof given === "object" && given !== null && ("d" in given || "k" in given);
  return isPrivate ? "is a private key: give it the public one, which verifies" : null;
});

const keySetUrl = textLike("an https:// URL", /^https?:\/\/\S+$/)
  .fitting("an https:// URL, or http:// on this machine", (given) => {
    const { protocol = "", hostname = "" } = URL.parse(given) ?? {};
    // Over HTTP, an attacker in the network could replace the keys.
    return protocol === "https:" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"));
  });

export const jwtAuthOptionRules = groupOf<JwtAuthOptions>()({
  secret: secretOptionRule(),
  key: publicKey,
  jwks: keySetUrl,
  algorithms: listOf("algorithms", algorithm)
    .fitting("a list of algorithms", ({ length }) => length > 0),
  issuer: names,
  audience: names,
  type: name,
  clockToleranceMs: whole({ from: 0, to: 600_000 }).default(5_000),
  requireExpiry: flag().default(true),
  user: callback<UserOfClaims>(),
}).required();

export type ResolvedJwtAuthOptions = NonNullable<ReturnType<typeof jwtAuthOptionRules.read>>;

export function readJwtAuthOptions(options: JwtAuthOptions): ResolvedJwtAuthOptions {
  const subject = "Cannot start";
  const read = jwtAuthOptionRules.read(options, { subject, path: "jwtAuth" });
  const given = (["secret", "key", "jwks"] as const).filter((name) => read[name] !== undefined);
  if (given.length !== 1) {
    const found = given.length === 0 ? "none of them is" : `${given.join(" and ")} are`;
    throw new Error(`${subject}: jwtAuth takes one of secret, key and jwks, and ${found} given`);
  }
  const isSecret = read.secret !== undefined;
  const wrong = read.algorithms?.find((one) => one.startsWith("HS") !== isSecret);
  if (wrong !== undefined) {
    throw new Error(
      `${subject}: jwtAuth.algorithms names ${wrong}, which is no algorithm of a ${
        isSecret ? "secret" : "public key"
      }`,
    );
  }
  return read;
}
