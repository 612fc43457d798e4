import { createHash } from "node:crypto";
import { indexFor } from "../../openapi/service_index.ts";
import { type DescribedService, describeService } from "../../openapi/service_schema.ts";
import { jsonType, type Reply } from "../../protocol/reply.ts";
import type { Resource } from "../../resource/define/resource.ts";
import { acceptedType } from "../../resource/http/accepted_type.ts";
import { pageSecurityPolicy } from "../html_page.ts";
import type { PageRequest, ServicePage } from "../service_pages.ts";
import { indexPage } from "./index_page.ts";

/**
 * Makes the pages by which a service describes itself: the index of its resources, and below
 * `/__service` its schema, unless `openapi` is off.
 */
export function createDescriptionPages(
  service: DescribedService,
  openapi: boolean,
): readonly ServicePage[] {
  const { resources, basePath } = service;
  const schema = documentPage(
    "/__service/schema",
    (prefix) => ({
      type: jsonType,
      text: JSON.stringify(describeService(service, prefix)),
    }),
  );
  return [...openapi ? [schema] : [], indexPageAt(basePath, resources)];
}

/** A document of the service, as text. */
interface Document {
  readonly type: string;
  readonly text: string;
}

/** A page that is the same for every caller: made once, and again where the app is mounted elsewhere. */
function documentPage(path: string, write: (prefix: string) => Document): ServicePage {
  let made: { readonly prefix: string; readonly document: Document; readonly tag: string } | null =
    null;
  return {
    path,
    isOpen: false,
    at(requested, prefix) {
      if (requested !== path) return null;
      return ({ raw }) => {
        if (made === null || made.prefix !== prefix) {
          const document = write(prefix);
          const hash = createHash("sha256").update(document.text).digest("base64url");
          made = { prefix, document, tag: `"${hash.slice(0, 22)}"` };
        }
        return documentReply(raw, made.document, made.tag);
      };
    },
  };
}

function documentReply({ headers }: Request, { type, text }: Document, tag: string): Reply {
  const cached = { etag: tag, "cache-control": "private, no-cache" };
  const known = headers.get("if-none-match")?.split(",").map((one) => one.trim().replace("W/", ""));
  return known?.includes(tag)
    ? { status: 304, headers: cached, body: null }
    : { status: 200, headers: { "content-type": type, ...cached }, body: text };
}

/** Below the root, a route of the deployer's at the same path precedes: that is their own front page. */
function indexPageAt(basePath: string, resources: readonly Resource[]): ServicePage {
  return {
    path: basePath === "" ? "/" : basePath,
    isOpen: false,
    ...(basePath === "" ? { yields: true } : {}),
    at: (requested, prefix) =>
      requested === `${basePath}/` || (requested === basePath && requested !== "")
        ? (request) => indexReply(request, resources, prefix)
        : null,
  };
}

async function indexReply(
  request: PageRequest,
  resources: readonly Resource[],
  prefix: string,
): Promise<Reply> {
  const index = await indexFor(request.user(), resources, prefix);
  const type = acceptedType(request.raw, [jsonType, htmlType]);
  const headers = { vary: "accept", "cache-control": "private, no-cache" };
  if (type === jsonType) {
    const body = JSON.stringify(index);
    return { status: 200, headers: { ...headers, "content-type": jsonType }, body };
  }
  return {
    status: 200,
    headers: {
      ...headers,
      "content-type": `${htmlType}; charset=utf-8`,
      "content-security-policy": pageSecurityPolicy,
    },
    body: indexPage(index),
  };
}

const htmlType = "text/html";
