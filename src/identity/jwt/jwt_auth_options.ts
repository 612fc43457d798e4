import { type Described, either, group, listOf } from "../../options/option.ts";
import { callback, flag, oneOf, other, textLike, whole } from "../../options/option_kinds.ts";
import { isLoopback } from "../../protocol/loopback.ts";
import { secretOption } from "../../runtime/resolve_secrets.ts";
import type { User } from "../../auth/user.ts";

/** The options of JSON Web Tokens. Exactly one of `secret`, `key` and `jwks` is given. */
export interface JwtAuthOptions {
  /** The secret of signed tokens (default: HS256). A list allows rotation. */
  readonly secret?: string | readonly string[] | undefined;
  /** The public key of signed tokens: a PEM (`-----BEGIN PUBLIC KEY-----`) or a JWK. */
  readonly key?: string | PublicKey | undefined;
  /** The `https://` URL of a JSON Web Key Set, which is fetched and cached (RFC 7517, 5). */
  readonly jwks?: string | undefined;
  /**
   * The accepted algorithms. Default: the algorithms of the kind of the key. The algorithm that a
   * token names is never trusted alone.
   */
  readonly algorithms?: readonly JwtAlgorithm[] | undefined;
  /** The issuers that are accepted in the `iss` of a token. Default: any. */
  readonly issuer?: string | readonly string[] | undefined;
  /** The audiences that are accepted in the `aud` of a token. Default: any. */
  readonly audience?: string | readonly string[] | undefined;
  /** The required `typ` of a token's header, like `at+jwt`. Default: any. */
  readonly type?: string | undefined;
  /** The maximum difference to the issuer's clock, in milliseconds. Default: 5,000. */
  readonly clockToleranceMs?: number | undefined;
  /** True to reject a token without `exp`. Default: true. */
  readonly requireExpiry?: boolean | undefined;
  /**
   * Returns the user of verified claims, or null to reject the token. By default the id is `sub`.
   * The user also has `email`, `name` and `roles`, if they are claims, and all claims.
   */
  readonly user?: UserOfClaims | undefined;
}

/** An algorithm of signatures (RFC 7518, 3.1; RFC 8037, 3.1). */
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

/** Returns the user of the claims of a verified token. */
export type UserOfClaims = (claims: Claims) => User | null | Promise<User | null>;

const algorithm = oneOf<JwtAlgorithm>(
  ...["EdDSA", "Ed25519", "ES256", "ES384", "ES512", "RS256", "RS384", "RS512"] as const,
  ...["PS256", "PS384", "PS512", "HS256", "HS384", "HS512"] as const,
);

const name = textLike("a text", /^.+$/);
const names = either(
  name,
  listOf("texts", name).fitting("a list of texts", ({ length }) => length > 0),
);

const publicKey = other<string | PublicKey>(
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
    // Keys that are sent in clear text could be replaced on the network.
    return protocol === "https:" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"));
  });

/** The options of JSON Web Tokens, described. */
export const jwtAuthOptions = group(
  {
    secret: secretOption(),
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
  } satisfies Described<JwtAuthOptions>,
).required();

/** The options of JSON Web Tokens, with every default. */
export type ResolvedJwtAuthOptions = NonNullable<ReturnType<typeof jwtAuthOptions.read>>;

/**
 * Reads the options of JSON Web Tokens. Throws a plain Error for an invalid one, and unless exactly
 * one kind of key is given.
 */
export function readJwtAuthOptions(options: JwtAuthOptions): ResolvedJwtAuthOptions {
  const subject = "Cannot start";
  const read = jwtAuthOptions.read(options, { subject, path: "jwtAuth" });
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
