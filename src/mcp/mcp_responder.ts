import {
  acceptedContent,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { ServiceSchema } from "../openapi/service_schema.ts";
import type { McpCall, McpHandler, McpHandlerDependencies } from "./mcp_call.ts";
import { runTool, type ToolArguments, type ToolContext, type ToolResource } from "./run_tool.ts";
import { filterGrammar, toolDefinitions, type ToolName } from "./tool_definitions.ts";
import { sendAs, ToolRefusal } from "./tool_request.ts";

export function createMcp(parts: McpHandlerDependencies): McpHandler {
  const resources = toolResources(parts.schema);
  const { schema: { basePath }, mountedAt, maxRequestBytes: maxRequestBodySize } = parts;
  const calls = new WeakMap<object, McpCall>();
  const handler = createMcpHandler(({ era, authInfo }) => {
    const call = calls.get(authInfo?.extra ?? {});
    if (call === undefined) throw new Error("A request of MCP came from elsewhere");
    const send = sendAs({ fetch: call.fetch, caller: call.request, basePath });
    const context = { send, resources, indexBase: mountedAt + basePath };
    // Each request has its own server object, so that no client receives another client's response.
    return serverFor({ ...call, era, context }, parts);
    // The service sends no notifications, but each client may keep one stream open for them.
  }, { maxRequestBodySize, maxSubscriptions: 1 });
  return async (call) => {
    // The SDK copies the request, but passes the object `extra` to the tools unchanged.
    const extra = {};
    calls.set(extra, call);
    const authInfo = { token: "", clientId: "", scopes: [], extra };
    return await handler.fetch(call.request, { authInfo });
  };
}

/** Serves the client that started this process. `call` describes the caller of all requests. */
export function serveMcpOverStdio(
  parts: McpHandlerDependencies,
  call: McpCall,
): { close(): Promise<void> } {
  const { schema: { basePath }, mountedAt } = parts;
  const send = sendAs({ fetch: call.fetch, caller: call.request, basePath });
  const context = {
    send,
    // A getter, because the resources change with the tables.
    get resources() {
      return toolResources(parts.schema);
    },
    indexBase: mountedAt + basePath,
  };
  return serveStdio(({ era }) => serverFor({ ...call, era, context }, parts));
}

interface ServedCall extends McpCall {
  readonly era: "legacy" | "modern";
  readonly context: ToolContext;
}

function serverFor(
  call: ServedCall,
  { options, version, observe }: McpHandlerDependencies,
): McpServer {
  const server = new McpServer({ name: "resource-api", version });
  // The cast is safe: the type of `toolDefinitions` has exactly the tool names as keys.
  for (const name of Object.keys(toolDefinitions) as ToolName[]) {
    const { description, input, isWrite } = toolDefinitions[name];
    if (isWrite && !options.write) continue;
    server.registerTool(name, {
      description,
      inputSchema: fromJsonSchema<ToolArguments>(input),
      annotations: { readOnlyHint: !isWrite, destructiveHint: name === "delete_row" },
    }, async (args, { mcpReq }) => {
      observe({ kind: "mcp_call", tool: name, user: call.user });
      const question = name === "delete_row" ? questionOf(args, call, mcpReq.inputResponses) : null;
      if (question !== null) return question;
      await call.current?.();
      try {
        return textResult(JSON.stringify(await runTool(name, args, call.context)), false);
      } catch (error) {
        if (error instanceof ToolRefusal) return textResult(error.message, true);
        throw error;
      }
    });
  }
  server.registerResource(
    "filter",
    "service://filter",
    { description: "The filter language", mimeType: "text/plain" },
    ({ href }) => ({ contents: [{ uri: href, mimeType: "text/plain", text: filterGrammar }] }),
  );
  return server;
}

function textResult(text: string, isError: boolean) {
  return { content: [{ type: "text" as const, text }], ...(isError ? { isError } : {}) };
}

/** Returns a question by which the user confirms a deletion, or null after a confirmation. */
function questionOf(
  { resource, id, confirm }: ToolArguments,
  { era }: ServedCall,
  responses: Readonly<Record<string, unknown>> | undefined,
) {
  const row = `${resource}/${id}`;
  if (era === "legacy") {
    return confirm === row ? null : textResult(
      `Ask the user whether ${row} may be deleted; then repeat with confirm: ${row}`,
      true,
    );
  }
  const { agree } = acceptedContent<{ agree?: boolean }>(responses, "confirm") ?? {};
  if (agree === true) return null;
  if (responses?.["confirm"] !== undefined) {
    return textResult(`The user has not agreed: ${row} is not deleted`, true);
  }
  return inputRequired({
    inputRequests: {
      confirm: inputRequired.elicit({
        message: `Delete ${row.slice(0, 200)}?`,
        requestedSchema: {
          type: "object",
          properties: { agree: { type: "boolean", title: "Delete it" } },
          required: ["agree"],
        },
      }),
    },
  });
}

function toolResources({ basePath, resources }: ServiceSchema): ReadonlyMap<string, ToolResource> {
  return new Map(resources.map(({ path, primaryKey, keyless, fields, etag }) => {
    const below = path.slice(basePath.length);
    return [
      below.slice(1).split("/").map(decodeURIComponent).join("/"),
      {
        path: below,
        key: primaryKey,
        isKeyless: keyless === true,
        fields: fields.map(({ name }) => name),
        hasEtag: etag !== null,
      },
    ];
  }));
}
