import type { Hono } from "@hono/hono";
import type { User } from "../auth/user.ts";
import type { AnswerMcp, McpParts } from "../mcp/mcp_call.ts";
import type { ServiceFacts } from "../openapi/service_facts.ts";
import { describeService } from "../openapi/service_schema.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { mountMcp } from "../service/describe/mount_mcp.ts";
import type { BodyRoutes } from "../service/body_routes.ts";
import type { AppEnv } from "../service/middleware.ts";

/** The dependencies of {@link serveMcp}. */
export interface McpDependencies {
  readonly facts: ServiceFacts;
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
  readonly parseUser: (value: unknown) => User | null;
  /** The requests that MCP tools have sent. */
  readonly ofTools: WeakSet<Request>;
  readonly bodies: BodyRoutes;
  readonly hono: Hono<AppEnv>;
  fetch(request: Request, info?: unknown): Promise<Response>;
}

/** Serves MCP in an app if MCP is configured. */
export async function serveMcp(
  { facts, resolved, runtime, parseUser, ofTools, bodies, hono, fetch }: McpDependencies,
): Promise<void> {
  const { mcp, mountedAt, bodyLimit, trustedOrigins } = resolved;
  if (mcp === null) return;
  // The cast is safe: the module exports this function.
  const { createMcp } = await import(creator) as { createMcp(parts: McpParts): AnswerMcp };
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

/** A variable, so that the import is not analyzed: only services with MCP have the package. */
const creator = "../mcp/create_mcp.ts";
