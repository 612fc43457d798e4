import type { Context, Hono } from "@hono/hono";
import type { User } from "../../auth/user.ts";
import type { AnswerMcp } from "../../mcp/mcp_call.ts";
import { requireOwnHost } from "../../mcp/require_own_host.ts";
import { refuseMethod } from "../../resource/http/route_table.ts";
import type { AppEnv } from "../middleware.ts";

/** Where clients of MCP send their requests. */
const mcpPath = "/__service/mcp";

/** What MCP is mounted with. */
export interface MountedMcp {
  /** Answers one request. */
  readonly answer: AnswerMcp;
  readonly hosts: readonly string[];
  readonly trustedOrigins: ReadonlySet<string>;
  readonly parseUser: (value: unknown) => User | null;
  /** The app itself. */
  fetch(request: Request, info: unknown): Promise<Response>;
  /** Called with each request of a tool, before the app answers it. */
  mark(request: Request): void;
}

/** Mounts MCP in the Hono app of a service, after the routes that the app has. */
export function mountMcp(hono: Hono<AppEnv>, mounted: MountedMcp): void {
  const { answer, hosts, trustedOrigins, parseUser, fetch, mark } = mounted;
  hono.all(mcpPath, async (context) => {
    const { raw, method } = context.req;
    // Without sessions there is nothing to read or to end.
    if (method !== "POST") throw refuseMethod(method, ["POST"]);
    requireOwnHost(raw, hosts, trustedOrigins);
    return await answer({
      request: await unread(context),
      user: parseUser(context.get("user"))?.id ?? null,
      fetch(request) {
        mark(request);
        return fetch(request, context.env);
      },
    });
  });
}

/** The request with its body, which a middleware may have read. */
async function unread({ req }: Context<AppEnv>): Promise<Request> {
  const { raw } = req;
  if (!raw.bodyUsed) return raw;
  const { url, method, headers, signal } = raw;
  return new Request(url, { method, headers, signal, body: await req.arrayBuffer() });
}
