import type { Reply } from "../../protocol/reply.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { problemOfStatus } from "../responder.ts";
import type { ResolvedWeb } from "./web_options.ts";
import { policyOf } from "./web_policy.ts";

/** Returns a function that fetches GET and HEAD requests from Vite at the URL `dev`. */
export function createViteProxy(dev: string, web: ResolvedWeb) {
  const base = dev.replace(/\/$/, "");
  return async function fetchFromVite(
    { method, headers: given, url }: Request,
    path: string,
  ): Promise<Reply> {
    const { query } = parseRequestTarget(url);
    let response: Response;
    try {
      response = await fetch(`${base}${path}${query === "" ? "" : `?${query}`}`, {
        method,
        // Vite needs no credentials, and the connection to Vite is a different one.
        headers: [...given].filter(([name]) => passed.test(name)),
        redirect: "manual",
      });
    } catch {
      return unreachable(dev);
    }
    const headers = Object.fromEntries(
      [...response.headers].filter(([name]) => !ofConnection.has(name)),
    );
    const isHtml = headers["content-type"]?.startsWith("text/html") === true;
    if (!isHtml) return { status: response.status, headers, body: response.body };
    const html = await response.text();
    const policy = policyOf(html, web);
    const policed = policy === null ? headers : { ...headers, "content-security-policy": policy };
    return { status: response.status, headers: policed, body: html };
  };
}

const passed = /^(?:accept|accept-language|cache-control|if-.+|referer|sec-fetch-.+|user-agent)$/;

/** Headers of the connection to Vite, or of the encoding that `fetch` has removed. */
const ofConnection: ReadonlySet<string> = new Set([
  ...["connection", "content-encoding", "content-length", "date", "keep-alive"],
  ...["transfer-encoding", "upgrade"],
]);

function unreachable(dev: string): Reply {
  const detail = `Cannot reach web.dev at ${dev}: start Vite, for example by npm run dev`;
  return {
    status: 502,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
    body: JSON.stringify(problemOfStatus(502, detail)),
  };
}
