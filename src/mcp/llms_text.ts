import type { DocumentInfo } from "../openapi/openapi_input.ts";
import { filterGrammar } from "./tool_definitions.ts";

/** Returns the content of `/llms.txt`, which describes the service to language models. */
export function llmsText({ title, description }: DocumentInfo, root: string): string {
  return `# ${title.slice(0, 100)}
${description === undefined ? "" : `\n> ${description.slice(0, 300)}\n`}
- [What the caller may do](${root}/): resources, fields, requests
- [OpenAPI](/__service/openapi.json)
- MCP: POST /__service/mcp

## Lists

GET ${root}/<resource>?filter=…&orderBy=-field&select=a,b&include=relation&limit=20&cursor=…

## ${filterGrammar}`;
}
