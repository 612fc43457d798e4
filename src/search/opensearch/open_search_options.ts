import { type Described, either, group, listOf } from "../../options/option.ts";
import { flag, other, textLike, timerMs } from "../../options/option_kinds.ts";

/** The options of `openSearch`. */
export interface OpenSearchOptions {
  /** The URL of a node, or those of several, which take turns. */
  readonly node: string | readonly string[];
  /** The user and password that the nodes ask for. */
  readonly auth?: OpenSearchAuth | undefined;
  /** How the certificates of `https://` nodes are checked. */
  readonly ssl?: OpenSearchTls | undefined;
  /** What the names of its indexes begin with; `service_` unless set. */
  readonly indexPrefix?: string | undefined;
  /** The longest time in milliseconds that a search or a write waits for it; 2,000 unless set. */
  readonly timeoutMs?: number | undefined;
}

/** The user and password for the nodes of `openSearch`. */
export interface OpenSearchAuth {
  /** The user. */
  readonly username: string;
  /** The password. */
  readonly password: string;
}

/** How `openSearch` checks certificates. */
export interface OpenSearchTls {
  /** The certificate of an authority that is trusted, in PEM. */
  readonly ca?: string | undefined;
  /** False trusts any certificate. On unless set to false. */
  readonly rejectUnauthorized?: boolean | undefined;
}

const url = textLike("the URL of a node, like https://search.example.com:9200", /^https?:\/\/[^/]/);

/** The options of `openSearch`, described. */
export const openSearchOptions = group(
  {
    node: either(listOf("URLs of nodes", url), url).required(),
    auth: group(
      {
        username: textLike("the name of a user", /./).required(),
        password: textLike("a password", /./).required(),
      } satisfies Described<OpenSearchAuth>,
    ),
    ssl: group(
      {
        ca: other<string>(
          "a PEM that begins with -----BEGIN CERTIFICATE-----",
          (given) => typeof given === "string" && given.includes("-----BEGIN CERTIFICATE-----"),
        ),
        rejectUnauthorized: flag().unlessSet(true),
      } satisfies Described<OpenSearchTls>,
    ),
    indexPrefix: textLike('like "service_", in lower case', /^[a-z0-9][a-z0-9_.-]*$/)
      .unlessSet("service_"),
    timeoutMs: timerMs().unlessSet(2_000),
  } satisfies Described<OpenSearchOptions>,
).required();
