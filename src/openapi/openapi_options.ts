import { type Described, either, group, listOf } from "../options/option.ts";
import { flag, textLike } from "../options/option_kinds.ts";
import type { DocumentInfo, DocumentServer } from "./service_facts.ts";

/** The options of the descriptions of a service below `/__service`. */
export interface OpenapiOptions {
  /** Serves the reference, Swagger UI, at `/__service/reference`. Off unless set. */
  readonly ui?: boolean | undefined;
  /** What the document says of the service; `API` and `1.0.0` unless set. */
  readonly info?: OpenapiInfo | undefined;
  /** Where the service is reached; unless set, where the app is mounted. */
  readonly servers?: readonly DocumentServer[] | undefined;
}

/** The options of what the OpenAPI document says of the service as a whole. */
export type OpenapiInfo = Partial<DocumentInfo>;

const text = () => textLike("a text", /^.{1,10000}$/s);
const url = () => textLike("a URL or a path", /^(?:https?:\/\/\S+|\/\S*)$/);

/** The word of SPDX where nothing is said; a document without a license is incomplete to linters. */
const noAssertion = {
  name: "NOASSERTION",
  url: "https://spdx.github.io/spdx-spec/v2.3/document-creation-information/",
};

const members = {
  ui: flag().unlessSet(false),
  info: group({
    title: text().unlessSet("API"),
    version: text().unlessSet("1.0.0"),
    description: text(),
    license: group({ name: text().required(), url: url() }).unlessSet(noAssertion),
  }).unlessSet({}),
  servers: listOf(
    "servers",
    group({ url: url().required(), description: text() }),
  ),
} satisfies Described<OpenapiOptions>;

/** The option `openapi`, described. */
export const openapiOption = either(flag(), group(members)).unlessSet(true);

/** What the document says of the service, every default resolved. */
export interface ResolvedOpenapi {
  readonly ui: boolean;
  readonly info: DocumentInfo;
  /** Null for the place where the app is mounted. */
  readonly servers: readonly DocumentServer[] | null;
}

/** Resolves the option `openapi`, also where it is switched off. */
export function resolveOpenapi(
  option: boolean | ReturnType<typeof readGroup>,
): ResolvedOpenapi {
  const { ui, info, servers } = typeof option === "boolean" ? readGroup({}) : option;
  return { ui, info, servers: servers ?? null };
}

function readGroup(given: OpenapiOptions) {
  return group(members).required().read(given, { subject: "Cannot start", path: "openapi" });
}
