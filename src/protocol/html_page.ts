import { createHash } from "node:crypto";
import { escapeHtml } from "./escape_html.ts";

/** Returns an HTML page. Strings in `content` and `head` must already be escaped. */
export function htmlPage(title: string, content: string, head = ""): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style}</style>${head}
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`;
}

const style = `
:root { color-scheme: light dark; --ink: #1c1e21; --faint: #5d646d; --line: #d9dde2; --paper: #fff;
  --link: #0b57a4 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e9; --faint: #9aa2ab; --line: #363b41; --paper: #16181b; --link: #7db8f5 }
}
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif }
main { max-width: 44rem; margin: 0 auto; padding: 3rem 1.25rem }
h1 { margin: 0 0 1rem; font-size: 1.75rem; line-height: 1.25 }
a { color: var(--link) }
code { font: 0.9em/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; margin: 2rem 0;
  padding: 1rem 0; border: solid var(--line); border-width: 1px 0 }
dt { color: var(--faint) }
dd { margin: 0 }
table { width: 100%; border-collapse: collapse; margin-top: 1.5rem }
th, td { padding: 0.4rem 1rem 0.4rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: baseline }
th { color: var(--faint); font-weight: normal }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

export function securityPolicyOf(styles: string, ...directives: readonly string[]): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}' ${styles}`.trim(),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...directives,
  ].join("; ");
}

export const pageSecurityPolicy: string = securityPolicyOf("");
