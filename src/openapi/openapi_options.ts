import { type Described, either, group, listOf } from "../options/option.ts";
import { flag, textLike } from "../options/option_kinds.ts";
import type { DocumentInfo, DocumentServer } from "./openapi_input.ts";

/** The options of the OpenAPI document and the other descriptions below `/__service`. */
export interface OpenapiOptions {
  /** Serves Swagger UI at `/__service/reference`. Default: false. */
  readonly ui?: boolean | undefined;
  /** Title, version and other information in the document. Default: `API` and `1.0.0`. */
  readonly info?: OpenapiInfo | undefined;
  /** URLs of the service. Default: the path at which the app is mounted. */
  readonly servers?: readonly DocumentServer[] | undefined;
}

/** The general information in the OpenAPI document. */
export type OpenapiInfo = Partial<DocumentInfo>;

const text = () => textLike("a string", /^.{1,10000}$/s);
const url = () => textLike("a URL or a path", /^(?:https?:\/\/\S+|\/\S*)$/);

/** The SPDX value for "no statement about the license". Linters require a license. */
const noAssertion = {
  name: "NOASSERTION",
  url: "https://spdx.github.io/spdx-spec/v2.3/document-creation-information/",
};

const members = {
  ui: flag().default(false),
  info: group({
    title: text().default("API"),
    version: text().default("1.0.0"),
    description: text(),
    license: group({ name: text().required(), url: url() }).default(noAssertion),
  }).default({}),
  servers: listOf("servers", group({ url: url().required(), description: text() })),
} satisfies Described<OpenapiOptions>;

export const openapiOptionRule = either(flag(), group(members)).default(true);

/** Returns the options with defaults, even for `false`: `app.openapi()` works without routes. */
export function resolveOpenapi(option: boolean | ReturnType<typeof readGroup>) {
  const { ui, info, servers } = typeof option === "boolean" ? readGroup({}) : option;
  return { ui, info, servers: servers ?? null };
}

function readGroup(given: OpenapiOptions) {
  return group(members).required().read(given, { subject: "Cannot start", path: "openapi" });
}
