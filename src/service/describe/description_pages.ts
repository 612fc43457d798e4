import { createHash } from "node:crypto";
import { serviceIndexFor } from "../../openapi/service_index.ts";
import { pascalName } from "../../openapi/component_names.ts";
import { openapiDocument } from "../../openapi/openapi_document.ts";
import { openapiYaml } from "../../openapi/openapi_yaml.ts";
import type { DocumentInfo, OpenapiInput } from "../../openapi/openapi_input.ts";
import { describeService } from "../../openapi/service_schema.ts";
import { jsonContentType, type Reply } from "../../protocol/reply.ts";
import type { Resource } from "../../resource/model/resource.ts";
import { listsTag } from "../../resource/http/etag.ts";
import { acceptedType } from "../../resource/http/accepted_type.ts";
import { pageSecurityPolicy } from "../../protocol/html_page.ts";
import { describePage, type PageRequest, type ServicePage } from "../service_pages.ts";
import { indexPage } from "./index_page.ts";
import { createReferencePages } from "./reference_page.ts";
import { filterGrammar } from "../../mcp/tool_definitions.ts";

export function createDescriptionPages(
  facts: OpenapiInput,
  { describes, openapi: { ui }, mcp }: {
    readonly describes: boolean;
    readonly openapi: { readonly ui: boolean };
    readonly mcp: object | null;
  },
): readonly ServicePage[] {
  const { resources, basePath, routeCount } = facts;
  const documents = [
    documentPage("/__service/schema", "The schema of the service", {
      ...{ type: jsonContentType, routeCount },
      write: (prefix) => JSON.stringify(describeService(facts, prefix)),
    }),
    documentPage("/__service/openapi.json", "The OpenAPI document", {
      ...{ type: jsonContentType, routeCount },
      write: (prefix) => JSON.stringify(openapiDocument(facts, prefix)),
    }),
    documentPage("/__service/openapi.yaml", "The OpenAPI document as YAML", {
      ...{ type: yamlType, routeCount },
      write: (prefix) => openapiYaml(openapiDocument(facts, prefix)),
    }),
  ];
  const reference = ui ? createReferencePages() : [];
  const llms = documentPage("/llms.txt", "What a language model should know", {
    ...{ type: "text/plain", routeCount },
    write: (prefix) => llmsText(facts.info, prefix + basePath),
  });
  return [
    ...describes ? [...documents, ...reference] : [],
    ...mcp === null ? [] : [llms],
    {
      path: basePath === "" ? "/" : basePath,
      isOpen: false,
      description: describePage({
        ...{ id: "describeIndex", summary: "What the caller can do" },
        answers: { 200: { schema: { type: "object" } } },
      }),
      // If the base path is `/`, a route of the deployer takes precedence over the index page.
      ...(basePath === "" ? { yields: true } : {}),
      at: (requested, prefix) =>
        requested === `${basePath}/` || (requested === basePath && requested !== "")
          ? (request) => indexReply(request, resources, prefix)
          : null,
    },
  ];
}

const yamlType = "application/yaml";

/** Returns a page with a document that is cached until the app's routes or mount path change. */
function documentPage(
  path: string,
  summary: string,
  { type, write, routeCount }: {
    readonly type: string;
    write(prefix: string): string;
    routeCount(): number;
  },
): ServicePage {
  let made: {
    readonly prefix: string;
    readonly count: number;
    readonly text: string;
    readonly tag: string;
  } | null = null;
  const names = path.replace(/^\/(?:__service\/)?/, "").split(/[./]/);
  const answers = {
    200: { type, schema: { type: type === "text/plain" ? "string" : "object" } },
    304: null,
  };
  return {
    path,
    description: describePage({
      id: `describe${names.map(pascalName).join("")}`,
      summary,
      answers,
    }),
    isOpen: false,
    at(requested, prefix) {
      if (requested !== path) return null;
      return ({ raw }) => {
        const count = routeCount();
        if (made === null || made.prefix !== prefix || made.count !== count) {
          const text = write(prefix);
          const hash = createHash("sha256").update(text).digest("base64url");
          made = { prefix, count, text, tag: `"${hash.slice(0, 22)}"` };
        }
        return documentReply(raw, type, made.text, made.tag);
      };
    },
  };
}

function documentReply({ headers }: Request, type: string, text: string, tag: string): Reply {
  const cached = { etag: tag, "cache-control": "private, no-cache" };
  return listsTag(headers.get("if-none-match") ?? "", [tag])
    ? { status: 304, headers: cached, body: null }
    : { status: 200, headers: { "content-type": type, ...cached }, body: text };
}

async function indexReply(
  request: PageRequest,
  resources: readonly Resource[],
  prefix: string,
): Promise<Reply> {
  const index = await serviceIndexFor(request.user(), resources, prefix);
  const type = acceptedType(request.raw, [jsonContentType, htmlType]);
  const headers = { vary: "accept", "cache-control": "private, no-cache" };
  if (type === jsonContentType) {
    const body = JSON.stringify(index);
    return { status: 200, headers: { ...headers, "content-type": jsonContentType }, body };
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

function llmsText({ title, description }: DocumentInfo, root: string): string {
  return `# ${title.slice(0, 100)}
${description === undefined ? "" : `\n> ${description.slice(0, 300)}\n`}
- [What the caller may do](${root}/): resources, fields, requests
- [OpenAPI](/__service/openapi.json)
- MCP: POST /__service/mcp

## Lists

GET ${root}/<resource>?filter=…&orderBy=-field&select=a,b&include=relation&limit=20&cursor=…

## ${filterGrammar}`;
}
