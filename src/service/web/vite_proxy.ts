import { proxy } from "@hono/hono/proxy";
import type { Reply } from "../../protocol/reply.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { problemOfStatus } from "../responder.ts";
import type { ResolvedWeb } from "./web_options.ts";
import { policyOf } from "./web_policy.ts";

export function createViteProxy(dev: string, web: ResolvedWeb) {
  const base = dev.replace(/\/$/, "");
  return async function fetchFromVite(
    { method, headers: given, url }: Request,
    path: string,
  ): Promise<Reply> {
    const { query } = parseRequestTarget(url);
    // Omits credentials, which Vite does not need.
    const headers = [...given].filter(([name]) => passed.test(name));
    const init: RequestInit = { method, headers, redirect: "manual" };
    const response = await proxy(`${base}${path}?${query}`.replace(/\?$/, ""), init)
      .catch(() => null);
    if (response === null) return unreachable(dev);
    const { status, body } = response;
    const isHtml = response.headers.get("content-type")?.startsWith("text/html") === true;
    if (!isHtml) return { status, headers: Object.fromEntries(response.headers), body };
    const html = await response.text();
    const policy = policyOf(html, web);
    if (policy !== null) response.headers.set("content-security-policy", policy);
    // The text can have fewer bytes than the response of Vite, for example without its BOM.
    response.headers.delete("content-length");
    return { status, headers: Object.fromEntries(response.headers), body: html };
  };
}

const passed = /^(?:accept|accept-language|cache-control|if-.+|referer|sec-fetch-.+|user-agent)$/;

function unreachable(dev: string): Reply {
  const detail = `Cannot reach web.dev at ${dev}: start Vite, for example by npm run dev`;
  const headers = { "content-type": "application/problem+json", "cache-control": "no-store" };
  return { status: 502, headers, body: JSON.stringify(problemOfStatus(502, detail)) };
}
