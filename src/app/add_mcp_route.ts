import type { Hono } from "@hono/hono";
import type { User } from "../auth/user.ts";
import type { McpHandler, McpHandlerDependencies } from "../mcp/mcp_call.ts";
import type { OpenapiInput } from "../openapi/openapi_input.ts";
import { describeService } from "../openapi/service_schema.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { mountMcp } from "../service/describe/mount_mcp.ts";
import type { BodyReadingOptions } from "../service/body_reading_options.ts";
import type { AppEnv } from "../service/middleware.ts";

export interface McpDependencies {
  readonly facts: OpenapiInput;
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
  readonly parseUser: (value: unknown) => User | null;
  readonly ofTools: WeakSet<Request>;
  readonly bodies: BodyReadingOptions;
  readonly hono: Hono<AppEnv>;
  fetch(request: Request, info?: unknown): Promise<Response>;
}

export async function addMcpRoute(
  { facts, resolved, runtime, parseUser, ofTools, bodies, hono, fetch }: McpDependencies,
): Promise<void> {
  const { mcp, mountedAt, bodyLimit, trustedOrigins } = resolved;
  if (mcp === null) return;
  // The cast is safe: this is the type of the module's export.
  const { createMcp } = await import(creator) as {
    createMcp(parts: McpHandlerDependencies): McpHandler;
  };
  const answer = createMcp({
    options: mcp,
    schema: describeService(facts, ""),
    version: facts.info.version,
    mountedAt,
    maxRequestBytes: bodyLimit,
    observe: runtime.observe,
  });
  mountMcp(hono, {
    answer,
    hosts: mcp.hosts,
    trustedOrigins,
    parseUser,
    bodies,
    fetch,
    mark: (request) => void ofTools.add(request),
  });
}

/** The path is a variable, so that bundlers do not follow it: only MCP needs the package. */
const creator = "../mcp/mcp_responder.ts";
