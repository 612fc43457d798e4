import { callerHeaders } from "../protocol/caller_headers.ts";

export interface ToolRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Percent-encoded path and query: `/books?limit=20`. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ToolResponse {
  readonly status: number;
  readonly body: unknown;
  readonly etag: string | null;
}

export type SendToolRequest = (request: ToolRequest) => Promise<ToolResponse>;

export class ToolRefusal extends Error {}

export interface ToolRequestsOptions {
  fetch(request: Request): Promise<Response>;
  readonly caller: Request;
  /** The base path of the resources, without the path at which the app is mounted. */
  readonly basePath: string;
}

export function sendAs({ fetch, caller, basePath }: ToolRequestsOptions): SendToolRequest {
  return async ({ method, path, body, headers = {} }) => {
    const sent = callerHeaders(caller);
    for (const name of [...sent.keys()]) if (name.startsWith("mcp-")) sent.delete(name);
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    sent.set("accept", "application/json;numbers=safe");
    if (body !== undefined) sent.set("content-type", "application/json");
    const url = new URL(basePath + path, new URL(caller.url).origin);
    const response = await fetch(
      new Request(url, {
        method,
        headers: sent,
        body: body === undefined ? null : JSON.stringify(body),
        signal: caller.signal,
      }),
    );
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      body: isJson && text !== "" ? JSON.parse(text) : null,
      etag: response.headers.get("etag"),
    };
  };
}

export function requireSuccess(answer: ToolResponse): ToolResponse {
  const { status, body } = answer;
  if (status < 400) return answer;
  const { code, detail, details } = Object(body);
  throw new ToolRefusal(
    JSON.stringify({
      refused: { status, code, detail, ...(details === undefined ? {} : { details }) },
    }),
  );
}
