import { createHash } from "node:crypto";
import type { ResolvedWeb } from "./web_options.ts";

/** The client's solver of proofs of work needs WebAssembly and workers from `data:` URLs. */
const defaults: Readonly<Record<string, string>> = {
  "default-src": "'self'",
  "script-src": "'self' 'wasm-unsafe-eval'",
  "worker-src": "'self' data:",
  "style-src": "'self' 'unsafe-inline'",
  "img-src": "'self' data: blob:",
  "object-src": "'none'",
  "base-uri": "'none'",
  "form-action": "'self'",
  "frame-ancestors": "'none'",
};

/** Returns null if the option disables the policy. Allows the page's inline scripts by hashes. */
export function policyOf(html: string, { csp, dev }: ResolvedWeb): string | null {
  if (csp === false) return null;
  // The client of Vite connects directly to Vite's WebSocket, which has another port.
  const live = dev === null ? {} : { "connect-src": "'self' ws: wss:" };
  const policy = new Map(Object.entries({ ...defaults, ...live, ...csp }));
  const hashes = inlineHashes(html).join(" ");
  for (const name of ["script-src", "script-src-elem"]) {
    const sources = policy.get(name);
    // A hash would disable 'unsafe-inline', and 'none' permits no other source.
    if (sources === undefined || /'(?:unsafe-inline|none)'/.test(sources)) continue;
    policy.set(name, `${sources} ${hashes}`);
  }
  return [...policy].map((directive) => directive.join(" ").trim()).join("; ");
}

function inlineHashes(html: string): readonly string[] {
  // A parser of HTML reads each line break as "\n", and browsers hash what the parser has read.
  const scripts = html.replaceAll(/\r\n?/g, "\n").matchAll(inlineScript);
  return [...scripts].flatMap(([, attributes = "", script = ""]) =>
    /\ssrc\s*=/i.test(attributes) || script === ""
      ? []
      : [`'sha256-${createHash("sha256").update(script).digest("base64")}'`]
  );
}

const inlineScript =
  /<script((?:[\s/](?:"[^"]*"|'[^']*'|[^"'>])*)?)>([\s\S]*?)<\/script(?=[\s/>])/gi;
