import type { Reply } from "../../protocol/reply.ts";
import { bundledFileReply, readBundledFile } from "../bundled_file.ts";

export async function dashboardFile(path: string, { headers }: Request): Promise<Reply | null> {
  if (path === "" || path === "/") return { status: 200, headers: pageHeaders, body: page(path) };
  if (path === "/icon.svg") return { status: 200, headers: iconHeaders, body: icon };
  const type = types[path];
  if (type === undefined) return null;
  const { bundledDashboard } = await import("./bundled_dashboard.ts");
  const file = readBundledFile(bundledDashboard[path.slice(1)] ?? "");
  return bundledFileReply(headers, file, { type, cache: "private" });
}

const types: Readonly<Record<string, string>> = {
  "/app.js": "text/javascript",
  "/app.css": "text/css",
};

/** Returns the HTML page. Its paths are relative, because a proxy may change the prefix. */
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

/** Allows only the service's files. Forbids embedding, and markup from strings (Trusted Types). */
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
