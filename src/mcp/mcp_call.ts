import type { ServiceSchema } from "../openapi/service_schema.ts";
import type { Observer } from "../runtime/observation.ts";
import type { ResolvedMcp } from "./mcp_options.ts";

export interface McpParts {
  readonly options: ResolvedMcp;
  readonly schema: ServiceSchema;
  readonly version: string;
  /** The path at which the whole app is mounted. */
  readonly mountedAt: string;
  readonly maxRequestBytes: number;
  readonly observe: Observer;
}

/** One request of an MCP client. */
export interface McpCall {
  readonly request: Request;
  /** Id of the caller; null for an anonymous caller. */
  readonly user: string | null;
  /** Resolves when the current tables are served. Absent if the tables do not change. */
  readonly current?: () => Promise<void>;
  /** Sends a request of the same caller to the service itself. */
  fetch(request: Request): Promise<Response>;
}

/** Responds to the requests of MCP clients, each with a separate server object. */
export type AnswerMcp = (call: McpCall) => Promise<Response>;
