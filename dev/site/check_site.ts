/** Checks of a built site: broken links and anchors, requests to other hosts, and local paths. */

/** The files of a site by their path, such as `guides/first-page.html`. */
type Files = ReadonlyMap<string, string | null>;

const textFile = /\.(?:html|css|m?js|json)$/;

/** Returns the faults of a site that is served below `base`, built from the repository `root`. */
export async function faultsOfSite(
  folder: string,
  base: string,
  root: string,
): Promise<readonly string[]> {
  const files = new Map<string, string | null>();
  await readFiles(folder, "", files);
  const local = [...files].filter(([, text]) => text !== null && decode(text).includes(root))
    .map(([path]) => `${path} contains a path of this machine`);
  return [...brokenLinks(files, base), ...foreignRequests(files), ...local];
}

async function readFiles(folder: string, prefix: string, into: Map<string, string | null>) {
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${prefix}`)) {
    const path = prefix + name;
    if (isDirectory) await readFiles(folder, `${path}/`, into);
    else into.set(path, textFile.test(name) ? await Deno.readTextFile(`${folder}/${path}`) : null);
  }
}

/** Returns the links within the site that lead to no file, or to no element of a page. */
export function brokenLinks(files: Files, base: string): readonly string[] {
  const anchors = new Map<string, ReadonlySet<string>>();
  const anchorsOf = (path: string) => {
    const known = anchors.get(path) ?? readAnchors(files.get(path) ?? "");
    anchors.set(path, known);
    return known;
  };
  const origin = "http://site.invalid";
  return pagesOf(files).flatMap(([path, html]) =>
    [...html.matchAll(/<(?:a|img|script|link)\s[^>]*?\b(?:href|src)="([^"]*)"/g)]
      .map(([, link = ""]) => decode(link))
      .filter((link) => {
        const url = new URL(link, `${origin}${base}${path}`);
        if (url.origin !== origin) return false;
        if (!url.pathname.startsWith(base)) return true;
        const target = decodeURIComponent(url.pathname.slice(base.length))
          .replace(/(^|\/)$/, "$1index.html");
        if (!files.has(target)) return true;
        const anchor = decodeURIComponent(url.hash.slice(1));
        return anchor !== "" && target.endsWith(".html") && !anchorsOf(target).has(anchor);
      })
      .map((link) => `${path} has a broken link: ${link}`)
  );
}

/** Returns the scripts, styles, fonts and pictures that a page loads from another host. */
export function foreignRequests(files: Files): readonly string[] {
  return [...files].flatMap(([path, text]) =>
    loadedUrls(path.slice(path.lastIndexOf(".") + 1), text ?? "")
      .filter((url) => /^(?:https?:)?\/\//i.test(url)).map((url) => `${path} loads ${url}`)
  );
}

/** Returns the URLs of files that a file of the site loads, and of some that it may load. */
function loadedUrls(kind: string, text: string): readonly string[] {
  const patterns = {
    html: [
      /<(?:script|img|iframe|source|video|audio|embed)\s[^>]*?\bsrc="([^"]*)"/g,
      /<link\s[^>]*?\bhref="([^"]*)"/g,
      /<style\b[^>]*>[^<]*?(?:url\(|@import)\s*["']?([^"')\s]+)/g,
    ],
    css: [/url\(\s*["']?([^"')\s]+)/g, /@import\s*["']([^"']+)/g],
    js: [
      // Any string that is the URL of such a file.
      /["'`]([^"'`\s<>]+\.(?:m?js|css|woff2?|ttf|otf)\b)/g,
      /\b(?:import|fetch|importScripts)\(\s*["'`]([^"'`]+)/g,
      /\b(?:import|from)\s*["']([^"']+)/g,
    ],
  }[kind] ?? [];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)])
    .map(([, url = ""]) => decode(url));
}

function pagesOf(files: Files): readonly (readonly [string, string])[] {
  return [...files].flatMap(([path, text]) =>
    path.endsWith(".html") && text !== null ? [[path, text] as const] : []
  );
}

function readAnchors(html: string): ReadonlySet<string> {
  const ids = html.matchAll(/\s(?:id|name)="([^"]*)"/g);
  return new Set(Array.from(ids, ([, id = ""]) => decode(id)));
}

/** Decodes the references to characters that the generators write in attributes. */
function decode(text: string): string {
  return text.replaceAll(
    /&(?:#x([\da-f]+)|#(\d+)|(quot|lt|gt|amp));/gi,
    (_, hex, decimal, name) =>
      name === undefined
        ? String.fromCodePoint(hex === undefined ? Number(decimal) : parseInt(hex, 16))
        : { quot: '"', lt: "<", gt: ">", amp: "&" }[String(name).toLowerCase()] ?? "",
  );
}
