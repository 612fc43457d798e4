import type { ServiceSchema } from "../openapi/service_schema.ts";
import type { Observer } from "../runtime/observation.ts";
import type { ResolvedMcp } from "./mcp_options.ts";

/** What MCP is served with. */
export interface McpParts {
  readonly options: ResolvedMcp;
  readonly schema: ServiceSchema;
  readonly version: string;
  /** The path at which the whole app is mounted. */
  readonly mountedAt: string;
  readonly maxRequestBytes: number;
  readonly observe: Observer;
}

/** One request of a client of MCP. */
export interface McpCall {
  readonly request: Request;
  /** The id of the caller; null for an anonymous one. */
  readonly user: string | null;
  /** The service itself, for a request of the same caller. */
  fetch(request: Request): Promise<Response>;
}

/** Answers the requests of MCP clients, each by a server object of its own. */
export type AnswerMcp = (call: McpCall) => Promise<Response>;
