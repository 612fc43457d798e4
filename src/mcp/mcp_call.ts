import type { ServiceSchema } from "../openapi/service_schema.ts";
import type { Observer } from "../runtime/runtime.ts";
import type { ResolvedMcp } from "./mcp_options.ts";

export interface McpHandlerDependencies {
  readonly options: ResolvedMcp;
  readonly schema: ServiceSchema;
  readonly version: string;
  readonly mountedAt: string;
  readonly maxRequestBytes: number;
  readonly observe: Observer;
}

export interface McpCall {
  readonly request: Request;
  readonly user: string | null;
  /** Resolves when the service uses the current table definitions. Absent if they never change. */
  readonly current?: () => Promise<void>;
  fetch(request: Request): Promise<Response>;
}

export type McpHandler = (call: McpCall) => Promise<Response>;
