import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import type { Reply } from "../../protocol/reply.ts";
import { acceptsGzip } from "../client/accepts_gzip.ts";

/**
 * The answer at a path of the dashboard that has a file of its page; null where there is none. The
 * files are read when they are first asked for.
 */
export async function dashboardFile(path: string, { headers }: Request): Promise<Reply | null> {
  if (path === "" || path === "/") return { status: 200, headers: pageHeaders, body: page(path) };
  if (path === "/icon.svg") return { status: 200, headers: iconHeaders, body: icon };
  const type = types[path];
  if (type === undefined) return null;
  const { gzip, tag } = await readFile(path);
  const cached = { etag: tag, "cache-control": "private, no-cache", vary: "accept-encoding" };
  if (headers.get("if-none-match")?.includes(tag)) {
    return { status: 304, headers: cached, body: null };
  }
  const typed = { ...cached, "content-type": `${type}; charset=utf-8` };
  return acceptsGzip(headers.get("accept-encoding") ?? "")
    ? {
      status: 200,
      headers: { ...typed, "content-encoding": "gzip" },
      body: new Blob([gzip]).stream(),
    }
    : { status: 200, headers: typed, body: gunzipSync(gzip).toString() };
}

const types: Readonly<Record<string, string>> = {
  "/app.js": "text/javascript",
  "/app.css": "text/css",
};

interface PageFile {
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly tag: string;
}

async function readFile(path: string): Promise<PageFile> {
  const { bundledDashboard } = await import("./bundled_dashboard.ts");
  const gzip = new Uint8Array(Buffer.from(bundledDashboard[path.slice(1)] ?? "", "base64"));
  const hash = createHash("sha256").update(gzip).digest("base64url");
  return { gzip, tag: `W/"${hash.slice(0, 22)}"` };
}

/** The paths are relative, because a proxy may give the service another beginning. */
function page(path: string): string {
  const base = path === "/" ? "" : "ui/";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Dashboard</title>
<link rel="icon" href="${base}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${base}app.css">
<script type="module" src="${base}app.js"></script>
</head>
<body>
<div id="app"></div>
<noscript>The dashboard needs scripts.</noscript>
</body>
</html>
`;
}

const icon = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="#0b57a4">' +
  '<rect x="1" y="2" width="14" height="3"/><rect x="1" y="7" width="14" height="3"/>' +
  '<rect x="1" y="12" width="9" height="3"/></svg>';

const iconHeaders = { "content-type": "image/svg+xml", "cache-control": "private, max-age=86400" };

/**
 * Nothing but the files of the dashboard, no markup from a text, and no frame around it (Content
 * Security Policy Level 3; Trusted Types).
 */
const securityPolicy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ...["img-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join("; ");

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": securityPolicy,
  "cross-origin-opener-policy": "same-origin",
};
