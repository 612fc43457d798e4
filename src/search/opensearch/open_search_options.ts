import { either, groupOf, listOf } from "../../options/option.ts";
import { flag, testedValue, textLike, timerMs } from "../../options/option_kinds.ts";

/** The options of `openSearch`. */
export interface OpenSearchOptions {
  /** The URL of a node (server), or of several nodes, which take turns. */
  readonly node: string | readonly string[];
  /** The user name and password for the nodes. */
  readonly auth?: OpenSearchAuth | undefined;
  /** How the certificates of `https://` nodes are checked. */
  readonly ssl?: OpenSearchTls | undefined;
  /** The prefix of the names of the indexes. Default: `service_`. */
  readonly indexPrefix?: string | undefined;
  /** How long a search or a write waits for OpenSearch, in milliseconds. Default: 2,000. */
  readonly timeoutMs?: number | undefined;
}

/** The credentials for the nodes of `openSearch`. */
export interface OpenSearchAuth {
  /** Name of the user. */
  readonly username: string;
  /** Password of the user. */
  readonly password: string;
}

/** How `openSearch` checks the certificates of nodes. */
export interface OpenSearchTls {
  /** The certificate of a certificate authority to trust, in PEM format. */
  readonly ca?: string | undefined;
  /** False accepts any certificate. Default: true. */
  readonly rejectUnauthorized?: boolean | undefined;
}

const url = textLike("the URL of a node, like https://search.example.com:9200", /^https?:\/\/[^/]/);

export const openSearchOptionRules = groupOf<OpenSearchOptions>()({
  node: either(listOf("URLs of nodes", url), url).required(),
  auth: groupOf<OpenSearchAuth>()({
    username: textLike("the name of a user", /./).required(),
    password: textLike("a password", /./).required(),
  }),
  ssl: groupOf<OpenSearchTls>()({
    ca: testedValue<string>(
      "a PEM that begins with -----BEGIN CERTIFICATE-----",
      (given) => typeof given === "string" && given.includes("-----BEGIN CERTIFICATE-----"),
    ),
    rejectUnauthorized: flag().default(true),
  }),
  indexPrefix: textLike('like "service_", in lower case', /^[a-z0-9][a-z0-9_.-]*$/)
    .default("service_"),
  timeoutMs: timerMs().default(2_000),
}).required();
