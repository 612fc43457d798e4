import type { Hono } from "@hono/hono";
import type { User } from "../../auth/user.ts";
import type { McpHandler } from "../../mcp/mcp_call.ts";
import { requireOwnHost } from "../../mcp/require_own_host.ts";
import { boundedText } from "../../resource/http/request_body.ts";
import { methodProblem } from "../../resource/routes/route_table.ts";
import { type BodyReadingOptions, readBodyRequest } from "../body_reading_options.ts";
import type { AppEnv } from "../middleware.ts";

const mcpPath = "/__service/mcp";

export interface MountMcpOptions {
  readonly answer: McpHandler;
  readonly hosts: readonly string[];
  readonly trustedOrigins: ReadonlySet<string>;
  readonly parseUser: (value: unknown) => User | null;
  readonly bodies: BodyReadingOptions;
  fetch(request: Request, info: unknown): Promise<Response>;
  /** Marks a request as sent by an MCP tool. Called before the app handles the request. */
  mark(request: Request): void;
}

/** Mounts MCP in a service's Hono app, after the existing routes. */
export function mountMcp(hono: Hono<AppEnv>, mounted: MountMcpOptions): void {
  const { answer, hosts, trustedOrigins, parseUser, bodies, fetch, mark } = mounted;
  hono.all(mcpPath, async (context) => {
    const { raw, method } = context.req;
    // GET and DELETE exist for MCP's streams and sessions, which this service does not have.
    if (method !== "POST") throw methodProblem(method, ["POST"]);
    requireOwnHost(raw, hosts, trustedOrigins);
    const { caller, bytes, inTurn } = await readBodyRequest(context, parseUser, bodies);
    return await inTurn(() =>
      answer({
        request: bounded(raw, bytes),
        user: caller.user()?.id ?? null,
        fetch(request) {
          mark(request);
          return fetch(request, context.env);
        },
      })
    );
  });
}

/** Returns the request with the body that was already read. Throws a 413 for too many fields. */
function bounded({ url, method, headers, signal }: Request, bytes: Uint8Array): Request {
  return new Request(url, { method, headers, signal, body: boundedText(bytes, maxFields) });
}

/** Maximum number of JSON fields: 60,000 would block the MCP SDK for half a second. */
const maxFields = 2_000;
