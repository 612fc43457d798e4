import { methodProblem } from "../../resource/routes/route_table.ts";
import { acceptedType } from "../../resource/http/accepted_type.ts";
import { escapeHtml } from "../../protocol/escape_html.ts";
import { htmlPage, securityPolicyOf } from "../../protocol/html_page.ts";
import { jsonContentType } from "../../protocol/reply.ts";
import type { LinkPageOptions } from "./password_auth_options.ts";

export interface LinkPageContent {
  readonly heading: string;
  readonly password: "current-password" | "new-password";
  readonly other?: string | undefined;
}

/** Creates the page of a link in an email. Its script reads the token after `#` and posts it. */
export function createLinkPage(
  path: string,
  { heading, password, other }: LinkPageContent,
  { title = "", stylesheet, logIn }: LinkPageOptions,
): (request: Request) => Response {
  // The path of the script is relative, because a proxy may have removed a prefix from the request.
  const root = "../".repeat(path.split("/").length - 2);
  const body = htmlPage(
    title === "" ? heading : `${heading} – ${title}`,
    `<p>${escapeHtml(title)}</p>
<h1>${heading}</h1>
<p role="status"></p>
<noscript><p>This page needs JavaScript.</p></noscript>
<form hidden>
<p><label>Password <input type="password" autocomplete="${password}"></label></p>
<p><button>Continue</button></p>
</form>
<p id="other" hidden>${linkTo(other, "Choose another password")}</p>
<p id="next" hidden>${linkTo(logIn, "Log in")}</p>`,
    `${stylesheet === undefined ? "" : `<link rel="stylesheet" href="${escapeHtml(stylesheet)}">`}
<script type="module" src="${root}__service/client/link_page.js"></script>`,
  );
  const sources = `'self' ${URL.parse(stylesheet ?? "")?.origin ?? ""}`.trim();
  const headers = {
    "content-type": `${htmlType}; charset=utf-8`,
    "content-security-policy": securityPolicyOf(
      sources,
      ...["script-src 'self'", "connect-src 'self'"],
      ...[`img-src ${sources}`, `font-src ${sources}`],
    ),
    ...{ "cache-control": "no-store", "referrer-policy": "no-referrer", "vary": "Accept" },
    "x-content-type-options": "nosniff",
  };
  return (request) => {
    const type = acceptedType(request, [htmlType, jsonContentType]);
    if (type !== htmlType) throw methodProblem("GET", ["POST"]);
    return new Response(body, { headers });
  };
}

const htmlType = "text/html";

function linkTo(path: string | undefined, text: string): string {
  return path === undefined ? "" : `<a href="${escapeHtml(path)}">${text}</a>`;
}
