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
   * The algorithms that are accepted; by the kind of the key unless set. The one that a token names
   * is never trusted by itself.
   */
  readonly algorithms?: readonly JwtAlgorithm[] | undefined;
  /** The `iss` that a token must have; any unless set. */
  readonly issuer?: string | readonly string[] | undefined;
  /** The `aud` that a token must have, one of these; any unless set. */
  readonly audience?: string | readonly string[] | undefined;
  /** The `typ` of the header that a token must have, as `at+jwt`; any unless set. */
  readonly type?: string | undefined;
  /** How far in milliseconds the clock of the issuer may differ; 5,000 unless set. */
  readonly clockToleranceMs?: number | undefined;
  /** True if a token without `exp` is refused; true unless set. */
  readonly requireExpiry?: boolean | undefined;
  /**
   * Makes the user of verified claims; null refuses the token. Unless set the id is `sub`, with
   * `email`, `name`, `roles` where they are given, and all claims.
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
    clockToleranceMs: whole({ from: 0, to: 600_000 }).unlessSet(5_000),
    requireExpiry: flag().unlessSet(true),
    user: callback<UserOfClaims>(),
  } satisfies Described<JwtAuthOptions>,
).required();

/** The options of JSON Web Tokens, with every default. */
export type ResolvedJwtAuthOptions = NonNullable<ReturnType<typeof jwtAuthOptions.read>>;

/**
 * Reads the options of JSON Web Tokens. Throws a plain Error for a wrong one, and where not exactly
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
